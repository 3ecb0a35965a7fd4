package sampler

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/system/process"
	"plumb/knowledge"
	"plumb/test/sandbox"
)

func live(t testing.TB) *host.Live {
	h := host.NewLive(host.LiveOptions{})
	t.Cleanup(func() { h.Close() })
	return h
}

func box(t *testing.T) *sandbox.Box {
	t.Helper()
	b, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func take(t testing.TB, s sample.Source, h host.Reader) series.Batch {
	t.Helper()
	b, err := s.Take(t.Context(), h)
	if err != nil {
		t.Fatalf("%s: %v", s.Name(), err)
	}
	return b
}

// value gives one reading of a batch.
func value(t testing.TB, b series.Batch, of stack.Ref, name string) float64 {
	t.Helper()
	for _, r := range b.Readings {
		if r.Of == of && r.Name == name {
			return r.Value
		}
	}
	t.Fatalf("no %s of %s; gaps: %v", name, of, b.Gaps)
	return 0
}

// known looks every reading and every gap up in the catalogue of windows.
func known(t *testing.T, b series.Batch) {
	t.Helper()
	cat, err := catalog.Windows(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	is := func(of stack.Ref, name string) bool {
		return cat.Fact(of.Kind, name) != nil || cat.Fact(of.Kind, name+"_rate") != nil
	}
	for _, r := range b.Readings {
		if !is(r.Of, r.Name) {
			t.Errorf("%s of a %s is not in the catalogue", r.Name, r.Of.Kind)
		}
	}
	for _, g := range b.Gaps {
		if g.Name != "" && g.Name != "devices" && !is(g.Of, g.Name) {
			t.Errorf("a gap about %s of a %s, which is not in the catalogue", g.Name, g.Of.Kind)
		}
	}
}

var machine = stack.Ref{Kind: "host", Name: "here"}

// TestKernelAddsUpToTheTime compares the time of all processors with the clock.
func TestKernelAddsUpToTheTime(t *testing.T) {
	t.Parallel()
	h := live(t)
	s := kernelSource{of: machine, page: int64(os.Getpagesize())}
	before, began := take(t, s, h), time.Now()
	time.Sleep(time.Second)
	after, elapsed := take(t, s, h), time.Since(began)
	known(t, after)
	sum := 0.0
	for _, name := range []string{"cpu_user_ms", "cpu_system_ms", "cpu_iowait_ms", "cpu_idle_ms", "cpu_steal_ms"} {
		sum += value(t, after, machine, name) - value(t, before, machine, name)
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	cpus := strings.Count(string(text), "\ncpu")
	if each := sum / float64(cpus) / float64(elapsed.Milliseconds()); each < 0.5 || each > 1.5 {
		t.Errorf("%d processors had %.0f ms each in %s", cpus, sum/float64(cpus), elapsed)
	}
	for name, least := range map[string]float64{"context_switches": 1, "tasks_running": 1, "memory_available": 1 << 20, "page_cache": 1, "dirty_limit": 1 << 20, "pages_dirtied": 1, "swap_used": 0} {
		if n := value(t, after, machine, name); n < least {
			t.Errorf("%s is %g", name, n)
		}
	}
	for _, name := range allStalls() {
		if _, err := os.Stat("/proc/pressure/cpu"); err == nil && value(t, after, machine, name) < value(t, before, machine, name) {
			t.Errorf("%s went back", name)
		}
	}
}

// TestServerOfManyProcesses asks PostgreSQL for work in a session that then
// ends: its time is not lost, and the sum does not fall.
func TestServerOfManyProcesses(t *testing.T) {
	t.Parallel()
	server, err := box(t).Postgres(sandbox.PostgresOptions{})
	sandbox.Need(t, err)
	h := live(t)
	of := stack.Ref{Kind: "process", Name: strconv.Itoa(server.PID)}
	m := member{of: of, pid: server.PID, many: true}
	clock, io := &processTime{member: m}, &processIO{member: m}
	if _, err := m.children(t.Context(), h); err != nil {
		t.Skip(err) // a kernel without the list of children
	}
	before := take(t, clock, h)
	beforeIO := take(t, io, h)
	started := time.Now()
	for _, statement := range []string{"CREATE TABLE t AS SELECT g, repeat('x', 500) FROM generate_series(1, 40000) g", "CHECKPOINT", "SELECT count(*) FROM generate_series(1, 2000000)"} {
		if err := server.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	last := value(t, before, of, "cpu_user_ms")
	for range 20 {
		now := value(t, take(t, clock, h), of, "cpu_user_ms")
		if now < last {
			t.Fatalf("the processor time fell from %g to %g ms", last, now)
		}
		last = now
		time.Sleep(20 * time.Millisecond)
	}
	used := last - value(t, before, of, "cpu_user_ms")
	if most := float64(4 * time.Since(started).Milliseconds()); used < 100 || used > most {
		t.Errorf("the server used %g ms of processors, want between 100 and %g", used, most)
	}
	after := take(t, io, h)
	known(t, after)
	if wrote := value(t, after, of, "written_bytes") - value(t, beforeIO, of, "written_bytes"); wrote < 10<<20 {
		t.Errorf("it wrote %g bytes, want 10 MiB and more", wrote)
	}
	if n := value(t, after, of, "threads"); n < 4 {
		t.Errorf("it has %g threads", n)
	}
}

// TestServerThatEnded is an error, and no zero.
func TestServerThatEnded(t *testing.T) {
	m := member{of: stack.Ref{Kind: "process", Name: "0"}, pid: 1 << 30}
	for _, s := range []sample.Source{&processTime{member: m}, &processIO{member: m}, &groupTime{group{pid: 1 << 30}}} {
		if b, err := s.Take(t.Context(), live(t)); err == nil || len(b.Readings) > 0 {
			t.Errorf("%s: %v, %v", s.Name(), b.Readings, err)
		}
	}
}

// limited makes a control group that may do so many writes a second on a device.
func limited(t *testing.T, b *sandbox.Box, dev string, writes int) (join string) {
	t.Helper()
	dir, file, text := "/sys/fs/cgroup/blkio", "blkio.throttle.write_iops_device", fmt.Sprintf("%s %d", dev, writes)
	if _, err := os.Stat(dir); err != nil {
		dir, file, text = "/sys/fs/cgroup", "io.max", fmt.Sprintf("%s wiops=%d", dev, writes)
	}
	dir += fmt.Sprintf("/plumb-sampler-%d", os.Getpid())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("cannot make a control group: %v", err)
	}
	t.Cleanup(func() {
		for range 100 { // a process that was killed leaves it a moment later
			if err := os.Remove(dir); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s could not be removed", dir)
	})
	if err := os.WriteFile(dir+"/"+file, []byte(text), 0); err != nil {
		t.Skipf("cannot limit a device: %v", err)
	}
	return dir + "/cgroup.procs"
}

// TestGroupWithALimit has a process that writes as much as its group may.
func TestGroupWithALimit(t *testing.T) {
	t.Parallel()
	b, h := box(t), live(t)
	device, err := b.Loop("limited", 16)
	sandbox.Need(t, err)
	name := strings.TrimPrefix(device, "/dev/")
	number, err := os.ReadFile("/sys/class/block/" + name + "/dev")
	if err != nil {
		t.Fatal(err)
	}
	const most = 40
	join := limited(t, b, strings.TrimSpace(string(number)), most)
	script := fmt.Sprintf("echo $$ > %s && exec dd if=/dev/zero of=%s bs=4k count=4000 oflag=direct conv=notrunc", join, device)
	cmd := exec.Command("sh", "-c", script)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	of := stack.Ref{Kind: "cgroup", Name: "/plumb/test"}
	g := group{of: of, pid: cmd.Process.Pid, name: "group", devices: map[string]string{strings.TrimSpace(string(number)): name}}
	at := stack.Ref{Kind: "cgroup_device", Name: of.Name + "@" + name}
	clock, state := &groupTime{g}, &groupState{g}
	for !strings.Contains(membership(t, cmd.Process.Pid), "plumb-sampler") {
		time.Sleep(10 * time.Millisecond)
	}
	limits := take(t, state, h)
	known(t, limits)
	if n := value(t, limits, at, "write_iops_limit"); n != most {
		t.Errorf("the limit is %g, want %d", n, most)
	}
	for _, r := range limits.Readings {
		if r.Of == at && r.Name != "write_iops_limit" {
			t.Errorf("%s is %g and was not set", r.Name, r.Value)
		}
	}
	time.Sleep(300 * time.Millisecond)
	before, began := take(t, clock, h), time.Now()
	time.Sleep(2 * time.Second)
	after, elapsed := take(t, clock, h), time.Since(began)
	known(t, after)
	rate := (value(t, after, at, "writes") - value(t, before, at, "writes")) / elapsed.Seconds()
	if rate < most/2 || rate > 1.5*most {
		t.Errorf("%.1f writes a second were counted, the limit is %d", rate, most)
	}
}

func membership(t *testing.T, pid int) string {
	data, err := os.ReadFile(file(pid, "cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// picture reads the servers, groups and devices of this machine.
func picture(t testing.TB, h host.Reader) *stack.Stack {
	t.Helper()
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{}
	var o stack.Observation
	o.New("host", "here").Set("page_size", stack.Int(4096), "test")
	s.Add("kernel", o)
	blocks, err := block.NewProbe(cat).Collect(t.Context(), h, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Add("block", blocks)
	servers, err := process.Probe{}.Collect(t.Context(), h, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Add("process", servers)
	return s
}

// BenchmarkRound asks all sources of the system that are asked each second, with
// the servers that run on this machine.
func BenchmarkRound(b *testing.B) {
	h := live(b)
	var every []sample.Source
	for _, s := range (Finder{}).Sources(picture(b, h)) {
		if s.Every() == time.Second {
			every = append(every, s)
		}
	}
	before := cpuTime(b)
	for b.Loop() {
		for _, s := range every {
			if _, err := s.Take(b.Context(), h); err != nil {
				b.Log(err) // a server that ended
			}
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(len(every)), "sources")
}

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
