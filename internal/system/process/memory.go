package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// shareTime bounds adding up the proportional memory of PostgreSQL's
// processes: the kernel walks the page tables of each for it.
const shareTime = 500 * time.Millisecond

// memory reads what memory the server takes and how.
func (l *look) memory(t *stack.Thing, s server) {
	src := file(s.pid, "status")
	if data, ok := l.read(t, src, "rss", "swapped", "huge_pages", "thp_enabled", "threads"); ok {
		st := parseColons(data)
		if n, ok := kilobytes(st["HugetlbPages"]); ok {
			t.Set("huge_pages", stack.Int(n), src)
		}
		switch st["THP_enabled"] {
		case "0", "1":
			t.Set("thp_enabled", stack.Bool(st["THP_enabled"] == "1"), src)
		case "":
			t.SetAbsent("thp_enabled", src) // before Linux 5.0
		}
		if product.Of(s.engine).SharesMemory {
			l.shared(t, s)
		} else {
			setKilobytes(t, "rss", st["VmRSS"], src)
			setKilobytes(t, "swapped", st["VmSwap"], src)
		}
	}
	l.allocator(t, s)
	l.numa(t, s)
}

func setKilobytes(t *stack.Thing, name, value, src string) {
	if n, ok := kilobytes(value); ok {
		t.Set(name, stack.Int(n), src)
	}
}

// shared adds up the processes of a PostgreSQL instance. Every one of them
// counts the shared buffers it has touched as its own resident memory, so
// resident sizes must not be added; proportional sizes may.
func (l *look) shared(t *stack.Thing, s server) {
	ctx, cancel := context.WithTimeout(l.ctx, shareTime)
	defer cancel()
	var rss, swap int64
	for _, pid := range append([]int{s.pid}, s.children...) {
		data, err := l.h.ReadFile(ctx, file(pid, "smaps_rollup"))
		if errors.Is(err, fs.ErrNotExist) && pid != s.pid {
			continue // the backend ended meanwhile
		}
		if err == nil && ctx.Err() != nil {
			err = fmt.Errorf("add up the memory of all its processes, %d: %w", 1+len(s.children), ctx.Err())
		}
		if err != nil {
			l.gap(t, err, "rss", "swapped")
			return
		}
		sizes := parseColons(data)
		pss, ok := kilobytes(sizes["Pss"])
		swapPss, okSwap := kilobytes(sizes["SwapPss"])
		if len(data) == 0 && pid != s.pid {
			continue // ended between open and read
		}
		if !ok || !okSwap {
			l.obs.Gap(t.Ref, file(pid, "smaps_rollup")+" has no Pss", "", "rss", "swapped")
			return
		}
		rss, swap = rss+pss, swap+swapPss
	}
	t.Set("rss", stack.Int(rss), "Pss in /proc/PID/smaps_rollup of all its processes")
	t.Set("swapped", stack.Int(swap), "SwapPss in /proc/PID/smaps_rollup of all its processes")
}

// allocator finds which memory allocator the program uses.
func (l *look) allocator(t *stack.Thing, s server) {
	src := file(s.pid, "maps")
	data, err := l.h.ReadFile(l.ctx, src)
	if err != nil && !errors.Is(err, host.ErrTooLarge) {
		l.gap(t, err, "allocator", "linux_aio")
		return
	}
	if linux := parseAIO(data); linux || err == nil {
		t.Set("linux_aio", stack.Bool(linux), src)
	} else {
		l.gap(t, fmt.Errorf("read %s: %w", src, err), "linux_aio") // a ring may follow
	}
	name := parseAllocator(data)
	if err != nil && (name == "" || name == "glibc") {
		l.gap(t, fmt.Errorf("read %s: %w", src, err), "allocator") // a library may follow
		return
	}
	if product.Of(s.engine).HidesAllocator && (name == "" || name == "glibc") {
		return // most builds contain TCMalloc instead of linking to it: the server itself says so
	}
	if name == "" {
		l.obs.Gap(t.Ref, "the program is linked statically: "+src+" shows no library", "", "allocator")
		return
	}
	t.Set("allocator", stack.Text(name), src)
}

// parseAllocator names the allocator from the libraries in /proc/PID/maps;
// "" when it shows no C library at all. A preloaded allocator stands beside
// the C library and wins.
func parseAllocator(maps []byte) string {
	libc := ""
	for line := range strings.Lines(string(maps)) {
		slash := strings.IndexByte(line, '/')
		if slash < 0 {
			continue
		}
		base := line[strings.LastIndexByte(line, '/')+1:]
		for _, a := range []string{"jemalloc", "tcmalloc", "mimalloc"} {
			if strings.HasPrefix(base, "lib"+a) {
				return a
			}
		}
		switch {
		case strings.HasPrefix(base, "libc.so"), strings.HasPrefix(base, "libc-2."):
			libc = "glibc"
		case strings.HasPrefix(base, "ld-musl"), strings.HasPrefix(base, "libc.musl"):
			libc = "musl"
		}
	}
	return libc
}

// parseAIO reports whether /proc/PID/maps shows a ring of io_setup(2), which
// the kernel maps under the name [aio]. io_uring makes no such mapping.
func parseAIO(maps []byte) bool {
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) > 5 && f[5] == "/[aio]" {
			return true
		}
	}
	return false
}

// numa reads the memory policy of the first mapping, as mongod does for its
// own start-up warning. Only the first line is asked for: the kernel walks
// the page tables of every mapping whose line is read.
func (l *look) numa(t *stack.Thing, s server) {
	if !l.nodes {
		t.SetAbsent("numa_policy", "/sys/devices/system/node has one node with memory")
		return
	}
	src := file(s.pid, "numa_maps")
	data, err := l.h.Output(l.ctx, "head", "-c", "256", src)
	if err != nil {
		l.gap(t, fmt.Errorf("read the head of %s: %w", src, err), "numa_policy")
		return
	}
	if policy, ok := parseNumaPolicy(data); ok {
		t.Set("numa_policy", stack.Text(policy), src)
	}
}

// parseNumaPolicy reads the policy word of the first line of numa_maps.
func parseNumaPolicy(data []byte) (string, bool) {
	first, _, _ := strings.Cut(string(data), "\n")
	f := strings.Fields(first)
	if len(f) < 2 {
		return "", false
	}
	policy := f[1]
	if i := strings.IndexAny(policy, ":="); i >= 0 {
		policy = policy[:i]
	}
	if policy == "weighted" { // "weighted interleave", Linux 6.9
		policy = "interleave"
	}
	return policy, policy != ""
}
