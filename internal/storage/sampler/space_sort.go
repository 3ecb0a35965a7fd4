package sampler

import (
	"fmt"
	"slices"

	"plumb/internal/host/paths"
	"plumb/internal/product"
)

// sorter tells whose a file is.
type sorter struct {
	places []place
	files  []product.Files
}

// roles lists those that can be told.
func (s sorter) roles() []string {
	var out []string
	for _, p := range s.places {
		if !slices.Contains(out, p.role) && s.tellable(p) {
			out = append(out, p.role)
		}
	}
	slices.Sort(out)
	return out
}

// tellable tells whether the files of a role can be told from others: by their
// names, or because they have the directory for themselves.
func (s sorter) tellable(p place) bool {
	return p.role == "data" || len(s.patterns(p.role)) > 0 || !s.shared(p)
}

// shared tells whether a directory is also that of another role.
func (s sorter) shared(p place) bool {
	return s.patternsOnly(p) || slices.ContainsFunc(s.places, func(o place) bool { return o.role != p.role && o.dir == p.dir })
}

// patternsOnly: a directory for temporary files can be everybody's.
func (s sorter) patternsOnly(p place) bool { return p.role == "temporary" && !s.inside(p.dir, p.role) }

// inside tells whether a directory lies in one of another role.
func (s sorter) inside(dir, role string) bool {
	return slices.ContainsFunc(s.places, func(o place) bool { return o.role != role && o.role != "temporary" && paths.Within(dir, o.dir) })
}

func (s sorter) patterns(role string) (all []string) {
	for _, f := range s.files {
		if f.Role == role && role != "data" {
			all = append(all, f.Patterns...)
		}
	}
	return all
}

// tops are the directories that lie in no other one.
func (s sorter) tops() []place {
	var out []place
	for _, p := range s.places {
		within := slices.ContainsFunc(s.places, func(o place) bool {
			return o.dir != p.dir && o.role != "temporary" && paths.Within(p.dir, o.dir)
		})
		same := slices.ContainsFunc(out, func(o place) bool { return o.dir == p.dir })
		if !within && !same && s.tellable(p) {
			out = append(out, s.main(p))
		}
	}
	return out
}

// main gives the role by which a directory of several is read.
func (s sorter) main(p place) place {
	for _, role := range ofSpace {
		if slices.Contains(s.places, place{role, p.dir}) {
			return place{role, p.dir}
		}
	}
	return p
}

// roleOf tells whose a file is, and its name from that role's directory: of the roles
// in whose directories it lies, those of the innermost first, the first that has a
// pattern for it, or that has no patterns at all.
func (s sorter) roleOf(name string) (role, rest string) {
	var around []place
	for _, p := range s.places {
		if paths.Within(name, p.dir) {
			around = append(around, p)
		}
	}
	slices.SortStableFunc(around, func(a, b place) int { return len(b.dir) - len(a.dir) })
	for _, f := range s.files {
		for _, p := range around {
			rest, _ := paths.Cut(name, p.dir)
			if p.role == f.Role && paths.Matches(f.Patterns, rest) {
				return f.Role, rest
			}
		}
	}
	for _, p := range around {
		if len(s.patterns(p.role)) == 0 && (p.role == "data" || !s.shared(p)) {
			rest, _ = paths.Cut(name, p.dir)
			return p.role, rest
		}
	}
	return "", ""
}

// spoil notes which sums are not whole because a directory was not read whole:
// those of all roles in it but for those whose own directory was.
func (s sorter) spoil(lost map[string]string, top place, done map[string]bool, err error) {
	for _, p := range s.places {
		if p.role != "temporary" && top.role == "temporary" {
			continue // what is read of such a directory is for nothing else
		}
		flat := slices.Contains([]string{"wal", "journal", "redo", "binlog", "relaylog", "undo"}, p.role)
		if paths.Within(p.dir, top.dir) && !(flat && done[p.dir]) {
			lost[p.role] = fmt.Sprintf("add up the files in %s: %v", top.dir, err)
		}
	}
}
