package process

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// hybridCgroup and hybridMounts are from a host with version 1 controllers
// beside an empty version 2 tree (Linux 6.18).
const (
	hybridCgroup = "9:name=systemd:/\n8:pids:/\n5:devices:/\n4:memory:/plumbsys/inner\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/plumbsys\n0::/\n"
	hybridMounts = `22 27 0:21 / /proc rw,relatime - proc proc rw
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	unifiedMounts = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
)

func statLine(pid int, comm string, ppid int) string {
	return fmt.Sprintf("%d (%s) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5000 0 0 0", pid, comm, ppid)
}

func lookAt(t *testing.T, m hosttest.Map) *stack.Stack {
	t.Helper()
	obs, err := Probe{}.Collect(context.Background(), m, &stack.Stack{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{}
	s.Add("process", obs)
	return s
}

// A process that has ended since the table was read has no command line, or an empty one while its memory is given back. It is no server,
// nor is one whose program is just being loaded.
func TestAProcessWithoutArgumentsIsLeftOut(t *testing.T) {
	for name, change := range map[string]func(files map[string]string){
		"gone":   func(files map[string]string) { delete(files, "/proc/2740/cmdline") },
		"ending": func(files map[string]string) { files["/proc/2740/cmdline"] = "" },
	} {
		m := hybridServer()
		change(m.Files)
		if all := lookAt(t, m).OfKind("process"); len(all) != 0 {
			t.Errorf("%s: %+v", name, all[0])
		}
	}
	m := hybridServer()
	m.Errors = map[string]error{"file /proc/2740/cmdline": fs.ErrPermission}
	if all := lookAt(t, m).OfKind("process"); len(all) != 1 {
		t.Errorf("one whose command line may not be read: %d", len(all))
	}
}

// server gives a fake machine with one server process in the hybrid tree.
func hybridServer() hosttest.Map {
	return hosttest.Map{
		Files: map[string]string{
			"/proc/uptime":                                "1000.50 1.0\n",
			"/proc/self/mountinfo":                        hybridMounts,
			"/etc/passwd":                                 "mysql:x:105:110::/:/bin/false\n",
			"/proc/2740/stat":                             statLine(2740, "mariadbd", 1),
			"/proc/2740/cmdline":                          "mariadbd\x00--port=34991\x00",
			"/proc/2740/status":                           "Uid:\t105\t105\t105\t105\nVmRSS:\t  1000 kB\nVmSwap:\t  0 kB\nHugetlbPages:\t 0 kB\nTHP_enabled:\t0\n",
			"/proc/2740/limits":                           mariadbLimits,
			"/proc/2740/oom_score_adj":                    "0\n",
			"/proc/2740/maps":                             "7f1 r-xp 00000000 fe:00 1234 /usr/lib/x86_64-linux-gnu/libc.so.6\n",
			"/proc/2740/cgroup":                           hybridCgroup,
			"/proc/2740/net/tcp":                          netTCP,
			"/proc/2740/net/unix":                         netUnix,
			"/sys/fs/cgroup/memory/release_agent":         "\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"/sys/fs/cgroup/memory/plumbsys/memory.limit_in_bytes":       "536870912\n",
			"/sys/fs/cgroup/memory/plumbsys/inner/memory.limit_in_bytes": "9223372036854771712\n",
			"/sys/fs/cgroup/memory/plumbsys/inner/memory.usage_in_bytes": "98656256\n",
			"/sys/fs/cgroup/memory/plumbsys/inner/memory.swappiness":     "60\n",
			"/sys/fs/cgroup/memory/plumbsys/inner/memory.stat":           "rss 1\ntotal_cache 24576\ntotal_rss 96727040\n",
			"/sys/fs/cgroup/memory/plumbsys/inner/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
			"/sys/fs/cgroup/cpu/release_agent":                           "\n",
			"/sys/fs/cgroup/cpu/cpu.cfs_quota_us":                        "-1\n",
			"/sys/fs/cgroup/cpu/cpu.cfs_period_us":                       "100000\n",
			"/sys/fs/cgroup/cpu/plumbsys/cpu.cfs_quota_us":               "50000\n",
			"/sys/fs/cgroup/cpu/plumbsys/cpu.cfs_period_us":              "100000\n",
			"/sys/fs/cgroup/cpu/plumbsys/cpu.stat":                       "nr_periods 9\nnr_throttled 2\nthrottled_time 77\n",
		},
		Links: map[string]string{
			"/proc/self/ns/mnt": "mnt:[1]", "/proc/2740/ns/mnt": "mnt:[1]",
			"/proc/self/ns/net": "net:[1]", "/proc/2740/ns/net": "net:[2]",
			"/proc/2740/exe":    "/usr/sbin/mariadbd (deleted)",
			"/proc/2740/fd/0":   "/dev/null",
			"/proc/2740/fd/21":  "socket:[73219]",
			"/proc/2740/fd/22":  "socket:[73220]",
			"/proc/2740/fd/105": "socket:[99999]",
		},
	}
}

func TestLookReadsAServerAndItsGroup(t *testing.T) {
	s := lookAt(t, hybridServer())
	p := s.Find(stack.Ref{Kind: "process", Name: "2740"})
	g := s.Find(stack.Ref{Kind: "cgroup", Name: "/plumbsys/inner"})
	if p == nil || g == nil {
		t.Fatalf("found %v", s.Things)
	}
	for fact, want := range map[string]stack.Value{
		"engine": stack.Text("mysql"), "started": stack.Int(950), "uid": stack.Int(105), "user": stack.Text("mysql"),
		"nofile_soft": stack.Int(1024), "rss": stack.Int(1000 << 10), "thp_enabled": stack.Bool(false),
		"own_mounts": stack.Bool(false), "own_network": stack.Bool(true), "exe_deleted": stack.Bool(true),
		"listen":    stack.List([]string{"tcp:127.0.0.1:34991", "unix:/tmp/system/m/my.sock"}),
		"allocator": stack.Text("glibc"), "open_files": stack.Int(4), "processes": stack.Int(1),
	} {
		if got := p.Facts[fact].Value; !got.Equal(want) {
			t.Errorf("%s = %v, want %v", fact, got, want)
		}
	}
	for fact, want := range map[string]stack.Value{
		"memory_limit": stack.Int(536870912), "cpu_limit": stack.Float(0.5), "oom_kills": stack.Int(1),
		"memory_anon": stack.Int(96727040), "swappiness": stack.Int(60), "hierarchy": stack.Int(1),
		"cpu_throttled": stack.Int(2), "cpu_periods": stack.Int(9),
	} {
		if got := g.Facts[fact].Value; !got.Equal(want) {
			t.Errorf("%s = %v, want %v", fact, got, want)
		}
	}
	if f, known := g.Facts["memory_high"]; !known || !f.Value.IsAbsent() {
		t.Errorf("memory_high = %v, %v; want absent", f, known)
	}
}

func TestLookWithoutRootLeavesGapsAndNoZeros(t *testing.T) {
	m := hybridServer()
	m.Errors = map[string]error{}
	for _, what := range []string{"link /proc/2740/ns/mnt", "link /proc/2740/ns/net", "link /proc/2740/exe", "link /proc/2740/fd/0", "file /proc/2740/maps"} {
		m.Errors[what] = &fs.PathError{Op: "read", Path: what, Err: fs.ErrPermission}
	}
	s := lookAt(t, m)
	p := s.Find(stack.Ref{Kind: "process", Name: "2740"})
	for _, fact := range []string{"own_mounts", "own_network", "exe", "listen", "open_files", "allocator", "user"} {
		if _, known := p.Facts[fact]; known {
			t.Errorf("%s is known: %v", fact, p.Facts[fact])
		}
		if g, ok := s.GapFor(p.Ref, fact); !ok || g.Hint != asRoot {
			t.Errorf("gap for %s = %+v, %v", fact, g, ok)
		}
	}
}

func TestPostgresSharesAreAddedUp(t *testing.T) {
	m := hosttest.Map{Files: map[string]string{
		"/proc/10/stat": statLine(10, "postgres", 1), "/proc/11/stat": statLine(11, "postgres", 10),
		"/proc/12/stat": statLine(12, "postgres", 10), "/proc/13/stat": statLine(13, "bash", 1),
		"/proc/10/cmdline":      "postgres\x00-D\x00/srv\x00",
		"/proc/10/status":       "VmRSS:\t 9000 kB\nHugetlbPages:\t 0 kB\n",
		"/proc/10/smaps_rollup": "Rss: 9000 kB\nPss: 1000 kB\nSwapPss: 1 kB\n",
		"/proc/11/smaps_rollup": "Rss: 9000 kB\nPss: 2000 kB\nSwapPss: 0 kB\n",
	}}
	s := lookAt(t, m)
	if n := len(s.OfKind("process")); n != 1 {
		t.Fatalf("%d servers, want 1", n)
	}
	p := s.Find(stack.Ref{Kind: "process", Name: "10"})
	if got, _ := p.Int("rss"); got != 3000<<10 {
		t.Errorf("rss = %d", got)
	}
	if got, _ := p.Int("processes"); got != 3 {
		t.Errorf("processes = %d", got)
	}
	m.Errors = map[string]error{"file /proc/11/smaps_rollup": fs.ErrPermission}
	p = lookAt(t, m).Find(stack.Ref{Kind: "process", Name: "10"})
	if _, known := p.Facts["rss"]; known {
		t.Error("rss is known although one process could not be read")
	}
}

func TestServerUnderTheLoaderIsFound(t *testing.T) {
	m := hosttest.Map{Files: map[string]string{
		"/proc/10/stat":    statLine(10, "ld-linux-x86-64", 1),
		"/proc/10/cmdline": "root/usr/lib64/ld-linux-x86-64.so.2\x00--library-path\x00root/usr/lib\x00root/usr/sbin/mysqld\x00--datadir=/srv\x00",
	}}
	if p := lookAt(t, m).Find(stack.Ref{Kind: "process", Name: "10"}); p == nil || p.Text("engine") != "mysql" {
		t.Errorf("found %v", p)
	}
}

func TestUnifiedLimits(t *testing.T) {
	base := func() map[string]string {
		return map[string]string{
			"/proc/10/stat": statLine(10, "mysqld", 1), "/proc/10/cmdline": "mysqld\x00", "/proc/self/mountinfo": unifiedMounts,
			"/proc/10/cgroup":                                         "0::/system.slice/mysql.service\n",
			"/sys/fs/cgroup/system.slice/memory.max":                  "max\n",
			"/sys/fs/cgroup/system.slice/mysql.service/memory.max":    "8589934592\n",
			"/sys/fs/cgroup/system.slice/mysql.service/cpu.max":       "max 100000\n",
			"/sys/fs/cgroup/system.slice/cpu.max":                     "200000 100000\n",
			"/sys/fs/cgroup/system.slice/mysql.service/cpu.stat":      "usage_usec 9\nnr_periods 0\nnr_throttled 0\n",
			"/sys/fs/cgroup/system.slice/cpu.stat":                    "usage_usec 99\nnr_periods 200\nnr_throttled 40\n",
			"/sys/fs/cgroup/system.slice/mysql.service/memory.stat":   "anon 8192\nfile 12288\nkernel 0\nshmem 4096\n",
			"/sys/fs/cgroup/system.slice/mysql.service/memory.events": "low 0\noom 1\noom_kill 2\n",
		}
	}
	ref := stack.Ref{Kind: "cgroup", Name: "/system.slice/mysql.service"}
	g := lookAt(t, hosttest.Map{Files: base()}).Find(ref)
	if n, _ := g.Int("memory_limit"); n != 8<<30 {
		t.Errorf("memory_limit = %d", n)
	}
	if n, _ := g.Number("cpu_limit"); n != 2 {
		t.Errorf("cpu_limit = %v", n)
	}
	if n, _ := g.Int("oom_kills"); n != 2 {
		t.Errorf("oom_kills = %d", n)
	}
	if n, _ := g.Int("cpu_throttled"); n != 40 {
		t.Errorf("cpu_throttled = %d, want the count of the level above, whose quota is in force", n)
	}
	if n, _ := g.Int("memory_shmem"); n != 4096 {
		t.Errorf("memory_shmem = %d", n)
	}
	if f, known := g.Facts["memory_high"]; !known || !f.Value.IsAbsent() {
		t.Errorf("memory_high = %v, %v; want absent below a real root", f, known)
	}

	// In a container the top that is visible is not the root.
	files := base()
	files["/sys/fs/cgroup/cgroup.events"] = "populated 1\n"
	s := lookAt(t, hosttest.Map{Files: files})
	g = s.Find(ref)
	if _, known := g.Facts["memory_high"]; known {
		t.Error("memory_high is known although groups above are hidden")
	}
	if _, ok := s.GapFor(ref, "memory_high"); !ok {
		t.Error("no gap for memory_high")
	}
}

// TestRootGroupCountsNoKills: that is no gap, because it has no limit either.
func TestRootGroupCountsNoKills(t *testing.T) {
	files := map[string]string{
		"/proc/10/stat": statLine(10, "mysqld", 1), "/proc/10/cmdline": "mysqld\x00", "/proc/self/mountinfo": unifiedMounts, "/proc/10/cgroup": "0::/\n",
		"/sys/fs/cgroup/memory.stat": "anon 8192\nfile 12288\n",
	}
	ref := stack.Ref{Kind: "cgroup", Name: "/"}
	g := lookAt(t, hosttest.Map{Files: files}).Find(ref)
	if f, known := g.Facts["oom_kills"]; !known || !f.Value.IsAbsent() {
		t.Errorf("oom_kills = %v, %v; want absent in the root", f, known)
	}
	files["/sys/fs/cgroup/cgroup.events"] = "populated 1\n" // the top of a container is a group like others
	files["/sys/fs/cgroup/memory.events"] = "oom_kill 2\n"
	g = lookAt(t, hosttest.Map{Files: files}).Find(ref)
	if n, _ := g.Int("oom_kills"); n != 2 {
		t.Errorf("oom_kills = %d in a container", n)
	}
}

func TestGroupOutsideOurNamespaceIsAGap(t *testing.T) {
	s := lookAt(t, hosttest.Map{Files: map[string]string{
		"/proc/10/stat": statLine(10, "mysqld", 1), "/proc/10/cmdline": "mysqld\x00", "/proc/self/mountinfo": unifiedMounts,
		"/proc/10/cgroup": "0::/../other\n",
	}})
	p := s.Find(stack.Ref{Kind: "process", Name: "10"})
	if _, known := p.Links["cgroup"]; known {
		t.Error("the link is known")
	}
	if g, ok := s.GapFor(p.Ref, "cgroup"); !ok || !strings.Contains(g.Why, "outside") {
		t.Errorf("gap = %+v, %v", g, ok)
	}
}

func TestLevels(t *testing.T) {
	got, err := mount{dir: "/sys/fs/cgroup", root: "/docker/abc"}.levels("/docker/abc/db")
	if err != nil || !slices.Equal(got, []string{"/sys/fs/cgroup/db", "/sys/fs/cgroup"}) {
		t.Errorf("levels = %v, %v", got, err)
	}
	if _, err := (mount{dir: "/sys/fs/cgroup", root: "/docker/abc"}).levels("/docker/abcd"); err == nil {
		t.Error("a group beside the mounted one was accepted")
	}
	if _, err := (mount{}).levels("/x"); err == nil {
		t.Error("a tree that is not mounted was accepted")
	}
}

func TestHiddenProcessesAreAGap(t *testing.T) {
	s := lookAt(t, hosttest.Map{Who: host.About{User: "nobody"}, Files: map[string]string{
		"/proc/self/mountinfo": "22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=2\n",
	}})
	if len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Why, "hidepid") {
		t.Errorf("gaps = %+v", s.Gaps)
	}
}

// TestEveryFactIsDeclared keeps the probe and the catalogue together.
func TestEveryFactIsDeclared(t *testing.T) {
	cat := hosttest.Catalog(t)
	for _, thing := range lookAt(t, hybridServer()).Things {
		for name := range thing.Facts {
			if cat.Fact(thing.Ref.Kind, name) == nil {
				t.Errorf("%s has the fact %s, which is not declared", thing.Ref.Kind, name)
			}
		}
	}
}
