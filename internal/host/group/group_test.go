package group

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/chroot"
)

// tree makes a false /sys/fs/cgroup in a directory: both versions cannot be on
// one machine. The lab's tests use the real one.
func tree(t *testing.T, files map[string]string) *chroot.Doer {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return chroot.New(host.NewLiveDoer(host.NewLive(host.LiveOptions{})), dir)
}

func TestVersions(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		dirs   []string
		limit  string
		swap   string
		memory string
		cpu    [2]string // file, and what is written to it
	}{
		"version 1": {map[string]string{
			"memory/memory.limit_in_bytes": "x", "cpuacct/cpuacct.usage": "1", "cpuacct/g/cpuacct.usage": "1500000000\n",
			"cpuacct/g/cpu.cfs_quota_us":     "-1\n",
			"memory/g/memory.limit_in_bytes": "", "memory/g/memory.memsw.limit_in_bytes": "", "memory/g/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
		}, []string{root + "/memory/g", root + "/cpuacct/g"}, "memory/g/memory.limit_in_bytes", "4096", "memory/g/memory.memsw.limit_in_bytes", [2]string{"cpuacct/g/cpu.cfs_quota_us", "150000"}},
		"version 2": {map[string]string{
			"cgroup.subtree_control": "cpu io memory\n", "g/memory.max": "", "g/memory.swap.max": "", "g/cpu.max": "max 100000\n",
			"g/cpu.stat": "usage_usec 1500000\nuser_usec 1\n", "g/memory.events": "oom 3\noom_kill 2\n",
		}, []string{root + "/g"}, "g/memory.max", "0", "g/memory.swap.max", [2]string{"g/cpu.max", "150000 100000"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, d := context.Background(), tree(t, c.files)
			found, err := Find(ctx, d)
			if err != nil {
				t.Fatal(err)
			}
			g := found.Group("g")
			if !slices.Equal(g.Dirs(), c.dirs) {
				t.Errorf("directories %v", g.Dirs())
			}
			if err := g.LimitMemory(ctx, d, 4096); err != nil {
				t.Fatal(err)
			}
			if err := g.LimitCPU(ctx, d, 1.5); err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{c.limit: "4096", c.memory: c.swap, c.cpu[0]: c.cpu[1]} {
				if text, err := d.ReadFile(ctx, root+"/"+file); err != nil || strings.TrimSpace(string(text)) != want {
					t.Errorf("%s holds %q (%v), want %s", file, text, err, want)
				}
			}
			if used, known := g.CPU(ctx, d); used != 1500*time.Millisecond || !known {
				t.Errorf("CPU %s, %v", used, known)
			}
			if n, known := g.Kills(ctx, d); n != 2 || !known {
				t.Errorf("kills %d, %v", n, known)
			}
		})
	}
}

// Where the controller is not on there is an error, and nothing is a zero.
func TestUnknown(t *testing.T) {
	ctx := context.Background()
	for _, files := range []map[string]string{{"cgroup.subtree_control": "cpu\n"}, {"pids/pids.max": "1"}} {
		if _, err := Find(ctx, tree(t, files)); err != ErrNone {
			t.Errorf("%v: %v", files, err)
		}
	}
	g := Tree{version: 1, memory: root + "/memory"}.Group("g")
	if _, known := g.CPU(ctx, tree(t, nil)); known {
		t.Error("the CPU of a group without cpuacct is known")
	}
	if _, known := g.Kills(ctx, tree(t, nil)); known {
		t.Error("the kills of no group are known")
	}
	if err := g.LimitCPU(ctx, tree(t, nil), 1); err != ErrNoCPU {
		t.Errorf("processor time without its controller: %v", err)
	}
}
