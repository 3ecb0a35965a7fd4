package sampler

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/kernel"
)

// kernelSource reads what the kernel counts of the host as a whole.
type kernelSource struct {
	of   stack.Ref
	page int64 // bytes; 0 when not known
}

// Name implements [sample.Source].
func (kernelSource) Name() string { return "kernel" }

// Every implements [sample.Source].
func (kernelSource) Every() time.Duration { return sample.Second }

// Take implements [sample.Source].
func (k kernelSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	k.cpu(ctx, h, &b)
	k.memory(ctx, h, &b)
	k.counters(ctx, h, &b)
	pressure(ctx, h, &b, k.of, "/proc/pressure/%", "the kernel does not account pressure, or needs psi=1 at boot")
	return b, ctx.Err()
}

// tick is how many milliseconds one of USER_HZ is.
const tick = 10

func (k kernelSource) cpu(ctx context.Context, h host.Reader, b *series.Batch) {
	const src = "/proc/stat"
	names := []string{"cpu_user_ms", "cpu_system_ms", "cpu_iowait_ms", "cpu_idle_ms", "cpu_steal_ms", "context_switches", "tasks_running", "tasks_blocked"}
	data, err := h.ReadFile(ctx, src)
	if err != nil {
		b.Gap(k.of, err.Error(), "", names...)
		return
	}
	t, ok := kernel.ParseCPUTime(data)
	if !ok {
		b.Gap(k.of, src+" is not understood", "", names...)
		return
	}
	values := []int64{t.User * tick, t.System * tick, t.IOWait * tick, t.Idle * tick, t.Steal * tick, t.Switches, t.Running, t.Blocked}
	for i, name := range names {
		b.Set(k.of, name, float64(values[i]))
	}
}

// inMemory are readings of /proc/meminfo, by their names there.
var inMemory = map[string]string{
	"memory_available": "MemAvailable", "memory_free": "MemFree", "memory_anon": "AnonPages", "memory_shared": "Shmem",
	"memory_slab": "Slab", "memory_committed": "Committed_AS", "dirty": "Dirty", "writeback": "Writeback",
}

func (k kernelSource) memory(ctx context.Context, h host.Reader, b *series.Batch) {
	const src = "/proc/meminfo"
	data, err := h.ReadFile(ctx, src)
	if err != nil {
		for name := range inMemory {
			b.Gap(k.of, err.Error(), "", name)
		}
		b.Gap(k.of, err.Error(), "", "swap_used", "page_cache")
		return
	}
	m := kernel.ParseMeminfo(data)
	for name, key := range inMemory {
		if n, ok := m[key]; ok {
			b.Set(k.of, name, float64(n))
		}
	}
	total, ok := m["SwapTotal"]
	if free, both := m["SwapFree"]; ok && both && free <= total {
		b.Set(k.of, "swap_used", float64(total-free))
	}
	cached, ok1 := m["Cached"]
	buffers, ok2 := m["Buffers"]
	shared, ok3 := m["Shmem"]
	if ok1 && ok2 && ok3 {
		b.Set(k.of, "page_cache", float64(max(cached+buffers-shared, 0)))
	}
}

// inVmstat are readings of /proc/vmstat, by their names there. The refaults of
// files and of anonymous pages are counted apart since Linux 5.9.
var inVmstat = map[string]string{
	"pages_dirtied": "nr_dirtied", "pages_written": "nr_written", "swap_in_pages": "pswpin", "swap_out_pages": "pswpout",
	"oom_kills": "oom_kill", "refaults_file": "workingset_refault_file", "refaults_anon": "workingset_refault_anon",
}

func (k kernelSource) counters(ctx context.Context, h host.Reader, b *series.Batch) {
	const src = "/proc/vmstat"
	data, err := h.ReadFile(ctx, src)
	if err != nil {
		for name := range inVmstat {
			b.Gap(k.of, err.Error(), "", name)
		}
		b.Gap(k.of, err.Error(), "", "allocation_stalls", "dirty_limit", "dirty_background_limit")
		return
	}
	c := kernel.ParseCounters(data)
	for name, key := range inVmstat {
		if n, ok := c[key]; ok {
			b.Set(k.of, name, float64(n))
		}
	}
	stalls, found := int64(0), false
	for name, n := range c {
		if strings.HasPrefix(name, "allocstall") {
			stalls, found = stalls+n, true
		}
	}
	if found {
		b.Set(k.of, "allocation_stalls", float64(stalls))
	}
	for name, key := range map[string]string{"dirty_limit": "nr_dirty_threshold", "dirty_background_limit": "nr_dirty_background_threshold"} {
		if n, ok := c[key]; ok && k.page > 0 {
			b.Set(k.of, name, float64(n)*float64(k.page))
		}
	}
}

// stalls are the kinds of waiting that pressure stall information tells of. A
// processor has no "full" for a whole machine.
var stalls = [][2]string{{"cpu", "some"}, {"io", "some"}, {"io", "full"}, {"memory", "some"}, {"memory", "full"}}

// pressure reads the times in which tasks waited, from files in whose pattern
// the resource stands for %. none says what it means that there are no such files.
func pressure(ctx context.Context, h host.Reader, b *series.Batch, of stack.Ref, pattern, none string) {
	texts := map[string][]byte{}
	for _, resource := range []string{"cpu", "io", "memory"} {
		data, err := h.ReadFile(ctx, strings.Replace(pattern, "%", resource, 1))
		switch {
		case err == nil:
			texts[resource] = data
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errors.ErrUnsupported), strings.Contains(err.Error(), "not supported"):
			b.Gap(of, none, "", stallNames(resource)...)
		default:
			b.Gap(of, err.Error(), "", stallNames(resource)...)
		}
	}
	for _, s := range stalls {
		if us, ok := kernel.ParseStall(texts[s[0]], s[1]); ok {
			b.Set(of, "psi_"+s[0]+"_"+s[1]+"_us", float64(us))
		}
	}
}

func stallNames(resource string) (names []string) {
	for _, s := range stalls {
		if s[0] == resource {
			names = append(names, "psi_"+s[0]+"_"+s[1]+"_us")
		}
	}
	return names
}

func allStalls() (names []string) {
	for _, resource := range []string{"cpu", "io", "memory"} {
		names = append(names, stallNames(resource)...)
	}
	return names
}
