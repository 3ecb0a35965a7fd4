package vm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLineFilesAndThrottle runs a line that fails: its code, its output, its
// files and the limit of the disk are as asked.
func TestLineFilesAndThrottle(t *testing.T) {
	m := Open(t, Trixie)
	in, out := filepath.Join(t.TempDir(), "hello"), t.TempDir()
	write(t, in, "hello from outside\n", 0o644)
	r, err := m.Run(t.Context(), Script{In: []string{in}, Out: out,
		Disks: []Disk{{Name: "data", Bytes: 64 << 20, IOPS: 100}},
		Line: `cat /in/hello
mkdir /out/dir; echo text >/out/dir/text
a=$(date +%s%N)
dd if=/dev/zero of="$DISK_data" bs=4k count=300 oflag=direct 2>/dev/null
b=$(date +%s%N)
echo took $(( (b - a) / 1000000 ))
ls /dev/disk/by-id/virtio-data
exit 7`})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("booted in %v, all took %v\n%s", r.Boot, r.Took, r.Output)
	text := string(r.Output)
	if r.Code != 7 || !strings.HasPrefix(text, "hello from outside\n") || !strings.Contains(text, "/dev/disk/by-id/virtio-data\n") {
		t.Errorf("code %d, output %q", r.Code, text)
	}
	_, took, _ := strings.Cut(text, "took ")
	took, _, _ = strings.Cut(took, "\n")
	if ms, err := strconv.Atoi(took); err != nil || ms < 2500 {
		t.Errorf("300 writes at 100 a second took %q ms", took)
	}
	if got, err := os.ReadFile(filepath.Join(out, "dir/text")); string(got) != "text\n" {
		t.Errorf("brought back %q, %v", got, err)
	}
}

// watcher calls once it has seen a word.
type watcher struct {
	word string
	call func()
	seen string
}

func (w *watcher) Write(p []byte) (int, error) {
	w.seen += string(p)
	if w.call != nil && strings.Contains(w.seen, w.word) {
		w.call()
		w.call = nil
	}
	return len(p), nil
}

// TestCutLeavesTheDiskAndNoProcess cuts the power amid writes to a logged disk.
func TestCutLeavesTheDiskAndNoProcess(t *testing.T) {
	m := Open(t, Trixie)
	dir := t.TempDir()
	disk := Disk{Name: "data", Bytes: 64 << 20, File: filepath.Join(dir, "disk"), Log: filepath.Join(dir, "log")}
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	r, err := m.Run(ctx, Script{Disks: []Disk{disk}, Live: &watcher{word: "written", call: cut},
		Line: `printf marker >/tmp/x; dd if=/tmp/x of="$DISK_data" conv=fsync,notrunc 2>/dev/null; echo written; sleep 600`})
	if !errors.Is(err, context.Canceled) || r.Code != -1 || !strings.Contains(string(r.Output), "written") {
		t.Fatalf("ended with %v, code %d, %q", err, r.Code, r.Output)
	}
	if head := headOf(t, disk.File); !strings.HasPrefix(head, "marker") {
		t.Errorf("the disk begins with %q", head)
	}
	if head := headOf(t, disk.Log); !strings.HasPrefix(head, "rhswfsj\x00") { // 0x6a736677736872, little-endian
		t.Errorf("the log begins with %q", head)
	}
	noProcess(t, disk.File)
}

func TestDeadlineEndsARun(t *testing.T) {
	m := Open(t, Trixie)
	disk := Disk{Name: "data", Bytes: 64 << 20, File: filepath.Join(t.TempDir(), "disk")}
	start := time.Now()
	_, err := m.Run(t.Context(), Script{Disks: []Disk{disk}, Line: "sleep 600", Deadline: 15 * time.Second})
	if !errors.Is(err, errDeadline) || time.Since(start) > 40*time.Second {
		t.Errorf("ended after %v with %v", time.Since(start), err)
	}
	noProcess(t, disk.File)
}

// TestPanicIsNoResult has the kernel crash.
func TestPanicIsNoResult(t *testing.T) {
	m := Open(t, Trixie)
	r, err := m.Run(t.Context(), Script{Line: "echo before; sleep 1; echo c >/proc/sysrq-trigger; sleep 60"})
	if !errors.Is(err, ErrDown) || r.Code != -1 || !strings.Contains(r.Console, "panic") {
		t.Errorf("ended with %v, code %d", err, r.Code)
	}
}

func headOf(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 16)
	n, _ := f.Read(b)
	return string(b[:n])
}

// noProcess wants no process that has a file on its command line.
func noProcess(t *testing.T, file string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), file) {
			t.Errorf("%s is left: %q", name, text)
		}
	}
}
