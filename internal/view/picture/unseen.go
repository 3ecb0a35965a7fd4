package picture

import (
	"slices"

	"plumb/internal/stack"
)

// OfHost gives the gaps that concern the host as a whole: a part of it was
// not looked at, so what is not shown may be there all the same.
func OfHost(gaps []stack.Gap) []stack.Gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g stack.Gap) bool { return !g.Of.IsZero() })
}

// NoServers says that there is no server, which is known only when the
// processes were seen.
func NoServers(s *stack.Stack) string {
	for _, g := range OfHost(s.Gaps) {
		if g.Probe == "process" {
			return "Whether a database server runs here could not be seen."
		}
	}
	return "No database server was found among the processes of this host."
}
