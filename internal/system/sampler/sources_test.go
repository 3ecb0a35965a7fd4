package sampler

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// picture is a host with one server in a control group, on one disk.
func picture(engine string) *stack.Stack {
	var see stack.Observation
	see.New("host", "h").Set("page_size", stack.Int(4096), "test")
	p := see.New("process", "12")
	p.Set("engine", stack.Text(engine), "test")
	group := stack.Ref{Kind: "cgroup", Name: "/system.slice/db.service"}
	p.Link("cgroup", group)
	see.New(group.Kind, group.Name)
	disk := see.New("block", "sda")
	disk.Set("dev", stack.Text("8:0"), "test")
	see.New("block", "sdb").Set("dev", stack.Text("8:16"), "test")
	see.New("filesystem", "/db").Link("block", disk.Ref)
	see.Roles = []stack.Role{{DB: see.New(engine, "db").Ref, Name: "data", Path: "/db", PID: 12, Placement: stack.Placement{Resolved: "/db", Filesystem: stack.Ref{Kind: "filesystem", Name: "/db"}}}}
	s := &stack.Stack{}
	s.Add("test", see)
	return s
}

func take(t *testing.T, files map[string]string, s *stack.Stack, name string) (series.Batch, error) {
	t.Helper()
	all := Finder{}.Sources(s)
	i := slices.IndexFunc(all, func(x sample.Source) bool { return x.Name() == name })
	if i < 0 {
		t.Fatalf("no source %q", name)
	}
	return all[i].Take(context.Background(), hosttest.Map{Files: files})
}

func values(b series.Batch) map[string]float64 {
	out := map[string]float64{}
	for _, r := range b.Readings {
		out[r.Of.String()+" "+r.Name] = r.Value
	}
	return out
}

// TestGroupsAbove: in version 2 the limit of a group above holds too, and what
// counts for it is all that is done below. The files are typed from the
// kernel's documentation; this machine has version 1.
func TestGroupsAbove(t *testing.T) {
	const top = "/sys/fs/cgroup"
	files := map[string]string{
		"/proc/self/mountinfo":                          "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"/proc/12/cgroup":                               "0::/system.slice/db.service\n",
		top + "/cpu.stat":                               "usage_usec 9\n",
		top + "/system.slice/cpu.stat":                  "usage_usec 8\nnr_periods 10\nnr_throttled 5\nthrottled_usec 500\n",
		top + "/system.slice/db.service/cpu.stat":       "usage_usec 7\nnr_periods 10\nnr_throttled 0\nthrottled_usec 0\n",
		top + "/system.slice/db.service/io.pressure":    "some avg10=0 total=11\nfull avg10=0 total=12\n",
		top + "/system.slice/db.service/io.stat":        "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n8:16 rbytes=5\n",
		top + "/system.slice/db.service/io.max":         "",
		top + "/system.slice/io.stat":                   "8:0 rbytes=10 wbytes=20 rios=30 wios=40\n",
		top + "/system.slice/io.max":                    "8:0 rbps=max wbps=max riops=500 wiops=max\n",
		top + "/io.stat":                                "8:0 rbytes=100\n",
		top + "/system.slice/db.service/memory.stat":    "anon 5\nfile 6\nshmem 1\n",
		top + "/system.slice/db.service/memory.current": "11\n",
	}
	b, err := take(t, files, picture(product.MySQL), "cgroup /system.slice/db.service")
	if err != nil {
		t.Fatal(err)
	}
	got := values(b)
	group, own, above := "cgroup:/system.slice/db.service ", "cgroup_device:/system.slice/db.service@sda ", "cgroup_device:/system.slice@sda "
	for name, want := range map[string]float64{group + "cpu_usage_us": 7, group + "cpu_throttled_us": 500, group + "cpu_throttled": 5, group + "psi_io_some_us": 11,
		group + "psi_io_full_us": 12, own + "writes": 4, own + "read_bytes": 1, above + "reads": 30, above + "written_bytes": 20} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s = %v %v, want %v", name, v, ok, want)
		}
	}
	for name := range got {
		if strings.Contains(name, "sdb") || strings.Contains(name, "cgroup_device:/@") {
			t.Errorf("%s was read", name)
		}
	}
	b, err = take(t, files, picture(product.MySQL), "cgroup /system.slice/db.service limits")
	if err != nil {
		t.Fatal(err)
	}
	if got := values(b); got[above+"read_iops_limit"] != 500 || got[group+"memory_current"] != 11 || len(got) != 5 {
		t.Errorf("limits: %v", got)
	}
}

func statLine(pid int, comm string, user, ended int) string {
	return fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 1 0 5 0 10 0\n", pid, comm, user, ended)
}

