package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/test/reaper"
)

// Place makes a directory on a disk in which plumb makes its labs, and takes
// it away at the end of the test. The servers' user can reach it.
func Place(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "plumb-test-")
	Need(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	Need(t, errors.Join(reaper.Mind(dir), os.Chmod(dir, 0o755)))
	NeedMount(t, dir)
	return dir
}

// Directory makes a directory on a disk for what root keeps of a test, such as plumb's state: nobody else can write to the path to it.
// It is taken away at the end.
func Directory(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "plumb-test-"+name+"-")
	Need(t, err)
	t.Cleanup(func() { Need(t, os.RemoveAll(dir)) })
	Need(t, errors.Join(reaper.Mind(dir), os.Chmod(dir, 0o711)))
	return dir
}

// RootBtrfs makes a btrfs on a loop device, and mounts it where nobody but root can change the path to it: the box
// itself is the servers'.
func (b *Box) RootBtrfs(t testing.TB, name string, megabytes int) string {
	t.Helper()
	top, err := b.Filesystem(name, "btrfs", megabytes, nil, "")
	Need(t, err)
	place, err := os.MkdirTemp("/var/tmp", "plumb-test-")
	Need(t, err)
	b.OnClose(func() error { return os.RemoveAll(place) }) // after it is unmounted, which a test's cleanup would not wait for
	Need(t, errors.Join(reaper.Mind(place), os.Chmod(place, 0o755)))
	dir := filepath.Join(place, name)
	Need(t, os.Mkdir(dir, 0o755))
	_, err = output(exec.Command("mount", "--bind", top, dir))
	Need(t, err)
	b.OnClose(func() error { return insist("umount", dir) })
	Need(t, os.Chown(dir, 0, 0))
	Need(t, os.Chmod(dir, 0o755))
	return dir
}

// commandLines gives those of all processes, a line each.
func commandLines() string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var all strings.Builder
	for _, name := range files {
		text, _ := os.ReadFile(name) // one that has ended has none
		all.WriteString(strings.ReplaceAll(string(text), "\x00", " ") + "\n")
	}
	return all.String()
}

// NothingLeft wants that nothing of the labs in a place is in use any more,
// that neither they nor their books in a directory are there, and nothing more
// that the caller found.
func NothingLeft(t testing.TB, place, state string, more ...string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/mounts")
	Need(t, err)
	loops, err := exec.Command("losetup", "-a").Output()
	Need(t, err)
	for what, list := range map[string]string{"mount": string(mounts), "loop device": string(loops), "process": commandLines()} {
		for line := range strings.Lines(list) {
			if strings.Contains(line, place+"/plumb-lab") {
				t.Errorf("a %s is left: %s", what, line)
			}
		}
	}
	dirs, _ := filepath.Glob(place + "/plumb-lab-*")
	books, _ := filepath.Glob(state + "/*.book")
	for _, name := range slices.Concat(dirs, books, more) {
		t.Errorf("left: %s", name)
	}
}
