package sampler

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
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
	"plumb/internal/storage/filesystem"
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

// picture reads the block devices and filesystems of this machine.
func picture(t testing.TB, h host.Reader) *stack.Stack {
	t.Helper()
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{}
	blocks, err := block.NewProbe(cat).Collect(t.Context(), h, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Add("block", blocks)
	volumes, err := filesystem.Probe{}.Collect(t.Context(), h, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Add("filesystem", volumes)
	return s
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

// known looks every reading up in the catalogue of windows.
func known(t *testing.T, b series.Batch) {
	t.Helper()
	cat, err := catalog.Windows(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.Readings {
		if cat.Fact(r.Of.Kind, r.Name) == nil && cat.Fact(r.Of.Kind, r.Name+"_rate") == nil {
			t.Errorf("%s of a %s is not in the catalogue", r.Name, r.Of.Kind)
		}
	}
}

func write(t *testing.T, to string, count, size string) {
	t.Helper()
	out, err := exec.Command("dd", "if=/dev/zero", "of="+to, "bs="+size, "count="+count, "oflag=direct", "conv=notrunc").CombinedOutput()
	if err != nil {
		t.Fatalf("write to %s: %v\n%s", to, err, out)
	}
}

// TestBlockCountsWhatWasWritten writes to a loop device nobody else has.
func TestBlockCountsWhatWasWritten(t *testing.T) {
	b, h := box(t), live(t)
	device, err := b.Loop("blocks", 16)
	sandbox.Need(t, err)
	of := stack.Ref{Kind: "block", Name: path.Base(device)}
	var source sample.Source
	for _, s := range (Finder{}).Sources(picture(t, h)) {
		if _, ok := s.(blockSource); ok {
			source = s
		}
	}
	if source == nil {
		t.Fatal("block devices have no source")
	}
	before := take(t, source, h)
	write(t, device, "100", "4k")
	after := take(t, source, h)
	known(t, after)
	for name, want := range map[string]float64{"writes": 100, "written_bytes": 409600, "read_ms": 0} {
		got := value(t, after, of, name) - value(t, before, of, name)
		if got != want && !(name == "read_ms" && got >= 0) {
			t.Errorf("%s grew by %g, want %g", name, got, want)
		}
	}
	for _, name := range []string{"in_flight", "reads_in_flight", "writes_in_flight"} {
		if n := value(t, after, of, name); n < 0 || n > 1000 {
			t.Errorf("%s is %g", name, n)
		}
	}
}

// TestDeviceThatIsGone has a device that the machine does not.
func TestDeviceThatIsGone(t *testing.T) {
	b := take(t, blockSource{"block", []string{"plumb-gone"}}, live(t))
	if len(b.Readings) != 0 || len(b.Gaps) != 1 || !strings.Contains(b.Gaps[0].Why, "gone") {
		t.Errorf("readings %v, gaps %v", b.Readings, b.Gaps)
	}
}

// TestSourceOfOtherDevicesHasAnotherName lets the sampler replace it.
func TestSourceOfOtherDevicesHasAnotherName(t *testing.T) {
	with := func(names ...string) string {
		s := &stack.Stack{}
		var o stack.Observation
		for _, n := range names {
			o.New("block", n).Set("layer", stack.Text("disk"), "test")
		}
		s.Add("block", o)
		return Finder{}.Sources(s)[0].Name()
	}
	one, two, again, other := with("sda"), with("sda", "sdb"), with("sda", "sdb"), with("sdb")
	if two != again || one == two || one == other {
		t.Error("names do not tell what is read")
	}
}

// TestFilesystemSpace fills a filesystem, and then mounts another over it: what
// answers there is not taken for the first.
func TestFilesystemSpace(t *testing.T) {
	b, h := box(t), live(t)
	dir, err := b.Filesystem("space", "ext4", 32, []string{"-q"}, "")
	sandbox.Need(t, err)
	s := picture(t, h)
	of := stack.Ref{Kind: "filesystem", Name: dir}
	if s.Find(of) == nil {
		t.Fatalf("%s is not in the picture", of)
	}
	s.Roles = []stack.Role{{Name: "data", Path: dir, PID: os.Getpid(), Placement: stack.Placement{Resolved: dir, Filesystem: of}}}
	source := filesystems(s)[0]
	before := take(t, source, h)
	known(t, before)
	write(t, filepath.Join(dir, "file"), "4", "1M")
	syscall.Sync()
	after := take(t, source, h)
	if grown := value(t, after, of, "used") - value(t, before, of, "used"); grown < 4<<20 || grown > 5<<20 {
		t.Errorf("4 MiB were written, used grew by %g bytes", grown)
	}
	for _, name := range []string{"free", "used_percent", "inodes_free"} {
		value(t, after, of, name)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	hidden := take(t, source, h)
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	if st, err := h.Stat(t.Context(), dir); err == nil && st.MountID == 0 {
		t.Skip("this kernel gives no number of mounts")
	}
	if len(hidden.Readings) != 0 || len(hidden.Gaps) != 1 {
		t.Errorf("another filesystem was read: %v", hidden.Readings)
	}
}

// BenchmarkRound asks all sources of storage that are asked each second.
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
			take(b, s, h)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// cpuTime is the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
