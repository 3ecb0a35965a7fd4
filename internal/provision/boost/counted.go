package boost

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/stack"
)

// asked refuses what would cost others something that nobody named.
func asked(s *stack.Stack, servers []stack.Ref, also []string) error {
	for _, name := range also {
		if !slices.ContainsFunc(servers, func(r stack.Ref) bool { return r.String() == name }) {
			return hint.Usage(fmt.Sprintf("--also %s is not one of the servers concerned", name), "it concerns "+list(servers))
		}
	}
	var why, name []string
	for _, r := range servers {
		reason := counted(s, r)
		if len(servers) > 1 {
			reason = strings.TrimSuffix("it is one of several servers here; "+reason, "; ")
		}
		if reason != "" && !slices.Contains(also, r.String()) {
			why, name = append(why, r.String()+": "+reason), append(name, "--also "+r.String())
		}
	}
	if why == nil {
		return nil
	}
	return hint.With(fmt.Errorf("a crash would affect more than the load: %s", strings.Join(why, "; ")),
		strings.Join(name, " ")+" says that it may")
}

func list(servers []stack.Ref) string {
	if len(servers) == 0 {
		return "no server at all"
	}
	var names []string
	for _, r := range servers {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

// counted says who counts on what a server has acknowledged, or "". A replica that nobody
// counts on can be built again. Where it could not be read, somebody may.
func counted(s *stack.Stack, server stack.Ref) string {
	t := s.Find(server)
	if t == nil {
		return "nothing is known about it"
	}
	number := func(fact string) int64 { n, _ := t.Int(fact); return n }
	is := func(fact string) bool { b, _ := t.Bool(fact); return b }
	switch {
	case is("galera"), number("group_members") > 1, t.Text("replica_set") != "":
		return "the other members of its cluster rely on what it acknowledged"
	case number("replicas") > 0:
		return "its replicas could have commits that it has lost, and would have to be rebuilt"
	case is("is_replica"), t.Text("replication_role") == "standby":
		return "its source may wait for its acknowledgement of each commit, which would not be true"
	}
	for _, fact := range []string{"galera", "group_members", "replica_set", "replicas", "is_replica", "replication_role"} {
		_, known := t.Facts[fact] // that there is none is known too
		if gap, unseen := s.GapFor(server, fact); unseen && !known {
			return "whether others rely on what it acknowledged could not be read (" + gap.Why + ")"
		}
	}
	return ""
}
