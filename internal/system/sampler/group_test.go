package sampler

import (
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// unifiedHost is typed: control groups of version 2, where a slice above the
// server's group is what limits it.
func unifiedHost() hosttest.Map {
	const db = "/sys/fs/cgroup/db.slice/mariadb.service/"
	return hosttest.Map{Files: map[string]string{
		"/proc/17/cgroup":                  "0::/db.slice/mariadb.service\n",
		"/proc/self/mountinfo":             "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
		db + "cpu.stat":                    "usage_usec 5000\nuser_usec 1\nsystem_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
		db + "io.stat":                     "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=1 rios=1 wios=1\n",
		db + "io.max":                      "",
		db + "io.pressure":                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=30\n",
		db + "memory.current":              "1000\n",
		db + "memory.stat":                 "anon 600\nfile 300\nshmem 0\n",
		db + "memory.events":               "low 0\noom 2\noom_kill 1\n",
		"/sys/fs/cgroup/db.slice/cpu.stat": "usage_usec 9000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250000\n",
		"/sys/fs/cgroup/db.slice/io.stat":  "8:0 rbytes=40960 wbytes=81920 rios=10 wios=20\n8:16 rbytes=9 wbytes=9 rios=9 wios=9\n",
		"/sys/fs/cgroup/db.slice/io.max":   "8:0 rbps=max wbps=max riops=500 wiops=max\n",
		"/sys/fs/cgroup/cpu.stat":          "usage_usec 1\n",
		"/sys/fs/cgroup/io.stat":           "8:0 rbytes=1 wbytes=1 rios=1 wios=1\n",
	}}
}

func TestGroupOfVersion2(t *testing.T) {
	const name = "/db.slice/mariadb.service"
	of := stack.Ref{Kind: "cgroup", Name: name}
	own, above := stack.Ref{Kind: "cgroup_device", Name: name + "@sda"}, stack.Ref{Kind: "cgroup_device", Name: "/db.slice@sda"}
	g := group{of: of, pid: 17, name: "group", devices: map[string]string{"8:0": "sda", "8:16": "sdb"}}
	b, state := take(t, &groupTime{g}, unifiedHost()), take(t, &groupState{g}, unifiedHost())
	known(t, b)
	known(t, state)
	b.Readings = append(b.Readings, state.Readings...)
	for _, want := range []struct {
		of   stack.Ref
		name string
		n    float64
	}{
		{of, "cpu_usage_us", 5000}, {of, "cpu_throttled", 4}, {of, "cpu_throttled_us", 250000}, {of, "cpu_periods", 10},
		{of, "psi_io_some_us", 70}, {of, "psi_io_full_us", 30}, {of, "memory_current", 1000}, {of, "memory_anon", 600},
		{of, "memory_shmem", 0}, {of, "oom_kills", 1},
		{own, "reads", 1}, {own, "writes", 2}, {own, "read_bytes", 4096}, {own, "written_bytes", 8192},
		{above, "reads", 10}, {above, "written_bytes", 81920}, {above, "read_iops_limit", 500},
	} {
		if n := value(t, b, want.of, want.name); n != want.n {
			t.Errorf("%s of %s is %g, want %g", want.name, want.of, n, want.n)
		}
	}
	for _, r := range b.Readings {
		if r.Of.Name == "/db.slice@sdb" || r.Of.Name == "/@sda" {
			t.Errorf("%s, which nothing limits, has %s", r.Of, r.Name)
		}
		if r.Name == "psi_cpu_some_us" || r.Of == own && r.Name == "read_iops_limit" {
			t.Errorf("%s of %s is %g, and nobody said so", r.Name, r.Of, r.Value)
		}
	}
}
