package sampler

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/process"
)

// group reads the control group of a server. Where it lies in each tree, a
// process in it tells anew each time; where the trees are mounted is learned once.
type group struct {
	of      stack.Ref
	pid     int
	devices map[string]string // names by number

	mu    sync.Mutex
	trees *process.Trees
}

func groupSources(of stack.Ref, pid int, devices map[string]string) []sample.Source {
	g := &group{of: of, pid: pid, devices: devices}
	return []sample.Source{
		sample.Made("cgroup "+of.Name, sample.Second, g.fast),
		sample.Made("cgroup "+of.Name+" limits", sample.Ten, g.slow),
	}
}

// find finds the directories of the group.
func (g *group) find(ctx context.Context, h host.Reader) (process.Groups, error) {
	trees, err := g.mounted(ctx, h)
	if err != nil {
		return process.Groups{}, err
	}
	member, err := h.ReadFile(ctx, file(g.pid, "cgroup"))
	if err != nil {
		return process.Groups{}, err
	}
	dirs, err := trees.GroupsOf(member)
	if err != nil {
		return dirs, fmt.Errorf("find the control group of process %d: %w", g.pid, err)
	}
	return dirs, nil
}

func (g *group) mounted(ctx context.Context, h host.Reader) (process.Trees, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trees == nil {
		table, err := h.ReadFile(ctx, "/proc/self/mountinfo")
		if err != nil {
			return process.Trees{}, err
		}
		t := process.ParseTrees(table)
		g.trees = &t
	}
	return *g.trees, nil
}

// fast reads processor time, pressure and what is asked of devices.
func (g *group) fast(ctx context.Context, h host.Reader, b *series.Batch) error {
	dirs, err := g.find(ctx, h)
	if err != nil {
		return err
	}
	r := reading{ctx, h, b}
	g.processor(r, dirs)
	g.pressures(r, dirs)
	g.counters(r, dirs)
	return ctx.Err()
}

// slow reads limits, and memory, which makes the kernel add up its counts.
func (g *group) slow(ctx context.Context, h host.Reader, b *series.Batch) error {
	dirs, err := g.find(ctx, h)
	if err != nil {
		return err
	}
	r := reading{ctx, h, b}
	g.limits(r, dirs)
	g.memory(r, dirs)
	return ctx.Err()
}

// processor reads the time the group ran, and the periods and the time for
// which it was stopped: of the level that was stopped most often, because each
// counts for its own limit only.
func (g *group) processor(r reading, dirs process.Groups) {
	most, at := int64(-1), map[string]int64{}
	for i, dir := range dirs.CPU {
		data, err := r.h.ReadFile(r.ctx, path.Join(dir, "cpu.stat"))
		if err != nil {
			if i == 0 && !gone(err) {
				r.b.Gap(g.of, err.Error(), hintFor(err), "cpu_usage_us", "cpu_throttled", "cpu_periods", "cpu_throttled_us")
			}
			continue // the controller is not on at this level
		}
		s := parseKeyed(data)
		if used, ok := s["usage_usec"]; ok && i == 0 {
			r.b.Set(g.of, "cpu_usage_us", float64(used))
		}
		if n, ok := s["nr_throttled"]; ok && n > most {
			most, at = n, s
		}
	}
	if most >= 0 {
		set(r.b, g.of, at, []figure{{"cpu_throttled", "nr_throttled"}, {"cpu_periods", "nr_periods"}, {"cpu_throttled_us", "throttled_usec"}})
		if ns, ok := at["throttled_time"]; ok { // version 1
			r.b.Set(g.of, "cpu_throttled_us", float64(ns/1000))
		}
	}
	if len(dirs.Account) == 0 {
		return
	}
	src := path.Join(dirs.Account[0], "cpuacct.usage")
	if data, ok := r.file(g.of, src, "cpu_usage_us"); ok {
		if n, ok := number(data); ok {
			r.b.Set(g.of, "cpu_usage_us", float64(n/1000))
		}
	}
}

// pressures reads for how long tasks of the group waited, which version 1 does
// not tell. Those of the root are the host's.
func (g *group) pressures(r reading, dirs process.Groups) {
	if len(dirs.Unified) < 2 {
		return
	}
	for _, p := range pressures {
		src := path.Join(dirs.Unified[0], p.resource+".pressure")
		data, err := r.h.ReadFile(r.ctx, src)
		switch {
		case unaccounted(err):
			r.b.Gap(g.of, "the kernel does not account pressure for this group", "boot with psi=1, and leave cgroup.pressure at 1", p.names()...)
		case err != nil:
			r.b.Gap(g.of, err.Error(), hintFor(err), p.names()...)
		default:
			p.set(r.b, g.of, parseStalls(data))
		}
	}
}

func (g *group) memory(r reading, dirs process.Groups) {
	if len(dirs.Memory) == 0 {
		return
	}
	leaf, current := dirs.Memory[0], "memory.current"
	figures := []figure{{"memory_anon", "anon"}, {"memory_file", "file"}, {"memory_shmem", "shmem"}}
	if dirs.MemoryV1 {
		current = "memory.usage_in_bytes"
		figures = []figure{{"memory_anon", "total_rss"}, {"memory_file", "total_cache"}, {"memory_shmem", "total_shmem"}}
	}
	if data, err := r.h.ReadFile(r.ctx, path.Join(leaf, current)); err == nil { // the root has none
		if n, ok := number(data); ok {
			r.b.Set(g.of, "memory_current", float64(n))
		}
	}
	if data, err := r.h.ReadFile(r.ctx, path.Join(leaf, "memory.stat")); err == nil {
		set(r.b, g.of, parseKeyed(data), figures)
	}
}

// parseKeyed reads "key number" lines.
func parseKeyed(data []byte) map[string]int64 {
	const most = 4096
	out := map[string]int64{}
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if n, isNumber := number([]byte(value)); ok && isNumber && len(out) < most {
			out[key] = n
		}
	}
	return out
}

func number(data []byte) (int64, bool) {
	n, ok := numbers(strings.Fields(string(data)), 1)
	if !ok {
		return 0, false
	}
	return n[0], true
}
