package swap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// watched is a server of which the data, and a log beside them, were copied, and that something may start again.
type watched struct {
	mounted
	log string
	n   next
}

func newWatched(t *testing.T, plain bool) watched {
	t.Helper()
	m := newMounted(t)
	if plain {
		m.data = filepath.Join(m.dir, "plain")
	}
	m.fill(m.data, "old")
	log := filepath.Join(m.dir, "log")
	m.fill(log, "old")
	for _, dir := range []string{m.data, log} {
		sandbox.Need(t, os.Chmod(dir, 0o750))
	}
	places := []place{{m.data, m.kept, filepath.Base(m.data) + ".since-11.8"}, {log, log + ".before-11.8", "log.since-11.8"}}
	return watched{m, log, next{dir: m.dir, server: server{home: provision.Home{Data: m.data}, places: places}}}
}

// swaps copies the data and shuts them. What stands for exchanging the packages notes the mode of the data, there and back. meanwhile is
// what happens between the copy and the rest.
func (w watched) swaps(meanwhile func()) (*change.Executor, change.Outcome, error) {
	w.Helper()
	k := change.NewExecutor(hosttest.LiveDoer(w.T), "test")
	k.Dir = filepath.Join(w.dir, "journal")
	exchange := func(to string) change.Op {
		return change.Op{Argv: []string{"sh", "-euc", `stat -c %a "$2" >>"$1/modes"; echo "$3" >"$1/packages"`, "sh", w.dir, w.data, to}}
	}
	var acts []change.Act
	for _, p := range w.n.places {
		acts = append(acts, change.Act{Copy: &change.Copy{From: p.dir, To: p.kept}})
	}
	acts = append(acts, w.n.shut(), change.Act{Switch: &change.Switch{On: "packages", Inspect: change.Inspection{File: filepath.Join(w.dir, "packages")}, After: "new", Exact: true,
		Do: []change.Op{exchange("new")}, Undo: append(w.n.putBack(), exchange("{before}"))}})
	step := provision.Step(stack.Ref{Kind: "mysql", Name: "3306"}, "swap", acts)
	step.Data = true
	sandbox.Need(w.T, os.WriteFile(filepath.Join(w.dir, "packages"), []byte("old\n"), 0o600))
	out, err := k.Apply(w.Context(), change.Draft{Steps: []change.Prepared{step}}, change.ApplyOptions{Doing: func(_ int, a change.Act, done bool) {
		if a.Copy != nil && a.Copy.From == w.log && done {
			meanwhile()
		}
	}})
	return k, out, err
}

// open wants both directories to have the mode that they had.
func (w watched) open() {
	w.Helper()
	for _, dir := range []string{w.data, w.log} {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o750 {
			w.Errorf("the mode of %s is not what it was: %v, %v", dir, st, err)
		}
	}
}

// A server that something starts again once its data were copied ends the swap before the packages are exchanged, also if it has ended by
// then: what it wrote stays where it is.
func TestAServerThatIsStartedAgainEndsTheSwap(t *testing.T) {
	for name, c := range map[string]struct {
		does       func(w watched)
		want, word string
	}{
		"it runs":        {func(w watched) { sandbox.Busy(w.T, w.data) }, " runs in ", "old"},
		"it wrote":       {func(w watched) { w.fill(w.data, "a new word") }, "is no longer as it was copied", "a new word"},
		"it wrote a log": {func(w watched) { w.fill(w.log, "a new word") }, "is no longer as it was copied", "old"},
		"it made a file": {func(w watched) { sandbox.Need(w.T, os.WriteFile(filepath.Join(w.data, "more"), nil, 0o600)) }, "is no longer as it was copied", "old"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t, true)
			_, _, err := w.swaps(func() { c.does(w) })
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Pause what watches it") || exists(filepath.Join(w.dir, "modes")) {
				t.Errorf("the packages are exchanged: %v; %v", exists(filepath.Join(w.dir, "modes")), err)
			}
			w.open()
			if !w.has(w.data, c.word) {
				t.Errorf("what was written last is not there")
			}
		})
	}
}

// While the packages are exchanged nobody but root comes into the data, also on the way back, where the old ones would meet a newer server,
// and also where the data are a filesystem of their own. Afterwards they are as open as before.
func TestNobodyStartsAServerWhileThePackagesAreExchanged(t *testing.T) {
	for _, plain := range []bool{true, false} {
		w := newWatched(t, plain)
		k, out, err := w.swaps(func() {})
		if err != nil {
			t.Fatal(err)
		}
		sandbox.Need(t, os.Chmod(w.data, 0o750)) // as the upgrade does
		w.fill(w.data, "new")
		if err := k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil || !w.has(w.data, "old") {
			t.Errorf("the data of before are there: %v; %v", w.has(w.data, "old"), err)
		}
		w.open()
		if modes, err := os.ReadFile(filepath.Join(w.dir, "modes")); err != nil || string(modes) != "0\n0\n" {
			t.Errorf("while the packages were exchanged the modes were %q: %v", modes, err)
		}
	}
}

// What starts a server in the data at the last moment of the way back, just before they get their other name, keeps them.
func TestAServerThatIsStartedAgainEndsTheWayBack(t *testing.T) {
	w := newWatched(t, true)
	w.fill(w.kept, "old")
	w.fill(w.data, "new")
	pid := filepath.Join(w.dir, "pid")
	programs := t.TempDir()
	starts := "#!/bin/sh\ncase \"$*\" in *since*) if [ ! -e " + pid + " ]; then (cd " + w.data + " && exec /bin/sleep 60 >/dev/null 2>&1) & echo $! >" + pid + "; until [ /proc/$!/cwd -ef " + w.data + " ]; do :; done; fi ;; esac\nexec /bin/mv \"$@\"\n"
	sandbox.Need(t, os.WriteFile(filepath.Join(programs, "mv"), []byte(starts), 0o755))
	out, err := w.back(programs)
	if err == nil || !strings.Contains(out, " runs in ") || !w.has(w.data, "new") || !w.has(w.kept, "old") {
		t.Errorf("%v: %s; what was written since is there: %v, what was kept: %v", err, out, w.has(w.data, "new"), w.has(w.kept, "old"))
	}
	text, err := os.ReadFile(pid)
	sandbox.Need(t, err)
	sandbox.Need(t, kill(strings.TrimSpace(string(text))))
	if out, err := w.back(programs); err != nil || !w.has(w.data, "old") {
		t.Errorf("once it is gone: %v: %s", err, out)
	}
}

// kill ends a process, and waits until it has left its directory.
func kill(pid string) error {
	return exec.Command("sh", "-c", `kill -9 "$1"; while [ -e "/proc/$1/cwd" ]; do :; done`, "sh", pid).Run()
}
