package sst

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes files, of which each holds a text.
func write(t *testing.T, dir, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// all lists the files below a directory with what they hold.
func all(t *testing.T, dir string) (text string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			what, _ := os.ReadFile(name)
			text += strings.TrimPrefix(name, dir+"/") + "=" + string(what[:min(5, len(what))]) + " "
		}
		return err
	}))
	return text
}

// TestEveryDeathOfPut lets the machine die before and after every operation by which new files take the place of
// old ones. What is there then is all old, all new, or has the redo log with which InnoDB does not start; and
// the next transfer repairs it.
func TestEveryDeathOfPut(t *testing.T) {
	d := hosttest.LiveDoer(t)
	const own = "galera.cache=mine grastate.dat=mine "
	const done = "aria_log_control=new ib_logfile0=new ibdata1=new more/t.ibd=new mysql/user.MAI=new undo001=new "
	for at := 0; ; at++ {
		dir := t.TempDir()
		write(t, dir, "mine", "grastate.dat", "galera.cache", "server.pem")
		write(t, dir, "old", redo, "ibdata1", "aria_log_control", "mysql/user.MAI", "gone/t.ibd", "ibtmp1", "master.info")
		before := all(t, dir)
		come := func() {
			write(t, filepath.Join(dir, fresh), "new", redo, "ibdata1", "aria_log_control", "mysql/user.MAI", "more/t.ibd", "undo001")
		}
		come()
		m := hosttest.NewMortal(d, at/2, []string{hosttest.Before, hosttest.After}[at%2])
		err := put(t.Context(), m, dir)
		if ended := at/2 > m.N; ended || at < 2 {
			must(t, err)
			if got := sorted(all(t, dir)); got != sorted(own+done+"server.pem=mine ") {
				t.Fatalf("it left %s", got)
			}
			if ended {
				t.Logf("%d operations", m.N)
				return
			}
			continue
		}
		now := all(t, dir)
		text, _ := os.ReadFile(filepath.Join(dir, redo))
		inPlace := strings.Join(without(strings.Fields(now), ".plumb-sst-"), " ") + " "
		switch {
		case string(text) == poison:
		case string(text) == "old" && inPlace == before:
		case string(text) == "new" && sorted(inPlace) == sorted(own+done+"server.pem=mine "):
		default:
			t.Errorf("dead at %d: %s", at, now)
		}
		must(t, os.RemoveAll(filepath.Join(dir, fresh)))
		come()
		must(t, put(t.Context(), d, dir))
		if got := sorted(all(t, dir)); got != sorted(own+done+"server.pem=mine ") {
			t.Errorf("dead at %d, the next transfer left %s", at, got)
		}
	}
}

func without(words []string, part string) (left []string) {
	for _, w := range words {
		if !strings.Contains(w, part) {
			left = append(left, w)
		}
	}
	return left
}

func sorted(text string) string {
	words := strings.Fields(text)
	seen := map[string]bool{}
	for _, w := range words {
		seen[w] = true
	}
	return fmt.Sprint(len(words), seen)
}
