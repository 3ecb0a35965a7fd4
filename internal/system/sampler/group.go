package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/process"
)

// group is the control group of a server.
type group struct {
	of      stack.Ref
	pid     int               // a process in it
	name    string            // of the sources
	devices map[string]string // names by major:minor

	asked int
	paths map[string]string
	trees map[string]process.Mount
}

// findAgain is after how many times it is looked at again where the process is.
const findAgain = 60

// find learns where the group's directories are.
func (g *group) find(ctx context.Context, h host.Reader) error {
	g.asked++
	if g.paths != nil && g.asked%findAgain != 0 {
		return nil
	}
	own, err := h.ReadFile(ctx, file(g.pid, "cgroup"))
	if err != nil {
		return err
	}
	mounts, err := h.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return err
	}
	g.paths, g.trees = process.ParsePaths(own), process.ParseTrees(mounts)
	return nil
}

// place is where a controller keeps the group.
type place struct {
	version int
	path    string
	dirs    []string // the group's own first, then those above it
}

func (g *group) at(controller string) (place, error) {
	tree, version := controller, 1
	if _, ok := g.paths[controller]; !ok {
		tree, version = process.Unified, 2
	}
	where, ok := g.paths[tree]
	if !ok {
		return place{}, fmt.Errorf("process %d is in no control group that has %s", g.pid, controller)
	}
	dirs, err := g.trees[tree].Levels(where)
	return place{version, where, dirs}, err
}

// isRoot tells whether it is the group of those that are in none.
func (p place) isRoot() bool { return p.path == "/" }

// read reads a file of the group; where there is none, nobody counts that here.
func read(ctx context.Context, h host.Reader, b *series.Batch, of stack.Ref, name string, facts ...string) ([]byte, bool) {
	data, err := h.ReadFile(ctx, name)
	switch {
	case err == nil:
		return data, true
	case errors.Is(err, fs.ErrNotExist):
		b.Gap(of, name+" does not exist", "", facts...)
	default:
		b.Gap(of, err.Error(), "", facts...)
	}
	return nil, false
}

// processors reads the processor time of the group, and for how long it was stopped.
func (g *group) processors(ctx context.Context, h host.Reader, b *series.Batch) {
	used, err := g.at("cpuacct")
	if err != nil {
		b.Gap(g.of, err.Error(), "", "cpu_usage_us")
	} else if used.version == 1 {
		name := path.Join(used.dirs[0], "cpuacct.usage")
		if data, ok := read(ctx, h, b, g.of, name, "cpu_usage_us"); ok {
			if ns, ok := process.ParseNumber(data); ok {
				b.Set(g.of, "cpu_usage_us", float64(ns)/1000)
			}
		}
	} else if data, ok := read(ctx, h, b, g.of, path.Join(used.dirs[0], "cpu.stat"), "cpu_usage_us"); ok {
		if us, ok := process.ParseKeyed(data, "usage_usec"); ok {
			b.Set(g.of, "cpu_usage_us", float64(us))
		}
	}
	g.stopped(ctx, h, b)
}

// stopped takes the counts of the level that was stopped most often, as the
// picture of the host does.
func (g *group) stopped(ctx context.Context, h host.Reader, b *series.Batch) {
	facts := []string{"cpu_throttled", "cpu_throttled_us", "cpu_periods"}
	p, err := g.at("cpu")
	if err != nil {
		b.Gap(g.of, err.Error(), "", facts...)
		return
	}
	most, time, periods := int64(-1), int64(0), int64(0)
	for _, dir := range p.dirs {
		data, err := h.ReadFile(ctx, path.Join(dir, "cpu.stat"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			b.Gap(g.of, err.Error(), "", facts...)
			return
		}
		n, ok1 := process.ParseKeyed(data, "nr_throttled")
		of, ok2 := process.ParseKeyed(data, "nr_periods")
		us, ok3 := process.ParseKeyed(data, "throttled_usec")
		if p.version == 1 {
			us, ok3 = process.ParseKeyed(data, "throttled_time")
			us /= 1000
		}
		if ok1 && ok2 && ok3 && n > most {
			most, time, periods = n, us, of
		}
	}
	if most < 0 {
		b.Gap(g.of, "the CPU controller is not in use there", "", facts...)
		return
	}
	b.Set(g.of, "cpu_throttled", float64(most))
	b.Set(g.of, "cpu_throttled_us", float64(time))
	b.Set(g.of, "cpu_periods", float64(periods))
}
