package watch

import (
	"plumb/internal/product"
	"plumb/internal/stack"
)

// What the roles of a server's files come to, by the links of knowledge/windows. Sessions wait for none of the rest: its
// error log, what is temporary, and what a replica has received.
var kept = map[string][]string{
	"tables": {"data", "tablespace"},
	"files":  {"data", "tablespace", "undo", "doublewrite", "redo", "binlog", "wal", "journal"},
}

// linkFiles links each server to the filesystems that its sessions wait for. Where it is not known where some of it is,
// that stands for a filesystem of which nothing is known, as in [linkDevices].
func (j *Judge) linkFiles(s *stack.Stack) {
	for _, kind := range product.Kinds() {
		for _, db := range s.OfKind(kind) {
			for name, roles := range kept {
				j.linkRoles(s, db, name, roles)
			}
		}
	}
}

func (j *Judge) linkRoles(s *stack.Stack, db *stack.Thing, name string, roles []string) {
	for _, role := range roles {
		if _, has := j.cat.Kinds[db.Ref.Kind].Links[role]; !has {
			continue
		}
		g, why := s.GapFor(db.Ref, role)
		refs, known := db.Links[role]
		switch {
		case known:
			db.Link(name, refs...)
		case role == "data" && why: // then of nothing is it known where it is
			gap(s, db.Ref, g.Why, g.Hint, name)
			return
		case role == "data":
			return
		case why:
			unseen := stack.Ref{Kind: "filesystem", Name: "of the " + role + " of " + db.Ref.String()}
			gap(s, unseen, g.Why, g.Hint, "*")
			db.Link(name, unseen)
		}
	}
}
