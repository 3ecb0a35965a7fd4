package observe

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/host/hosttest"
)

// The trees are those of lscpu's dumps of real machines, with a node's
// meminfo as Linux prints it: what is read of a POWER7 with nodes 0 and 1, of
// an AMD with nodes 0, 2 and 3, and where one node has processors only.
func TestMemoryNodes(t *testing.T) {
	const dir = "/sys/devices/system/node/"
	info := func(n, kB string) string {
		return "Node " + n + " MemTotal:       " + kB + " kB\nNode " + n + " MemFree:        1 kB\n"
	}
	for _, c := range []struct {
		name   string
		files  map[string]string
		want   []int
		source string
	}{
		{"file", map[string]string{dir + "has_memory": "0-1\n"}, []int{0, 1}, dir + "has_memory"},
		{"before_4.14", map[string]string{dir + "has_normal_memory": "0-1\n", dir + "node0/meminfo": info("0", "16000"), dir + "node1/meminfo": info("1", "8000")}, []int{0, 1}, dir + "node*/meminfo"},
		{"not_in_a_row", map[string]string{dir + "node0/meminfo": info("0", "16000"), dir + "node2/meminfo": info("2", "16000"), dir + "node3/meminfo": info("3", "16000")}, []int{0, 2, 3}, dir + "node*/meminfo"},
		{"processors_only", map[string]string{dir + "node0/meminfo": info("0", "16000"), dir + "node1/meminfo": info("1", "0")}, []int{0}, dir + "node*/meminfo"},
		{"no_numa", nil, []int{0}, "the kernel has no NUMA support"},
		{"no_meminfo", map[string]string{dir + "node0/cpumap": "3\n", dir + "node1/cpumap": "c\n"}, nil, ""},
		{"empty", map[string]string{dir + "has_memory": "\n"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, source, err := MemoryNodes(context.Background(), hosttest.Map{Files: c.files})
			if !slices.Equal(got, c.want) || source != c.source || (err == nil) != (c.want != nil) {
				t.Errorf("nodes %v from %q, %v; want %v from %q", got, source, err, c.want, c.source)
			}
		})
	}
}

func TestParseNumbers(t *testing.T) {
	got, ok := ParseNumbers([]byte("0-3,8\n"))
	if diff := cmp.Diff([]int{0, 1, 2, 3, 8}, got); diff != "" || !ok {
		t.Error(diff)
	}
	for _, bad := range []string{"x", "3-1", "0-99999999", "-2"} {
		if _, ok := ParseNumbers([]byte(bad)); ok {
			t.Errorf("ParseNumbers(%q) accepted", bad)
		}
	}
}

func FuzzParseNumbers(f *testing.F) {
	f.Add([]byte("0-3,8\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, ok := ParseNumbers(data); ok && len(l) > 1<<16 {
			t.Errorf("%d numbers", len(l))
		}
	})
}
