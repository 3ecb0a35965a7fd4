package changetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/internal/zfs"
	"plumb/test/sandbox"
)

// things is a toy setter: its recipe is what a test says.
type things []change.Act

func (things) Kinds() []string { return []string{"host"} }

func (a things) Recipe(context.Context, host.Reader, *stack.Stack, change.Want) (change.Recipe, error) {
	return change.Recipe{Effect: catalog.Now, Acts: a}, nil
}

// onDisk makes a case of acts on a directory of a real filesystem.
func onDisk(t *testing.T, dir string, acts ...change.Act) Case {
	t.Helper()
	doer := hosttest.LiveDoer(t)
	_, c := scratch(t)
	c.Doer, c.Setter, c.Dir, c.Meddle, c.Makes, c.Few = doer, things(acts), t.TempDir(), nil, true, 7
	c.State = func() string { return everything(t, dir) }
	return c
}

// marks are the names that only one act has.
var marks = regexp.MustCompile(`plumb-[a-z2-7]{26}`)

// everything lists a directory with all that can be told of it but inodes and
// the times of directories, which undo cannot bring back. It is asked thousands of times.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		line, err := told(name, d)
		fmt.Fprintf(&all, ".%s %s\n", strings.TrimPrefix(name, dir), line)
		return err
	}))
	return marks.ReplaceAllString(all.String(), "plumb-MARK")
}

// told is what can be told of one file: its kind and rights, its owner, its size and time, where it leads or what it holds.
func told(name string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	of := info.Sys().(*syscall.Stat_t)
	if info.IsDir() {
		return fmt.Sprintf("%s %d:%d", info.Mode(), of.Uid, of.Gid), nil
	}
	line := fmt.Sprintf("%s %d %d:%d %d", info.Mode(), info.Size(), of.Uid, of.Gid, info.ModTime().UnixNano())
	switch info.Mode().Type() {
	case 0:
		sum, err := sumOf(name)
		return line + " " + sum, err
	case fs.ModeSymlink:
		to, err := os.Readlink(name)
		return line + " " + to, err
	}
	return line, nil
}

func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

func aDirectory(path string) change.Act {
	return change.Act{Make: &change.Make{Thing: change.Thing{Path: path}, Directory: &change.Dir{Perm: 0o750, UID: -1, GID: -1}}}
}

func TestMakeDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := onDisk(t, dir, aDirectory(dir+"/a"), aDirectory(dir+"/a/b"))
	Run(t, c)
}

// What is neither a directory nor a dataset is made by commands and known by
// what a reading says of it.
func TestMakeByCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := dir + "/volume"
	c := onDisk(t, dir, change.Act{Make: &change.Make{
		Thing:     change.Thing{Name: "the volume " + file, Inspect: &change.Inspection{File: file, Match: "^made by (.*)$"}},
		Do:        []change.Op{{Argv: []string{"sh", "-c", "echo made by {mark} >" + file}}},
		Undo:      []change.Op{{Argv: []string{"rm", file}}},
		Unchanged: &change.Inspection{File: file},
	}})
	c.State = func() string {
		text, err := os.ReadFile(file)
		return fmt.Sprint(len(text), err != nil)
	}
	Run(t, c)
}

// TestHiddenByALaterAct: what was begun and is seen to be done is written down as done, because a later act of the
// same change can hide it, as a mount hides its directory; the change is gone on with more than once nevertheless.
func TestHiddenByALaterAct(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := onDisk(t, dir, change.Act{Switch: &change.Switch{
		On: "the flag", After: "set", Exact: true, Inspect: change.Inspection{File: dir + "/flag"},
		Do:   []change.Op{{Argv: []string{"sh", "-c", "echo set >" + dir + "/flag"}}},
		Undo: []change.Op{{Argv: []string{"rm", "-f", dir + "/flag"}}},
	}}, change.Act{Make: &change.Make{
		Thing:     change.Thing{Name: "what hides it", Inspect: &change.Inspection{File: dir + "/over", Match: "^over by (.*)$"}},
		Do:        []change.Op{{Argv: []string{"sh", "-c", "cd " + dir + " && mv flag hidden && echo over by {mark} >over"}}},
		Undo:      []change.Op{{Argv: []string{"sh", "-c", "cd " + dir + " && mv hidden flag && rm over"}}},
		Unchanged: &change.Inspection{File: dir + "/over"},
	}})
	c.State = func() string { // without the times of files
		out, err := exec.Command("find", dir).Output()
		return fmt.Sprint(string(out), err)
	}
	Run(t, c)
}

// filled makes a directory with files of all kinds: large, with holes, odd names.
func filled(t *testing.T, dir string) {
	t.Helper()
	sh(t, filepath.Dir(dir), `mkdir -p "$1/d 1/empty"; cd "$1"
		head -c 2500000 /dev/urandom >large1; truncate -s 2100000 large1.hole; printf x >>large1.hole; truncate -s 4M large1.hole
		printf small >"d 1/-s *1"; : >d\ 1/none1; chmod 600 large1; chmod 2750 "d 1"; ln -s ../large1 "d 1/link"; ln -s -- nowhere -broken
		touch -d @1500000000.123456789 large1 "d 1/none1"; touch -h -d @1400000000 ./-broken`, dir)
}

