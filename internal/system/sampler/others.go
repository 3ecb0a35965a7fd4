package sampler

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/process"
)

const (
	maxOthers = 64   // processes told of
	maxLooked = 4096 // processes looked at
)

// others reads what processes that are no servers have read and written: those
// that moved most since they were looked at before, or were started. Plumb's own is
// among them.
type others struct {
	servers map[int]bool
	last    map[int]int64 // bytes that each had moved
}

// moved is what one process has read and written.
type moved struct {
	pid           int
	read, written int64
	grown         int64 // since it was looked at before
}

func (o *others) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	names, err := h.Glob(ctx, "/proc/[0-9]*/io")
	if err != nil {
		return fmt.Errorf("list the processes: %w", err)
	}
	skip := o.withChildren(ctx, h)
	var all []moved
	now, looked, refused := map[int]int64{}, 0, error(nil)
	for _, name := range names {
		pid, err := strconv.Atoi(path.Base(path.Dir(name)))
		if err != nil || skip[pid] {
			continue
		}
		if looked++; looked > maxLooked {
			b.Gaps = append(b.Gaps, series.Gap{Why: fmt.Sprintf("%d processes run; %d of them were looked at for what they read and write", len(names), maxLooked)})
			break
		}
		m, err := o.one(ctx, h, pid)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case gone(err):
		case err != nil:
			refused = err
		default:
			now[pid] = m.read + m.written
			if m.grown = now[pid] - o.last[pid]; m.grown > 0 {
				all = append(all, m)
			}
		}
	}
	o.last = now
	if refused != nil && !h.About().Root { // root is refused by few: those in user namespaces of others
		b.Gaps = append(b.Gaps, series.Gap{Why: "not all processes tell what they read and write: " + refused.Error(), Hint: hintFor(refused)})
	}
	most(all).set(ctx, h, b)
	return ctx.Err()
}

func (*others) one(ctx context.Context, h host.Reader, pid int) (moved, error) {
	data, err := h.ReadFile(ctx, file(pid, "io"))
	if err != nil {
		return moved{}, err
	}
	read, written, ok := process.ParseIO(data)
	if !ok || read > 1<<61 || written > 1<<61 {
		return moved{}, fmt.Errorf("%s is not understood", file(pid, "io"))
	}
	return moved{pid: pid, read: read, written: written}, nil
}

// withChildren gives the servers' processes with those they started.
func (o *others) withChildren(ctx context.Context, h host.Reader) map[int]bool {
	out := map[int]bool{}
	for pid := range o.servers {
		out[pid] = true
		children, _ := childrenOf(ctx, h, pid) // where they cannot be listed they are told of as others
		for _, c := range children {
			out[c] = true
		}
	}
	return out
}

type busiest []moved

// most picks the processes that moved most.
func most(all []moved) busiest {
	slices.SortFunc(all, func(a, b moved) int {
		return cmp.Or(cmp.Compare(b.grown, a.grown), cmp.Compare(a.pid, b.pid))
	})
	return all[:min(len(all), maxOthers)]
}

// set tells of them by number and name, as 4711 (rsync): the number alone says
// nothing when the process is gone.
func (all busiest) set(ctx context.Context, h host.Reader, b *series.Batch) {
	for _, m := range all {
		data, err := h.ReadFile(ctx, file(m.pid, "stat"))
		u, ok := process.ParseUsage(data)
		if err != nil || !ok {
			continue // it ended
		}
		of := stack.Ref{Kind: "process", Name: fmt.Sprintf("%d (%s)", m.pid, shown(u.Comm))}
		b.Set(of, "read_bytes", float64(m.read))
		b.Set(of, "written_bytes", float64(m.written))
	}
}

// shown makes a name that a process gave itself fit to be shown.
func shown(comm string) string {
	const longest = 32 // programs have 15 bytes; threads of the kernel more
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune("()@#", r) {
			return '?'
		}
		return r
	}, comm[:min(len(comm), longest)])
}
