package observe

import (
	"strconv"
	"strings"

	"plumb/internal/stack"
)

// Local is a server process that an earlier phase found on this host.
type Local struct {
	Process *stack.Thing
	PID     int
	Root    string // what goes before its paths to see them as it does: "", or /proc/PID/root in a container
}

// Locals gives the processes that serve an engine, sorted by name.
func Locals(seen *stack.Stack, engine string) []Local {
	var out []Local
	for _, p := range seen.OfKind("process") {
		pid, err := strconv.Atoi(p.Ref.Name)
		if err != nil || p.Text("engine") != engine {
			continue
		}
		l := Local{Process: p, PID: pid}
		if own, known := p.Bool("own_mounts"); known && own {
			l.Root = "/proc/" + p.Ref.Name + "/root"
		}
		out = append(out, l)
	}
	return out
}

// Unit gives the unit of systemd that started a process, "" for none; ofUser
// tells that a user's own systemd did, which the host's knows nothing of.
func Unit(s *stack.Stack, process *stack.Thing) (name string, ofUser bool) {
	groups, _ := s.Follow(process, "cgroup")
	for _, g := range groups {
		for part := range strings.SplitSeq(g.Text("path"), "/") {
			switch {
			case strings.HasPrefix(part, "user@"):
				return "", true
			case strings.HasSuffix(part, ".service"):
				return part, false
			}
		}
	}
	return "", false
}
