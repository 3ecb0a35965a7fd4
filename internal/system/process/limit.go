package process

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host/proc"
	"plumb/internal/stack"
)

// noLimitV1 is what version 1 shows for no limit: the largest multiple of the
// page size in a signed 64-bit number. With larger pages it is a bit smaller.
const noLimitV1 = 1<<63 - 1<<16

// group reads the facts of one control group.
func (l *look) group(t *stack.Thing, m membership) {
	t.Set("path", stack.Text(m.memory), "/proc/PID/cgroup")
	t.Set("hierarchy", stack.Int(int64(m.version)), "/proc/PID/cgroup")
	if m.version == 2 {
		l.memoryV2(t, m.memory)
	} else {
		l.memoryV1(t, m.memory)
	}
	l.cpu(t, m)
}

// lineage is a group with all that is to be seen above it, which limits it too.
type lineage struct {
	dirs []string // the group's own first
	top  bool     // the last is the root of the tree: nothing that is not seen limits it
}

func lineageOf(m mount, group string, isRoot func(dir string) bool) (lineage, error) {
	dirs, err := m.levels(group)
	if err != nil {
		return lineage{}, err
	}
	return lineage{dirs, isRoot(dirs[len(dirs)-1])}, nil
}

func (l *look) memoryV2(t *stack.Thing, group string) {
	g, err := lineageOf(l.mounts.v2, group, l.isRootV2)
	if err != nil {
		l.gap(t, err, "memory_*", "swap_limit", "oom_kills", "swappiness")
		return
	}
	l.smallest(t, "memory_limit", g, "memory.max", parseMaxBytes)
	l.smallest(t, "memory_high", g, "memory.high", parseMaxBytes)
	l.smallest(t, "swap_limit", g, "memory.swap.max", parseMaxBytes)
	t.SetAbsent("swappiness", "control groups of version 2 have none of their own")
	leaf := g.dirs[0]
	l.number(t, "memory_current", path.Join(leaf, "memory.current"))
	l.keyed(t, path.Join(leaf, "memory.stat"), map[string]string{"memory_anon": "anon", "memory_file": "file", "memory_shmem": "shmem"})
	if g.top && len(g.dirs) == 1 { // who is in no group has no limit to run into
		t.SetAbsent("oom_kills", "the root group counts none")
		return
	}
	l.keyed(t, path.Join(leaf, "memory.events"), map[string]string{"oom_kills": "oom_kill"})
}

func (l *look) memoryV1(t *stack.Thing, group string) {
	g, err := lineageOf(l.mounts.memory, group, l.isRootV1)
	if err != nil {
		l.gap(t, err, "memory_*", "swap_limit", "oom_kills", "swappiness")
		return
	}
	l.smallest(t, "memory_limit", g, "memory.limit_in_bytes", parseV1Bytes)
	t.SetAbsent("memory_high", "version 1 has no such threshold")
	l.swapV1(t, g)
	leaf := g.dirs[0]
	l.number(t, "memory_current", path.Join(leaf, "memory.usage_in_bytes"))
	l.number(t, "swappiness", path.Join(leaf, "memory.swappiness"))
	l.keyed(t, path.Join(leaf, "memory.stat"), map[string]string{"memory_anon": "total_rss", "memory_file": "total_cache", "memory_shmem": "total_shmem"})
	l.keyed(t, path.Join(leaf, "memory.oom_control"), map[string]string{"oom_kills": "oom_kill"})
}

// swapV1 reads the limit of memory and swap together. It tells the swap limit
// only at its two ends: none, or no swap at all.
func (l *look) swapV1(t *stack.Thing, g lineage) {
	const name = "swap_limit"
	probe := stack.NewThing("", "")
	l.smallest(probe, "both", g, "memory.memsw.limit_in_bytes", parseV1Bytes)
	both, known := probe.Facts["both"]
	memory, limited := t.Int("memory_limit")
	n, ok := both.Value.Int()
	switch {
	case known && both.Value.IsAbsent():
		t.SetAbsent(name, both.Source)
	case ok && limited && n <= memory:
		t.Set(name, stack.Int(0), both.Source)
	default:
		l.obs.Gap(t.Ref, "version 1 limits memory and swap only together", "", name)
	}
}

// cpu reads the quota, of either version.
func (l *look) cpu(t *stack.Thing, m membership) {
	tree, isRoot, file, parse := l.mounts.v2, l.isRootV2, "cpu.max", limitParser(parseCPUMax)
	if m.cpuV1 {
		tree, isRoot, file, parse = l.mounts.cpu, l.isRootV1, "cpu.cfs_quota_us", l.quota
	}
	g, err := lineageOf(tree, m.cpu, isRoot)
	if err != nil {
		l.gap(t, err, "cpu_*")
		return
	}
	l.smallest(t, "cpu_limit", g, file, parse)
	l.throttled(t, g.dirs)
}

