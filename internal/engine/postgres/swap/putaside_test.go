package swap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// newPutAside is a new cluster in a directory of the test's own, and how it is put aside with some programs.
func newPutAside(t *testing.T) (n cluster, put func(name string), back func(path string) (string, error)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir := t.TempDir()
	n = cluster{version: "17", name: "main", data: filepath.Join(dir, "17/main"), conf: filepath.Join(dir, "etc/17/main")}
	put = func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	back = func(path string) (string, error) {
		script := strings.NewReplacer("</etc/postgresql", "<"+dir, "/tmp/plumb-upgrade-", dir+"/plumb-upgrade-").Replace(putAside) // what is killed leaves it
		op := change.LongScript(script, n.words(cluster{version: "15", name: "main"})...)
		c := exec.Command(op.Argv[0], op.Argv[1:]...)
		c.Env = append(os.Environ(), "PATH="+path)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	return n, put, back
}

// A cluster that was begun and not ended, as by a full disk or a kill, goes; one that others have made in its place stays.
func TestWhatWasBegunGoes(t *testing.T) {
	for _, ours := range []bool{true, false} {
		n, put, back := newPutAside(t)
		put(n.data + "/PG_VERSION")
		put(n.conf + "/postgresql.conf")
		if ours {
			put(n.conf + "/begun-by-plumb")
		}
		out, err := back(os.Getenv("PATH"))
		_, data := os.Stat(n.data + "/PG_VERSION")
		_, conf := os.Stat(n.conf)
		if (err == nil) != ours || (data != nil) != ours || (conf != nil) != ours {
			t.Errorf("ours %v: %v: %s; the data: %v, the configuration: %v", ours, err, out, data, conf)
		}
	}
}

// Where the data of the new cluster are not there, as with the disk that they lie on, its configuration stays. That an earlier try has
// given them their other name, and was killed then, is known.
func TestAClusterThatIsNotThereIsNotPutAside(t *testing.T) {
	n, put, back := newPutAside(t)
	put(n.conf + "/upgraded-by-plumb")
	put(n.conf + "/postgresql.conf")
	if out, err := back(os.Getenv("PATH")); err == nil || !strings.Contains(out, n.data+", with what was written since, is not there") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(n.conf + "/postgresql.conf"); err != nil {
		t.Error(err)
	}
	put(n.data + "/PG_VERSION") // mounted again
	kills := t.TempDir()
	if err := os.WriteFile(filepath.Join(kills, "mv"), []byte("#!/bin/sh\n/bin/mv \"$@\"; kill -9 $PPID\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := back(kills + ":" + os.Getenv("PATH")); err == nil {
		t.Fatalf("it was to be killed: %s", out)
	}
	out, err := back(os.Getenv("PATH"))
	aside, _ := filepath.Glob(n.data + ".taken-back-*/configuration/postgresql.conf")
	if _, there := os.Stat(n.conf); err != nil || there == nil || len(aside) != 1 {
		t.Errorf("%v: %s; %v, %v", err, out, there, aside)
	}
}

// A cluster in which a server runs is not put aside.
func TestAServerThatRunsIsNotPutAside(t *testing.T) {
	n, put, back := newPutAside(t)
	put(n.data + "/PG_VERSION")
	put(n.conf + "/upgraded-by-plumb")
	_, hasty, end := sandbox.Busy(t, n.data)
	path := hasty + ":" + os.Getenv("PATH")
	out, err := back(path)
	if _, gone := os.Stat(n.data); err == nil || gone != nil || !strings.Contains(out, " runs in "+n.data) {
		t.Errorf("%v: %s", err, out)
	}
	end()
	out, err = back(path)
	if _, there := os.Stat(n.data); err != nil || there == nil {
		t.Errorf("once it is gone: %v: %s", err, out)
	}
}

// The way back is refused, by force too, while the data of the old server are not there: the new one would be put aside for nothing.
func TestOldDataAreThere(t *testing.T) {
	dir := t.TempDir()
	old, n := cluster{version: "15", name: "main", data: filepath.Join(dir, "old")}, cluster{version: "17", name: "main", conf: dir}
	a := upgrade(old, n)
	a.Switch.Do, a.Switch.Undo = change.Commands([]string{"sh", "-c", `echo "from 15/main" >"$1"`, "sh", dir + mark}), change.Commands([]string{"rm", dir + mark})
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { d.Close() })
	k := change.NewExecutor(d, "test")
	k.Dir = filepath.Join(dir, "journal")
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "postgres", Name: "5432"}, "swap", []change.Act{a})}}, change.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, holds := range []string{"", "17", "secret", "15"} {
		if holds != "" {
			if err := os.MkdirAll(old.data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(old.data+"/PG_VERSION", []byte(holds+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, force := range []bool{false, true} {
			err := k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{Force: force})
			if back := holds == "15"; (err == nil) != back || !back && !strings.Contains(hint.Of(err), old.data+", are gone") || strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("PG_VERSION says %q, force %v: %v, %s", holds, force, err, hint.Of(err))
			}
		}
	}
}

// The way back is refused once the programs of the old server are gone: nothing could start it.
func TestOldProgramsAreThere(t *testing.T) {
	still := byHand(cluster{version: "15", name: "main", conf: "/etc/postgresql/15/main"}).Switch.Still
	dir := t.TempDir()
	look := func() string {
		t.Helper()
		argv := strings.Split(strings.ReplaceAll(strings.Join(still.Inspect.Argv, "\n"), programs, dir), "\n")
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	for _, version := range []string{"17", "15"} {
		if got := look(); got != "" {
			t.Errorf("without them it is %q", got)
		}
		if err := os.MkdirAll(filepath.Join(dir, version, "bin/postgres"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := look(); got != still.State || !strings.Contains(still.Hint, "postgresql-15") {
		t.Errorf("it is %q, and %+v is wanted", got, still)
	}
}

// Killed once the new cluster has its other name, the next run takes it for put aside, and keeps its configuration too.
func TestPutAsideGoesOn(t *testing.T) {
	n, put, back := newPutAside(t)
	for _, name := range []string{"/upgraded-by-plumb", "/postgresql.conf"} {
		put(n.conf + name)
	}
	put(n.data + "/PG_VERSION")
	programs := t.TempDir()
	for name, text := range map[string]string{"rm": `case "$*" in "-rf "*/etc/17/main) kill -KILL $$ ;; esac; exec /bin/rm "$@"`} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := back(programs + ":" + os.Getenv("PATH")); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	if out, err := back(os.Getenv("PATH")); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	kept, _ := filepath.Glob(n.data + ".taken-back-*/PG_VERSION")
	settings, _ := filepath.Glob(n.data + ".taken-back-*/configuration/postgresql.conf")
	if _, err := os.Stat(n.conf); len(kept) != 1 || len(settings) != 1 || err == nil {
		t.Errorf("kept are %v and %v, and the configuration: %v", kept, settings, err)
	}
}
