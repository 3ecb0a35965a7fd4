package sampler

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/kernel"
)

// kernelSource reads what the kernel counts of the host as a whole.
type kernelSource struct {
	host stack.Ref
	page int64 // bytes of a memory page; 0 when not known
}

func (k kernelSource) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	r := reading{ctx, h, b}
	k.processors(r)
	k.memory(r)
	k.counters(r)
	for _, p := range pressures {
		k.pressure(r, p)
	}
	if data, ok := r.file(k.host, "/proc/uptime", "uptime"); ok {
		if s, ok := proc.Uptime(data); ok {
			b.Set(k.host, "uptime", math.Trunc(s))
		}
	}
	return ctx.Err()
}

func (k kernelSource) processors(r reading) {
	const src = "/proc/stat"
	data, ok := r.file(k.host, src, "cpu_user_ms", "cpu_system_ms", "cpu_iowait_ms", "cpu_idle_ms", "cpu_steal_ms", "context_switches", "tasks_running", "tasks_blocked")
	if !ok {
		return
	}
	t := parseStat(data)
	for _, v := range []struct {
		line, name string
		value      int64
	}{
		{"cpu", "cpu_user_ms", t.user}, {"cpu", "cpu_system_ms", t.system}, {"cpu", "cpu_iowait_ms", t.iowait},
		{"cpu", "cpu_idle_ms", t.idle}, {"cpu", "cpu_steal_ms", t.steal}, {"ctxt", "context_switches", t.switches},
		{"procs_running", "tasks_running", t.running}, {"procs_blocked", "tasks_blocked", t.blocked},
	} {
		if t.told[v.line] {
			r.b.Set(k.host, v.name, float64(v.value))
		} else {
			r.b.Gap(k.host, src+" has no line "+v.line, "", v.name)
		}
	}
}

// figure is a reading and what it is called in its file.
type figure struct{ name, field string }

var memoryFigures = []figure{
	{"memory_available", "MemAvailable"}, {"memory_free", "MemFree"}, {"memory_anon", "AnonPages"}, {"memory_shared", "Shmem"},
	{"memory_slab", "Slab"}, {"page_tables", "PageTables"}, {"dirty", "Dirty"}, {"writeback", "Writeback"},
}

func (k kernelSource) memory(r reading) {
	const src = "/proc/meminfo"
	data, ok := r.file(k.host, src, "memory_available", "dirty", "writeback", "swap_used", "page_cache")
	if !ok {
		return
	}
	m := kernel.ParseMeminfo(data)
	set(r.b, k.host, m, memoryFigures)
	if free, ok := m["SwapFree"]; ok && free <= m["SwapTotal"] {
		r.b.Set(k.host, "swap_used", float64(m["SwapTotal"]-free))
	}
	if cached, ok := m["Cached"]; ok {
		r.b.Set(k.host, "page_cache", float64(max(cached+m["Buffers"]-m["Shmem"], 0)))
	}
}

func set(b *series.Batch, of stack.Ref, values map[string]int64, figures []figure) {
	for _, f := range figures {
		if n, ok := values[f.field]; ok && n >= 0 {
			b.Set(of, f.name, float64(n))
		}
	}
}

var vmstatFigures = []figure{
	{"swap_in_pages", "pswpin"}, {"swap_out_pages", "pswpout"}, {"oom_kills", "oom_kill"},
	{"pages_dirtied", "nr_dirtied"}, {"pages_written", "nr_written"},
	{"refaults_file", "workingset_refault_file"}, {"refaults_anon", "workingset_refault_anon"},
}

// counters reads /proc/vmstat. Before Linux 5.9 refaults of files and of
// anonymous memory are counted together, and so neither is known.
func (k kernelSource) counters(r reading) {
	const src = "/proc/vmstat"
	data, ok := r.file(k.host, src, "swap_in_pages", "swap_out_pages", "pages_dirtied", "pages_written", "dirty_limit", "dirty_background_limit", "allocation_stalls")
	if !ok {
		return
	}
	c := kernel.ParseCounters(data)
	set(r.b, k.host, c, vmstatFigures)
	stalls, found := int64(0), false
	for name, n := range c {
		if strings.HasPrefix(name, "allocstall") {
			stalls, found = stalls+n, true
		}
	}
	if found {
		r.b.Set(k.host, "allocation_stalls", float64(stalls))
	}
	for _, f := range []figure{{"dirty_limit", "nr_dirty_threshold"}, {"dirty_background_limit", "nr_dirty_background_threshold"}} {
		n, ok := c[f.field]
		switch {
		case k.page == 0:
			r.b.Gap(k.host, "the size of a memory page is not known", "", f.name)
		case ok && n >= 0:
			r.b.Set(k.host, f.name, float64(n*k.page))
		}
	}
}

// pressure is one file of pressure and the readings in it.
type pressure struct{ resource, some, full string }

var pressures = []pressure{
	{"cpu", "psi_cpu_some_us", ""}, {"io", "psi_io_some_us", "psi_io_full_us"}, {"memory", "psi_memory_some_us", "psi_memory_full_us"},
}

func (p pressure) names() []string {
	if p.full == "" {
		return []string{p.some}
	}
	return []string{p.some, p.full}
}

func (p pressure) set(b *series.Batch, of stack.Ref, stalls map[string]int64) (any bool) {
	for _, f := range []figure{{p.some, "some"}, {p.full, "full"}} {
		if us, ok := stalls[f.field]; ok && f.name != "" {
			b.Set(of, f.name, float64(us))
			any = true
		}
	}
	return any
}

func (k kernelSource) pressure(r reading, p pressure) {
	src := "/proc/pressure/" + p.resource
	data, err := r.h.ReadFile(r.ctx, src)
	switch {
	case unaccounted(err):
		r.b.Gap(k.host, "the kernel does not account pressure", "boot with psi=1, on Linux 4.20 or later", p.names()...)
	case err != nil:
		r.b.Gap(k.host, err.Error(), hintFor(err), p.names()...)
	case !p.set(r.b, k.host, parseStalls(data)):
		r.odd(k.host, src, p.names()...)
	}
}

// unaccounted tells a kernel that does not account pressure, or was told not to.
func unaccounted(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported)
}
