package kernel

import (
	"fmt"
	"path"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

func trim(data []byte) string { return strings.TrimSpace(string(data)) }

// memory reads /proc/meminfo.
func (l *look) memory() {
	const src = "/proc/meminfo"
	data, ok := l.read(src, "memory_*", "swap_*")
	if !ok {
		return
	}
	m := ParseMeminfo(data)
	observe.SetFigures(l.t, m, l.catalog.ReadFrom("host", src+" "), src)
	if free, ok := m["SwapFree"]; ok && free <= m["SwapTotal"] {
		l.t.Set("swap_used", stack.Int(m["SwapTotal"]-free), src)
	}
	if cached, ok := m["Cached"]; ok {
		l.t.Set("page_cache", stack.Int(max(cached+m["Buffers"]-m["Shmem"], 0)), src)
	}
}

// counters reads /proc/vmstat: what happened since boot, and the thresholds
// of dirty memory as the kernel computes them now.
func (l *look) counters() {
	const src = "/proc/vmstat"
	data, ok := l.read(src, "swap_in_pages", "swap_out_pages", "oom_kills", "allocation_stalls", "dirty_limit", "dirty_background_limit")
	if !ok {
		return
	}
	c := ParseCounters(data)
	observe.SetFigures(l.t, c, l.catalog.ReadFrom("host", src+" "), src)
	stalls, found := int64(0), false
	for name, n := range c {
		if strings.HasPrefix(name, "allocstall") {
			stalls, found = stalls+n, true
		}
	}
	if found {
		l.t.Set("allocation_stalls", stack.Int(stalls), src)
	}
	l.dirtyLimits(c)
	l.network()
}

// network reads how often a connection was dropped because the queue of its
// listening socket was full.
func (l *look) network() {
	const src = "/proc/net/netstat"
	data, ok := l.read(src, "listen_overflows")
	if !ok {
		return
	}
	if n, ok := parseNetstat(data, "TcpExt:", "ListenOverflows"); ok {
		l.t.Set("listen_overflows", stack.Int(n), src+" ListenOverflows")
	}
}

// dirtyLimits turns the thresholds, which are counted in pages, into bytes.
func (l *look) dirtyLimits(c map[string]int64) {
	page, ok := l.pageSize()
	for fact, name := range map[string]string{
		"dirty_limit": "nr_dirty_threshold", "dirty_background_limit": "nr_dirty_background_threshold",
	} {
		if n, have := c[name]; ok && have && n >= 0 && n < 1<<40 {
			l.t.Set(fact, stack.Int(n*page), "/proc/vmstat "+name)
		}
	}
}

func (l *look) pageSize() (int64, bool) {
	out, err := l.h.Output(l.ctx, "getconf", "PAGESIZE")
	var n int64
	if err == nil {
		_, err = fmt.Sscanf(string(out), "%d", &n)
	}
	if err != nil {
		l.gap(fmt.Errorf("learn the page size: %w", err), "dirty_limit", "dirty_background_limit", "page_size")
		return 0, false
	}
	if n < 4096 || n > 1<<20 || n&(n-1) != 0 {
		return 0, false
	}
	l.t.Set("page_size", stack.Int(n), "getconf PAGESIZE")
	return n, true
}

// swap reads what swap lies on. Swap in compressed memory is cheap, so advice
// for swap on disks does not hold for it.
func (l *look) swap() {
	const src = "/proc/swaps"
	if data, ok := l.read(src, "swap_devices", "swap_in_memory"); ok {
		devices := parseSwaps(data)
		l.t.Set("swap_devices", stack.List(devices), src)
		in := len(devices) > 0
		for _, d := range devices {
			in = in && strings.HasPrefix(path.Base(d), "zram")
		}
		l.t.Set("swap_in_memory", stack.Bool(in), src)
	}
}

// parseSwaps lists the devices and files of /proc/swaps.
func parseSwaps(data []byte) []string {
	out := []string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 5 || f[0] == "Filename" {
			continue
		}
		out = append(out, edit.Unoctal(f[0]))
	}
	return out
}

// hugePages reads the sizes of transparent huge pages that are not off.
func (l *look) hugePages() {
	const dir = "/sys/kernel/mm/transparent_hugepage/"
	names, err := l.h.Glob(l.ctx, dir+"hugepages-*kB/enabled")
	if err != nil {
		l.gap(err, "thp_sizes")
		return
	}
	sizes := []string{}
	for _, name := range names {
		data, err := l.h.ReadFile(l.ctx, name)
		if err != nil {
			l.gap(err, "thp_sizes")
			return
		}
		if c, ok := observe.Chosen(string(data)); ok && c != "never" {
			sizes = append(sizes, strings.TrimPrefix(path.Base(path.Dir(name)), "hugepages-")+" "+c)
		}
	}
	if len(names) == 0 {
		l.t.SetAbsent("thp_sizes", dir+": "+unsupported) // before Linux 6.8
		return
	}
	l.t.Set("thp_sizes", stack.List(sizes), dir+"hugepages-*/enabled")
}
