package reaper

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	inside = "PLUMB_REAPED" // the directory of a process that is killed
	loops  = `dd if=/dev/zero of="$0/disk.img" bs=1M count=8 2>/dev/null && loop=$(losetup --find --show "$0/disk.img") && mkfs.ext4 -q "$loop" && mkdir "$0/at" && mount "$loop" "$0/at"`
)

// What a process that is killed has mounted and started is taken away after it, and no directory of another.
func TestReaped(t *testing.T) {
	if dir := os.Getenv(inside); dir != "" {
		killed(t, dir)
	}
	top := t.TempDir()
	dir, other := filepath.Join(top, "plumb-1"), filepath.Join(top, "plumb-12")
	must(t, errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(other, 0o755)))
	c := exec.Command(os.Args[0], "-test.run=^TestReaped$")
	c.Env = append(os.Environ(), inside+"="+dir)
	out, err := c.CombinedOutput()
	if !strings.Contains(string(out), "made") {
		t.Fatalf("%v: %s", err, out)
	}
	left, late := "it", time.Now().Add(time.Minute)
	for ; left != "" && time.Now().Before(late); time.Sleep(50 * time.Millisecond) {
		left = leftOf(t, dir)
	}
	if left != "" {
		t.Errorf("left: %s", left)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another one's: %v", err)
	}
}

// leftOf tells what is left of a directory, and of what was in it.
func leftOf(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `[ ! -e "$0" ] || echo "$0"
grep -F " $0/" /proc/self/mountinfo
losetup --list --noheadings --output BACK-FILE | grep -F "$0/"
for p in /proc/[0-9]*; do readlink "$p/cwd"; done | grep -F "$0/"
true`, dir).Output()
	must(t, err)
	return string(out)
}

// killed makes what it can here, and is killed.
func killed(t *testing.T, dir string) {
	gone := filepath.Join(dir, "gone")
	must(t, errors.Join(os.Mkdir(gone, 0o755), Mind(gone), os.Remove(gone))) // what no longer exists is nobody's
	must(t, Mind(dir))
	sleep := exec.Command("sleep", "600")
	sleep.Dir = filepath.Join(dir, "in")
	must(t, errors.Join(os.Mkdir(sleep.Dir, 0o755), sleep.Start()))
	made := "made"
	if os.Geteuid() == 0 && exec.Command("sh", "-c", loops, dir).Run() == nil {
		made = "made a mount"
	}
	_, err := os.Stdout.WriteString(made + "\n")
	must(t, err)
	self, err := os.FindProcess(os.Getpid())
	must(t, err)
	must(t, self.Kill())
	time.Sleep(time.Minute)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
