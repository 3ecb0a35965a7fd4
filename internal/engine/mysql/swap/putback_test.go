package swap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
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

// fill puts files of a word into a directory, and of data what tells them from a log.
func (m mounted) fill(dir, word string) {
	m.Helper()
	if dir == m.data || dir == m.kept {
		if err := os.MkdirAll(filepath.Join(dir, "mysql"), 0o700); err != nil {
			m.Fatal(err)
		}
	}
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
	if left, _ := filepath.Glob(filepath.Join(m.dir, "*before-11.8")); left != nil {
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

// Where what was kept is gone, as with the filesystem that it lies on, nothing is done: the packages of before must not come to the
// data of the newer server. What is back is known by more than that.
func TestWithoutWhatWasKeptThereIsNoWayBack(t *testing.T) {
	for _, mounted := range []bool{true, false} {
		m := newMounted(t)
		if !mounted {
			m.data = filepath.Join(m.dir, "plain")
		}
		m.fill(m.data, "new")
		if out, err := m.back("/nonexistent"); err == nil || !strings.Contains(out, m.kept+", with the data of before, is not there") || !m.has(m.data, "new") {
			t.Errorf("%v: %s", err, out)
		}
		m.fill(m.kept, "old")
		for range 2 {
			if out, err := m.back("/nonexistent"); err != nil || !m.has(m.data, "old") {
				t.Errorf("%v: %s", err, out)
			}
		}
		// The next swap keeps the data of another day.
		for _, left := range []string{filepath.Join(m.data, ".db.since-11.8"), filepath.Join(m.dir, "db.since-11.8")} {
			if err := os.RemoveAll(left); err != nil {
				t.Fatal(err)
			}
		}
		m.fill(m.data, "newer")
		m.fill(m.kept, "later")
		if out, err := m.back("/nonexistent"); err != nil || !m.has(m.data, "later") {
			t.Errorf("of the next swap: %v: %s", err, out)
		}
	}
}

// In the place of data that are not mounted nothing is put: they would lie over it the next day.
func TestNothingIsPutInThePlaceOfWhatIsNotMounted(t *testing.T) {
	m := newMounted(t)
	m.fill(m.data, "new")
	m.fill(m.kept, "old")
	for _, c := range [][]string{{"umount", m.data}, {"rmdir", m.data}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", c, out)
		}
		if out, err := m.back("/nonexistent"); err == nil || !strings.Contains(out, m.data+", with what was written since, is empty or not there") || !m.has(m.kept, "old") {
			t.Errorf("%v: %v: %s", c, err, out)
		}
	}
	m.fill(m.data, "new")
	if out, err := m.back("/nonexistent"); err != nil || !m.has(m.data, "old") {
		t.Errorf("there again: %v: %s", err, out)
	}
}

// Before the server is stopped, the way back is refused while something of what was kept is not there.
func TestWhatWasKeptIsLookedFor(t *testing.T) {
	dir := t.TempDir()
	n := next{server: server{places: []place{{kept: filepath.Join(dir, "a", "db [1].before")}, {kept: filepath.Join(dir, "a", "log.before")}, {kept: filepath.Join(dir, "b", "undo.before")}}}}
	still := n.start().Switch.Still.And
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	for i := range n.places {
		if err := os.MkdirAll(n.places[i].kept, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	looks := func() string {
		out, err := live.Output(t.Context(), still.Inspect.Argv...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if got := looks(); got != still.State {
		t.Errorf("all are there, and it finds %q in place of %q", got, still.State)
	}
	for _, p := range n.places {
		if err := os.Rename(p.kept, p.kept+"-away"); err != nil {
			t.Fatal(err)
		}
		if got := looks(); got == still.State || !strings.Contains(still.Hint, p.kept) {
			t.Errorf("without %s it finds %q: %s", p.kept, got, still.Hint)
		}
		if err := os.Rename(p.kept+"-away", p.kept); err != nil {
			t.Fatal(err)
		}
	}
}

// Killed before or after any of its steps, the way back ends whole, wherever the data lie: half of them are never in place where they
// can be renamed, and what was kept is removed last.
func TestTheWayBackIsKilledAnywhere(t *testing.T) {
	deaths := 0
	for _, how := range []string{"beside", "elsewhere", "mounted"} {
		for n := 1; ; n++ {
			died := false
			for _, when := range []string{"before", "after"} {
				m := newMounted(t)
				since := filepath.Join(m.dir, "db.since-11.8")
				switch how {
				case "elsewhere": // on what is mounted
					m.kept = filepath.Join(m.data, "kept")
					fallthrough
				case "beside":
					m.data = filepath.Join(m.dir, "plain")
				default:
					since = filepath.Join(m.data, ".db.since-11.8")
				}
				m.fill(m.data, "new")
				m.fill(m.kept, "old")
				out, err := m.back(kills(t, when, n))
				if died = err != nil; died {
					deaths++
					if half := !m.has(m.data, "old") && !m.has(m.data, "new") && exists(m.data); half && how != "mounted" || !m.has(m.data, "old") && !m.has(m.kept, "old") {
						t.Errorf("%s, killed %s step %d: %s", how, when, n, out)
					}
					out, err = m.back("/nonexistent")
				}
				if err != nil || !m.has(m.data, "old") || !m.has(since, "new") || exists(m.kept) {
					t.Errorf("%s, killed %s step %d, it comes to %v, %v: %v: %s", how, when, n, m.has(m.data, "old"), m.has(since, "new"), err, out)
				}
				if left, _ := filepath.Glob(filepath.Join(m.dir, ".*plumb-*")); left != nil {
					t.Errorf("%v is left", left)
				}
			}
			if !died {
				break
			}
		}
	}
	if deaths < 40 {
		t.Errorf("it was killed only %d times", deaths)
	}
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

// kills gives programs that change something, of which the nth to be called kills who calls it.
func kills(t *testing.T, when string, n int) string {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"mv", "cp", "rm", "mkdir", "chown", "chmod", "sync"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("#!/bin/sh\necho >>%[1]s/n\n[ $(wc -l <%[1]s/n) != %[2]d ] || [ %[3]s = after ] || { kill -9 $PPID; exit 1; }\n%[4]s \"$@\" || exit 1\n"+
			"[ $(wc -l <%[1]s/n) != %[2]d ] || kill -9 $PPID\n", bin, n, when, real)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
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
