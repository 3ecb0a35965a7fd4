package swap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/test/sandbox"
)

// mounted is a data directory that is a filesystem of its own, and what was kept of it.
type mounted struct {
	*testing.T
	dir, data, kept string
}

func newMounted(t *testing.T) mounted {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	dir := t.TempDir()
	m := mounted{t, dir, filepath.Join(dir, "db"), filepath.Join(dir, "db.before-11.8")}
	if err := os.Mkdir(m.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "plumb-test", m.data).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", m.data).Run() })
	return m
}

// fill puts files of a word into a directory.
func (m mounted) fill(dir, word string) {
	m.Helper()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, "shop"), 0o700); err != nil {
			m.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "shop", name), []byte(word), 0o600); err != nil {
			m.Fatal(err)
		}
	}
}

// has tells whether a directory has all files of a word.
func (m mounted) has(dir, word string) bool {
	for _, name := range []string{"a", "b", "c"} {
		if text, err := os.ReadFile(filepath.Join(dir, "shop", name)); err != nil || string(text) != word {
			return false
		}
	}
	return true
}

// back runs the script, with programs of a directory before the system's.
func (m mounted) back(programs string) (string, error) {
	argv := change.LongScript(putBack, m.dir, "0", "0", m.data, m.kept, "db.since-11.8").Argv
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	return string(out), err
}

// Killed while it removes what was kept, which is copied by then, the next run takes the rest of that for nothing.
func TestKilledAtItsEndTheWayBackIsWhole(t *testing.T) {
	m := newMounted(t)
	m.fill(m.data, "new")
	m.fill(m.kept, "old")
	programs := t.TempDir()
	kills := "#!/bin/sh\nfor a; do case $a in *db.before*) if [ -e \"$a/shop/a\" ]; then /bin/rm \"$a/shop/a\"; kill -KILL $$; fi ;; esac; done\nexec /bin/rm \"$@\"\n"
	if err := os.WriteFile(filepath.Join(programs, "rm"), []byte(kills), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := m.back(programs); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	if out, err := m.back(programs); err != nil || !m.has(m.data, "old") || !m.has(filepath.Join(m.data, ".db.since-11.8"), "new") {
		t.Errorf("the data of before are whole: %v, those since: %v; %v: %s", m.has(m.data, "old"), m.has(filepath.Join(m.data, ".db.since-11.8"), "new"), err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(m.dir, "*before*")); left != nil {
		t.Errorf("%v is left", left)
	}
	if left, _ := filepath.Glob(filepath.Join(m.dir, ".db*")); left != nil {
		t.Errorf("%v is left", left)
	}
}

// What an earlier way back has put aside is not taken for the present one's: what was written since is not removed on its account.
func TestASecondWayBackKeepsWhatWasWritten(t *testing.T) {
	m := newMounted(t)
	for _, word := range []string{"first", "second"} {
		m.fill(m.data, word)
		m.fill(m.kept, "old")
		out, err := m.back("/nonexistent")
		if word == "first" && (err != nil || !m.has(m.data, "old")) {
			t.Fatalf("%v: %s", err, out)
		}
		if word == "second" && (err == nil || !strings.Contains(out, "from an earlier way back") || !m.has(m.data, "second") || !m.has(m.kept, "old")) {
			t.Errorf("the data written since are there: %v; %v: %s", m.has(m.data, "second"), err, out)
		}
	}
	if err := os.Rename(filepath.Join(m.data, ".db.since-11.8"), filepath.Join(m.data, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if out, err := m.back("/nonexistent"); err != nil || !m.has(m.data, "old") || !m.has(filepath.Join(m.data, ".db.since-11.8"), "second") {
		t.Errorf("moved away: %v: %s", err, out)
	}
}

// While a server runs in the data directory, nothing is put in its place.
func TestNothingIsPutBackUnderAServer(t *testing.T) {
	m := newMounted(t)
	m.fill(m.data, "new")
	m.fill(m.kept, "old")
	pid, hasty, end := sandbox.Busy(t, m.data)
	out, err := m.back(hasty)
	if err == nil || !strings.Contains(out, fmt.Sprintf("process %d runs in %s", pid, m.data)) || !m.has(m.data, "new") || !m.has(m.kept, "old") {
		t.Errorf("%v: %s", err, out)
	}
	end()
	if out, err := m.back(hasty); err != nil || !m.has(m.data, "old") {
		t.Errorf("once it is gone: %v: %s", err, out)
	}
}
