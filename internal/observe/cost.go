package observe

import (
	"strings"
	"time"

	"plumb/internal/stack"
)

// Cost tells what one collection by a probe may ask of the machine, for those
// who collect again and again. The same question twice in one collection counts
// once, as it is asked once (see host.Cached).
type Cost struct {
	Every time.Duration // the shortest sensible time between two collections
	Once  Requests      // whatever there is to see
	// Each is asked for every thing of a kind, "block"; for everything that a
	// fact of such things counts, "process.open_files"; or for every [Running]
	// process.
	Each  map[string]Requests
	Waits bool // for a disk, a filesystem or a server, which need not answer
}

// Running stands in [Cost.Each] for all processes of the host: the stack has
// those of servers alone.
const Running = "running"

// Requests are numbers of questions to a host.Reader.
type Requests struct {
	Files    int // opened, looked for or looked at
	Commands int
	Queries  int
}

// For gives the most that a probe may ask of a host that is known to look like
// s, where so many processes run.
func (c Cost) For(s *stack.Stack, running int) Requests {
	all := c.Once
	for of, each := range c.Each {
		n := counted(s, of)
		if of == Running {
			n = running
		}
		all.Files += n * each.Files
		all.Commands += n * each.Commands
		all.Queries += n * each.Queries
	}
	return all
}

// counted counts the things of a kind, or adds up a fact of them.
func counted(s *stack.Stack, of string) int {
	kind, fact, isFact := strings.Cut(of, ".")
	things := s.OfKind(kind)
	if !isFact {
		return len(things)
	}
	total := 0
	for _, t := range things {
		n, _ := t.Int(fact)
		total += int(n)
	}
	return total
}