// TestOneServerOfManyProcesses adds up what runs and what has ended, and says
// so when another program has the number now.
func TestOneServerOfManyProcesses(t *testing.T) {
	files := map[string]string{
		"/proc/12/stat": statLine(12, "postgres", 5, 100), "/proc/12/task/12/children": "13 14 15 ",
		"/proc/13/stat": statLine(13, "postgres", 7, 0), "/proc/14/stat": statLine(14, "sh\n(x)", 1, 2), // 15 has ended
	}
	b, err := take(t, files, picture(product.Postgres), "process 12")
	if got := values(b); err != nil || got["process:12 cpu_user_ms"] != 1150 {
		t.Errorf("got %v, %v", got, err)
	}
	files["/proc/12/stat"] = statLine(12, "bash", 1, 0)
	if b, err := take(t, files, picture(product.Postgres), "process 12"); err == nil || len(b.Readings) != 0 {
		t.Errorf("another program was taken for the server: %v", b)
	}
	delete(files, "/proc/12/stat")
	if _, err := take(t, files, picture(product.Postgres), "process 12"); !gone(err) {
		t.Errorf("of a process that is gone: %v", err)
	}
}

// TestManyProcesses: the time of more than are read each second is told every
// ten, and that of still more not at all.
func TestManyProcesses(t *testing.T) {
	files := map[string]string{"/proc/12/stat": statLine(12, "postgres", 5, 0), "/proc/12/task/12/children": strings.Repeat("13 ", maxFast+1),
		"/proc/13/stat": statLine(13, "postgres", 1, 0)}
	b, err := take(t, files, picture(product.Postgres), "process 12")
	if err != nil || len(b.Readings) != 0 || len(b.Gaps) != 0 {
		t.Errorf("each second: %+v, %v", b, err)
	}
	b, err = take(t, files, picture(product.Postgres), "process 12 I/O")
	if got := values(b); err != nil || got["process:12 cpu_user_ms"] != 10*(5+maxFast+1) {
		t.Errorf("every ten: %v, %v", got, err)
	}
	files["/proc/12/task/12/children"] = strings.Repeat("13 ", maxSlow+1)
	if b, err := take(t, files, picture(product.Postgres), "process 12 I/O"); err == nil || len(b.Readings) != 0 {
		t.Errorf("too many: %+v", b)
	}
}

// TestTimeDoesNotFall: a process that has ended and was not waited for is
// counted by none, until the first one knows of it. Another server under the
// same number begins anew.
func TestTimeDoesNotFall(t *testing.T) {
	all := Finder{}.Sources(picture(product.Postgres))
	source := all[slices.IndexFunc(all, func(x sample.Source) bool { return x.Name() == "process 12" })]
	const children = "/proc/12/task/12/children"
	for i, step := range []struct {
		files map[string]string
		want  float64
	}{
		{map[string]string{"/proc/12/stat": statLine(12, "postgres", 5, 0), children: "13 ", "/proc/13/stat": statLine(13, "postgres", 70, 0)}, 750},
		{map[string]string{"/proc/12/stat": statLine(12, "postgres", 5, 0), children: ""}, 750},
		{map[string]string{"/proc/12/stat": statLine(12, "postgres", 5, 71), children: ""}, 760},
		{map[string]string{"/proc/12/stat": strings.Replace(statLine(12, "postgres", 2, 0), " 1 0 5 0 10", " 1 0 9 0 10", 1), children: ""}, 20},
	} {
		b, err := source.Take(t.Context(), hosttest.Map{Files: step.files})
		if got := values(b)["process:12 cpu_user_ms"]; err != nil || got != step.want {
			t.Errorf("step %d: %g, %v; want %g", i, got, err, step.want)
		}
	}
}

// TestMost keeps those that moved most.
func TestMost(t *testing.T) {
	var all []moved
	for i := range 200 {
		all = append(all, moved{pid: i + 1, grown: int64(i)})
	}
	if got := most(all); len(got) != maxOthers || got[0].pid != 200 || got[maxOthers-1].pid != 137 {
		t.Errorf("%d, first %v", len(got), got[0])
	}
}

// TestNoPressure: a kernel that does not account it is a gap with what to do.
func TestNoPressure(t *testing.T) {
	b, err := take(t, map[string]string{"/proc/stat": statText}, picture(product.MySQL), "kernel")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, g := range b.Gaps {
		found = found || g.Name == "psi_io_some_us" && strings.Contains(g.Hint, "psi=1")
	}
	if !found || values(b)["host:h cpu_user_ms"] != 10200 {
		t.Errorf("%+v", b)
	}
	if !gone(fs.ErrNotExist) {
		t.Error("what is not there is not gone")
	}
}