// sh runs a script in a directory.
func sh(t *testing.T, dir, script string, args ...string) {
	t.Helper()
	c := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sh(t, dir, `mkdir -m 2750 -p from/d; cd from; head -c 1600000 /dev/urandom >large1; truncate -s 2M large1; chmod 600 large1
		printf x >"d/-s *1"; ln -s -- nowhere d/-broken; touch -d @1500000000.123456789 large1`)
	Run(t, onDisk(t, dir, aCopy(dir)))
}

func TestCopyIsLikeWhatWasCopied(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir+"/from")
	sh(t, dir+"/from", `ln large1 "d 1/other name"; setfattr -n user.plumb -v kept large1 2>/dev/null || :; setfacl -m u:nobody:r large1 2>/dev/null || :`)
	apply(t, onDisk(t, dir, aCopy(dir)))
	more := `cd "$1"; [ large1 -ef "d 1/other name" ]; getfattr -d -m - large1 2>/dev/null || :`
	if a, b := output(t, more, dir+"/from"), output(t, more, dir+"/to"); a != b {
		t.Errorf("the copy has\n%s\nof\n%s", b, a)
	}
	if a, b := everything(t, dir+"/from"), everything(t, dir+"/to"); a != b {
		t.Errorf("the copy is\n%s\nof\n%s", b, a)
	}
}

func output(t *testing.T, script string, args ...string) string {
	t.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).Output()
	must(t, err)
	return string(out)
}

func apply(t *testing.T, c Case) int {
	t.Helper()
	draft, err := c.draft(t.Context())
	must(t, err)
	out, err := c.executor(c.Doer).Apply(t.Context(), draft, change.ApplyOptions{})
	must(t, err)
	return out.Number
}

// All kinds in one recipe, and on datasets of a real pool.
func TestDatasets(t *testing.T) {
	sandbox.NeedLong(t, "starts zfs-fuse: run without -short")
	box := sandbox.ForTest(t, "")
	pool, err := box.ZFSFuse(128)
	sandbox.Need(t, err)
	name := pool.Name + "/db"
	run := func(argv ...string) string {
		t.Helper()
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
		return string(out)
	}
	dataset := func(name, point string) change.Act {
		return change.Act{Make: &change.Make{Thing: change.Thing{Dataset: name}, Empty: true,
			Do: []change.Op{{Argv: zfs.Create(name, "mountpoint="+point, "org.plumb:act={mark}")}}, Undo: []change.Op{{Argv: zfs.Destroy(name)}}}}
	}
	snapshot := change.Act{Make: &change.Make{Thing: change.Thing{Dataset: name + "@first"},
		Do:   []change.Op{{Argv: []string{"zfs", "snapshot", "-o", "org.plumb:act={mark}", name + "@first"}}},
		Undo: []change.Op{{Argv: zfs.Destroy(name + "@first")}}}}
	c := onDisk(t, box.Dir, dataset(name, filepath.Join(box.Dir, "db")), snapshot)
	c.State = func() string {
		all := run("zfs", "get", "-H", "-p", "-r", "-o", "name,value", "guid", pool.Name)
		all = regexp.MustCompile(`(/db\S*)\s.*`).ReplaceAllString(all, "$1") // made anew, it is another
		return marks.ReplaceAllString(all, "plumb-MARK")
	}
	must(t, thereAndBack(t.Context(), c))
	crowded := c
	crowded.Doer = busyAtFirst(c.Doer)
	must(t, thereAndBack(t.Context(), crowded))
	t.Run("deaths", func(t *testing.T) {
		sandbox.NeedTime(t, "lets the machine die 100 times among datasets: PLUMB_REAL=1 go test ./internal/change/changetest -run Datasets")
		Run(t, c)
	})

	// What others put into it, or a pool that is away, keeps it.
	number := apply(t, onDisk(t, box.Dir, dataset(name, filepath.Join(box.Dir, "db"))).in(c.Dir))
	write(t, filepath.Join(box.Dir, "db/file"), "somebody's")
	for _, o := range []change.UndoOptions{{}, {Force: true}} {
		if d, ok := errors.AsType[*change.Drifted](c.executor(c.Doer).Undo(t.Context(), []int{number}, o)); !ok || !strings.Contains(d.Error(), "holds file") {
			t.Errorf("%+v: %v", o, d)
		}
	}
	if err := os.Remove(filepath.Join(box.Dir, "db/file")); err != nil {
		t.Fatal(err)
	}
	if err := c.executor(c.Doer).Undo(t.Context(), []int{number}, change.UndoOptions{}); err != nil {
		t.Error(err)
	}
	gone := things{dataset("plumbnopool/db", "none")}
	c.Setter = gone
	if draft, err := c.draft(t.Context()); err == nil {
		if _, err := c.executor(c.Doer).Apply(t.Context(), draft, change.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "not imported") {
			t.Error(fmt.Errorf("in a pool that is not imported: %w", err))
		}
	}
}

// busyAtFirst is a machine on which others look at the datasets all the time: whatever is destroyed is busy at first.
func busyAtFirst(of host.Doer) host.Doer {
	tried := map[string]bool{}
	return &host.Hooked{Behind: of, Around: func(_ context.Context, c host.Call, do func() error) error {
		if c.Op != "do" || c.Of[0] != "zfs" || c.Of[1] != "destroy" || tried[c.Key()] {
			return do()
		}
		tried[c.Key()] = true
		return fmt.Errorf("%s: exit status 1: cannot %s '%s': dataset is busy", strings.Join(c.Of, " "), c.Of[1], c.Of[2])
	}}
}

// in keeps the journal in another directory.
func (c Case) in(dir string) Case { c.Dir = dir; return c }
