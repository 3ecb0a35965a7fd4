package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
)

const (
	nodeDir = "/sys/devices/system/node/"
	// maxListed bounds the numbers of a list and the nodes that are looked at.
	maxListed = 1 << 16
)

// MemoryNodes lists the NUMA nodes that have memory, and says where that
// stands. Linux before 4.14 has the file has_memory only where it was built
// with CONFIG_MOVABLE_NODE; the nodes themselves are then looked at. A kernel
// without NUMA has one memory for all, node 0.
func MemoryNodes(ctx context.Context, h host.Reader) (nodes []int, source string, err error) {
	const has = nodeDir + "has_memory"
	data, err := h.ReadFile(ctx, has)
	if err == nil {
		if nodes, ok := ParseNumbers(data); ok && len(nodes) > 0 {
			return nodes, has, nil
		}
		return nil, "", fmt.Errorf("read %s: it lists no nodes", has)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	dirs, err := h.Glob(ctx, nodeDir+"node[0-9]*")
	if err != nil {
		return nil, "", err
	}
	if len(dirs) == 0 {
		return []int{0}, "the kernel has no NUMA support", nil
	}
	for _, dir := range dirs[:min(len(dirs), maxListed)] {
		n, err := strconv.Atoi(strings.TrimPrefix(path.Base(dir), "node"))
		if err != nil {
			continue
		}
		total, err := NodeMemory(ctx, h, n)
		if err != nil {
			return nil, "", err
		}
		if total > 0 {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return nil, "", fmt.Errorf("read %snode*/meminfo: no node has memory", nodeDir)
	}
	slices.Sort(nodes)
	return nodes, nodeDir + "node*/meminfo", nil
}

// NodeMemory reads the memory of a NUMA node, in bytes.
func NodeMemory(ctx context.Context, h host.Reader, node int) (int64, error) {
	name := fmt.Sprintf("%snode%d/meminfo", nodeDir, node)
	data, err := h.ReadFile(ctx, name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) { // "Node 0 MemTotal:       5597400 kB"
		f := strings.Fields(line)
		if len(f) == 5 && f[0] == "Node" && f[2] == "MemTotal:" && f[4] == "kB" {
			if n, err := strconv.ParseInt(f[3], 10, 64); err == nil && n >= 0 && n < 1<<52 {
				return n << 10, nil
			}
		}
	}
	return 0, fmt.Errorf("read %s: it tells no MemTotal", name)
}

// ParseNumbers reads the kernel's lists of numbers, "0-3,8": processors, nodes.
func ParseNumbers(data []byte) ([]int, bool) {
	var out []int
	for part := range strings.SplitSeq(strings.TrimSpace(string(data)), ",") {
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil || from < 0 {
			return nil, false
		}
		to := from
		if isRange {
			if to, err = strconv.Atoi(last); err != nil {
				return nil, false
			}
		}
		if to < from || to >= maxListed || len(out)+to-from >= maxListed {
			return nil, false
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	return out, true
}
