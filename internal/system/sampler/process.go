package sampler

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/process"
)

// member is a server's first process.
type member struct {
	of   stack.Ref
	pid  int
	many bool // it has a process for each session
}

func file(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// mostChildren bounds how many processes of one server are read each second.
const mostChildren = 1000

// children lists the processes that a server of many has besides the first.
func (m member) children(ctx context.Context, h host.Reader) ([]int, error) {
	if !m.many {
		return nil, nil
	}
	name := fmt.Sprintf("/proc/%d/task/%d/children", m.pid, m.pid)
	data, err := h.ReadFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list the processes of the server: %w", err)
	}
	all := process.ParseChildren(data)
	if len(all) > mostChildren {
		return nil, fmt.Errorf("the server has %d processes; they are read up to %d", len(all), mostChildren)
	}
	return all, nil
}

// sums adds up what the processes of one server have counted. What a process
// that ended had counted is its parent's, as soon as the parent knows of it. In
// between it is nobody's: a sum that would fall stands still instead.
type sums struct {
	start int64 // of the first process
	last  map[string]float64
}

func (s *sums) set(b *series.Batch, of stack.Ref, start int64, now map[string]float64) {
	if s.start != start {
		s.start, s.last = start, map[string]float64{}
	}
	for name, n := range now {
		s.last[name] = max(s.last[name], n)
		b.Set(of, name, s.last[name])
	}
}

// processTime reads the processor time of a server each second.
type processTime struct {
	member
	sums
}

// Name implements [sample.Source].
func (p *processTime) Name() string { return fmt.Sprintf("process %d", p.pid) }

// Every implements [sample.Source].
func (p *processTime) Every() time.Duration { return sample.Second }

// Take implements [sample.Source]. The first process is read before the others,
// so that none is counted twice.
func (p *processTime) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	first, err := usage(ctx, h, p.pid)
	if err != nil {
		return b, err
	}
	user, system := first.User+first.ChildrenUser, first.System+first.ChildrenSystem
	children, err := p.children(ctx, h)
	if err != nil {
		return b, err
	}
	for _, pid := range children {
		u, err := usage(ctx, h, pid)
		if ctx.Err() != nil {
			return b, ctx.Err()
		}
		if err != nil || u.Parent != p.pid {
			continue // it ended, and its number may be another's by now
		}
		user, system = user+u.User+u.ChildrenUser, system+u.System+u.ChildrenSystem
	}
	p.set(&b, p.of, first.Start, map[string]float64{"cpu_user_ms": float64(user) * tick, "cpu_system_ms": float64(system) * tick})
	return b, nil
}

func usage(ctx context.Context, h host.Reader, pid int) (process.Usage, error) {
	data, err := h.ReadFile(ctx, file(pid, "stat"))
	if err != nil {
		return process.Usage{}, err
	}
	u, ok := process.ParseUsage(data)
	if !ok {
		return u, fmt.Errorf("%s is not understood", file(pid, "stat"))
	}
	return u, nil
}

// processIO reads what a server had read and written, every 10 s.
type processIO struct {
	member
	sums
}

// Name implements [sample.Source].
func (p *processIO) Name() string { return fmt.Sprintf("process %d io", p.pid) }

// Every implements [sample.Source].
func (p *processIO) Every() time.Duration { return sample.Ten }

// Take implements [sample.Source].
func (p *processIO) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	first, err := usage(ctx, h, p.pid)
	if err != nil {
		return b, err
	}
	threads := first.Threads
	sum, err := inOut(ctx, h, p.pid)
	children, listed := p.children(ctx, h)
	if err == nil {
		err = listed
	}
	for _, pid := range children {
		if ctx.Err() != nil {
			return b, ctx.Err()
		}
		if u, err := usage(ctx, h, pid); err != nil || u.Parent != p.pid {
			continue
		}
		threads++
		if io, err := inOut(ctx, h, pid); err == nil {
			sum.Read, sum.Written = sum.Read+io.Read, sum.Written+io.Written
		}
	}
	if listed == nil {
		b.Set(p.of, "threads", float64(threads))
	}
	if err != nil {
		b.Gap(p.of, err.Error(), "run as root", "read_bytes", "written_bytes")
		return b, nil
	}
	p.set(&b, p.of, first.Start, map[string]float64{"read_bytes": float64(sum.Read), "written_bytes": float64(sum.Written)})
	return b, nil
}

func inOut(ctx context.Context, h host.Reader, pid int) (process.IO, error) {
	data, err := h.ReadFile(ctx, file(pid, "io"))
	if err != nil {
		return process.IO{}, err
	}
	io, ok := process.ParseIO(data)
	if !ok {
		return io, fmt.Errorf("%s is not understood", file(pid, "io"))
	}
	return io, nil
}
