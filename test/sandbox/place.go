package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Place makes a directory on a disk in which plumb makes its labs, and takes
// it away at the end of the test. The servers' user can reach it.
func Place(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "plumb-test-")
	Need(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	Need(t, os.Chmod(dir, 0o755))
	return dir
}

// NothingLeft wants that nothing of the labs in a place is in use any more,
// that neither they nor their books in a directory are there, and nothing more
// that the caller found.
func NothingLeft(t testing.TB, place, state string, more ...string) {
	t.Helper()
	for what, argv := range map[string][]string{
		"mount": {"cat", "/proc/mounts"}, "loop device": {"losetup", "-a"}, "process": {"ps", "-eo", "args"},
	} {
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		Need(t, err)
		for line := range strings.Lines(string(out)) {
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
