package sampler

import (
	"context"
	"maps"
	"path"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/product"
)

// census tells cheaply whether servers came, went or were restarted: by the
// numbers and names of processes alone. A process is looked at when it is first
// seen, and again once a minute: it can become a server by starting its program.
type census struct {
	host    host.Reader
	asked   int
	known   map[string]bool // process number to whether it is a server's first process
	servers map[string]bool
}

func newCensus(h host.Reader) *census {
	return &census{host: h, known: map[string]bool{}}
}

// lookAgain is after how many times all processes are looked at again.
const lookAgain = 12

// changed tells whether other servers run than when it was asked before.
func (c *census) changed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, watchEvery/2)
	defer cancel()
	all, err := c.host.Glob(ctx, "/proc/[0-9]*")
	if err != nil || len(all) == 0 {
		return false // not known: the next picture will tell
	}
	c.asked++
	known, servers := make(map[string]bool, len(all)), map[string]bool{}
	for _, dir := range all {
		pid := path.Base(dir)
		is, before := c.known[pid]
		if !before || !is && c.asked%lookAgain == 0 {
			is = c.isServer(ctx, dir)
		}
		known[pid] = is
		if is {
			servers[pid] = true
		}
	}
	before := c.servers
	c.known, c.servers = known, servers
	return before != nil && !maps.Equal(before, servers)
}

// isServer tells whether a process is the first one of a server: one whose
// parent is of the same program serves a client and is no server of its own.
func (c *census) isServer(ctx context.Context, dir string) bool {
	comm, parent := c.stat(ctx, dir)
	if product.OfProgram(comm).Kind == "" {
		return false
	}
	above, _ := c.stat(ctx, path.Join("/proc", parent))
	return above != comm
}

// stat gives the name of a process and the number of its parent.
func (c *census) stat(ctx context.Context, dir string) (comm, parent string) {
	text, err := c.host.ReadFile(ctx, path.Join(dir, "stat"))
	if err != nil {
		return "", ""
	}
	_, comm, rest, _ := proc.SplitStat(text)
	if len(rest) > 1 {
		parent = rest[1]
	}
	return comm, parent
}
