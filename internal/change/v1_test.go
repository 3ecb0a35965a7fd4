package change

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
)

// earlier is a machine that an earlier Plumb has changed: its files, and a
// MariaDB with one setting.
type earlier struct {
	host.Doer
	capacity string
}

func (e *earlier) Query(context.Context, host.Target, string) (host.Rows, error) {
	return host.Rows{Columns: []string{"GLOBAL_VALUE"}, Values: [][]*string{{&e.capacity}}}, nil
}

func (e *earlier) Exec(_ context.Context, _ host.Target, statement string) error {
	to, ok := strings.CutPrefix(statement, "SET GLOBAL innodb_io_capacity = ")
	if !ok {
		return errors.New("no such statement was journaled: " + statement)
	}
	e.capacity = to
	return nil
}

// treeOf gives the files below a directory with what they hold, but for Plumb's own.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, filepath.Join(dir, Directory)) {
			return err
		}
		text, err := os.ReadFile(name)
		all[strings.TrimPrefix(name, dir)] = strings.TrimRight(string(text), "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestUndoesWhatEarlierPlumbsWrote: the journals in testdata/v1 were written by
// the Plumb of 2026-11-23 (e4efa5f) that changed a real host with a MariaDB 10.11,
// and an unpacked image. The files beside them are those of before and after.
func TestUndoesWhatEarlierPlumbsWrote(t *testing.T) {
	for name, numbers := range map[string][]int{"live": {3, 2, 1}, "edits": {1}} {
		t.Run(name, func(t *testing.T) {
			from, dir := filepath.Join("testdata/v1", name), t.TempDir()
			if err := errors.Join(os.CopyFS(dir, os.DirFS(from+"/after")), os.CopyFS(dir+Directory, os.DirFS(from+"/journals"))); err != nil {
				t.Fatal(err)
			}
			doer := hosttest.LiveDoer(t)
			m := &earlier{chroot.New(doer, dir), "400"}
			k := NewExecutor(m, "later")
			if err := k.Undo(t.Context(), numbers, UndoOptions{}); err != nil {
				t.Fatal(err)
			}
			if got, want := treeOf(t, dir), treeOf(t, from+"/before"); !maps.Equal(got, want) {
				t.Errorf("after undo: %q\nbefore all: %q", got, want)
			}
			if name == "live" && m.capacity != "200" {
				t.Errorf("the server has %s", m.capacity)
			}
		})
	}
}

// What an earlier Plumb took back is not taken back again.
func TestWhatEarlierPlumbsUndidIsClosed(t *testing.T) {
	files, err := filepath.Glob("testdata/v1/undone/journals/*")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := replay(i+1, file, text); err != nil || c.Open() || !c.Ended || len(c.Acts) != 2 {
			t.Errorf("%s: %+v, %v", file, c, err)
		}
	}
}

// TestReadsForm2: the journal in testdata/v2 was written by the Plumb of 2026-11-23 that began to make and copy things. An
// act that it could do, and no command asked for, is taken out of it: to remove a thing.
func TestReadsForm2(t *testing.T) {
	const file = "testdata/v2/change-000001.journal"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := replay(1, file, text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Acts {
		_, after := p.Words()
		got = append(got, p.Act.Kind()+" "+p.Act.Place()+" "+string(p.State)+": "+strings.TrimSpace(after))
	}
	want := []string{"make /tmp/gen/srv/mysql done: a directory, mode 0750", "copy /tmp/gen/srv/mysql/data done: a copy of /tmp/gen/old",
		"edit /tmp/gen/conf a done: a = 1", "switch /tmp/gen/value done: 2"}
	if !slices.Equal(got, want) || !c.Open() || !c.Ended || len(c.plan) != 4 || c.Acts[1].Kept == "" || c.Acts[0].Identity == "" {
		t.Errorf("%q", got)
	}
}
