package fix_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// slowZFS is a zfs whose "zfs set" says that it has begun, and waits for a file go.
const slowZFS = `#!/bin/sh
cd '%s'
case $2 in
recordsize=*) : >begun; while [ ! -e go ]; do sleep 0.02; done; '%s' "$@"; : >done; exit ;;
esac
exec '%[2]s' "$@"
`

// killedInACommand kills plumb fix while its zfs set runs, which goes on once go is called. state tells what it changes.
func killedInACommand(t *testing.T, journal string, args ...string) (state func() string, goOn func()) {
	t.Helper()
	sandbox.NeedLong(t, "makes a pool: run without -short")
	pool, err := sandbox.ForTest(t, "").ZFSFuse(100)
	must(t, err)
	_, err = pool.Dataset("db")
	must(t, err)
	real, err := exec.LookPath("zfs")
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/zfs", fmt.Appendf(nil, slowZFS, dir, real), 0o755))
	state = func() string {
		out, err := exec.Command("zfs", "get", "-Hp", "-o", "value,source", "recordsize", pool.Name+"/db").CombinedOutput()
		must(t, err)
		return strings.TrimSpace(string(out))
	}
	c := exec.Command(built.Path, append([]string{"fix", "--yes", "--state", journal, "--set", "dataset:" + pool.Name + "/db#recordsize=16K"}, args...)...)
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	said, err := os.Create(dir + "/said") // no pipe: what outlives it would hold it open
	must(t, err)
	defer said.Close()
	c.Stdout, c.Stderr = said, said
	exists := func(name string) {
		if appears(dir+"/"+name, 2*time.Minute); !there(dir + "/" + name) {
			t.Fatalf("there is no file %s: %s", name, content(said.Name()))
		}
	}
	must(t, c.Start())
	goOn = func() {
		must(t, os.WriteFile(dir+"/go", nil, 0o644))
		exists("done")
	}
	t.Cleanup(goOn)
	exists("begun")
	must(t, c.Process.Kill())
	_ = c.Wait()
	return state, goOn
}

func there(name string) bool { _, err := os.Stat(name); return err == nil }

// A command that a killed fix has left would set its value after that was taken back: undo waits for it, and says for which.
func TestUndoWaitsForWhatAKilledFixLeft(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "plumb")
	state, goOn := killedInACommand(t, journal)
	was := state()
	_, errs := plumb(t, 3, "undo", "--all", "--yes", "--state", journal)
	reads(t, errs, `process \d+ \(zfs\) is still running; a Plumb that was killed started it`, "wait until it has ended")
	goOn()
	if state() == was {
		t.Fatal("it set nothing")
	}
	plumb(t, 0, "undo", "--all", "--yes", "--state", journal)
	if is := state(); is != was {
		t.Errorf("it is %s, and was %s", is, was)
	}
}

// So does the dead man's switch, which then undoes it.
func TestTryWaitsForWhatAKilledFixLeft(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "plumb")
	state, goOn := killedInACommand(t, journal, "--try", "5s")
	was := state()
	time.Sleep(8 * time.Second) // in which it would be undone
	goOn()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if strings.Contains(content(filepath.Join(journal, "change-000001.journal")), `"undone"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is not undone: %s", content(filepath.Join(journal, "change-000001.journal")))
		}
	}
	if is := state(); is != was {
		t.Errorf("it is %s, and was %s", is, was)
	}
}