// throttled takes the counts of the level that was stopped most often: each
// level counts for its own quota only, and the one above can be the tighter
// one. Where no level counts, the CPU controller is not in use there.
func (l *look) throttled(t *stack.Thing, dirs []string) {
	most, seen, src := int64(-1), false, path.Join(dirs[0], "cpu.stat")
	var periods int64
	for _, dir := range dirs {
		at := path.Join(dir, "cpu.stat")
		data, err := l.h.ReadFile(l.ctx, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			l.gap(t, err, "cpu_throttled", "cpu_periods")
			return
		}
		seen = true
		n, ok := proc.Keyed(data, "nr_throttled")
		p, okP := proc.Keyed(data, "nr_periods")
		if ok && okP && n > most {
			most, periods, src = n, p, at
		}
	}
	switch {
	case most >= 0:
		t.Set("cpu_throttled", stack.Int(most), src)
		t.Set("cpu_periods", stack.Int(periods), src)
	case seen:
		t.Absent(src, "cpu_throttled", "cpu_periods")
	default:
		l.obs.Gap(t.Ref, src+" does not exist", "", "cpu_throttled", "cpu_periods")
	}
}

// quota reads a version 1 quota, whose period is in a second file.
func (l *look) quota(dir string, data []byte) (stack.Value, bool) {
	quota, ok := parseNumber(data)
	if !ok || quota <= 0 {
		return stack.Value{}, ok
	}
	period, err := l.h.ReadFile(l.ctx, path.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return stack.Value{}, false
	}
	n, ok := parseNumber(period)
	if !ok || n <= 0 {
		return stack.Value{}, false
	}
	return stack.Float(float64(quota) / float64(n)), true
}

// isRootV2 tells whether dir is the root of the tree: only other groups have
// cgroup.events. A container with its own cgroup namespace sees its group as
// the top, but not what limits that group from above.
func (l *look) isRootV2(dir string) bool {
	_, err := l.h.Stat(l.ctx, path.Join(dir, "cgroup.events"))
	return errors.Is(err, fs.ErrNotExist)
}

// isRootV1 tells the same for version 1, where only the root has a release
// agent.
func (l *look) isRootV1(dir string) bool {
	_, err := l.h.Stat(l.ctx, path.Join(dir, "release_agent"))
	return err == nil
}

// limitParser reads a limit of a directory; the value is absent where there is none.
type limitParser func(dir string, data []byte) (v stack.Value, ok bool)

// smallest sets the smallest limit that a group or one above it states. Where
// none does, the fact is absent when all of them are seen.
func (l *look) smallest(t *stack.Thing, fact string, g lineage, name string, parse limitParser) {
	var least stack.Value
	src := path.Join(g.dirs[0], name)
	for _, dir := range g.dirs {
		at := path.Join(dir, name)
		data, err := l.h.ReadFile(l.ctx, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the controller is not enabled at this level, or it is the root
		}
		if err != nil {
			l.gap(t, err, fact)
			return
		}
		v, ok := parse(dir, data)
		if !ok {
			l.obs.Gap(t.Ref, at+" is not understood", "", fact)
			return
		}
		n, limited := v.Number()
		have, any := least.Number()
		if limited && (!any || n < have) {
			least, src = v, at
		}
	}
	switch {
	case !least.IsAbsent():
		t.Set(fact, least, src)
	case g.top:
		t.SetAbsent(fact, src)
	default:
		l.obs.Gap(t.Ref, "groups above the visible ones may limit it", "run Plumb on the host, not in a container", fact)
	}
}

// number sets a fact from a file that holds one number. A file that does not
// exist leaves it unknown: at the root of the tree there is none to read.
func (l *look) number(t *stack.Thing, fact, name string) {
	data, ok := l.read(t, name, fact)
	if !ok {
		return
	}
	if n, ok := parseNumber(data); ok {
		t.Set(fact, stack.Int(n), name)
	}
}

// keyed sets facts from a file of "key number" lines.
func (l *look) keyed(t *stack.Thing, name string, facts map[string]string) {
	data, ok := l.read(t, name, slices.Sorted(maps.Keys(facts))...)
	if !ok {
		return
	}
	for fact, key := range facts {
		if n, ok := proc.Keyed(data, key); ok {
			t.Set(fact, stack.Int(n), name)
		} else if fact == "memory_shmem" {
			t.SetAbsent(fact, name) // kernels before 4.20 do not count it in version 1
		}
	}
}

func parseNumber(data []byte) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// parseMaxBytes reads a version 2 limit: bytes, or "max" for none.
func parseMaxBytes(_ string, data []byte) (stack.Value, bool) {
	if strings.TrimSpace(string(data)) == "max" {
		return stack.Value{}, true
	}
	n, ok := parseNumber(data)
	return stack.Int(n), ok && n >= 0
}

// parseV1Bytes reads a version 1 limit, with its large number for none.
func parseV1Bytes(_ string, data []byte) (stack.Value, bool) {
	n, ok := parseNumber(data)
	if ok && n >= noLimitV1 {
		return stack.Value{}, true
	}
	return stack.Int(n), ok && n >= 0
}

// parseCPUMax reads "quota period" in microseconds, as CPUs.
func parseCPUMax(_ string, data []byte) (stack.Value, bool) {
	f := strings.Fields(string(data))
	if len(f) != 2 {
		return stack.Value{}, false
	}
	if f[0] == "max" {
		return stack.Value{}, true
	}
	quota, err1 := strconv.ParseInt(f[0], 10, 64)
	period, err2 := strconv.ParseInt(f[1], 10, 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 {
		return stack.Value{}, false
	}
	return stack.Float(float64(quota) / float64(period)), true
}
