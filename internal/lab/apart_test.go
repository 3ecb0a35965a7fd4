package lab

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/lab/experiment"
)

// logged is an engine that says where its logs go.
type logged struct {
	Engine
	logs Logs
}

func (e logged) Logs(Program) Logs { return e.logs }

// split is a volume that makes a directory where others mount a dataset.
type split struct{ directory }

func (d split) Apart(_ context.Context, dir string, _, _ int) error {
	return os.Mkdir(filepath.Join(string(d.directory), "data", dir), 0o700)
}

// apartIn sets a trial up whose data have some files.
func apartIn(t *testing.T, logs Logs, files ...string) *bench {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("logs are put apart by root")
	}
	dir := t.TempDir()
	for _, name := range files {
		name = filepath.Join(dir, "data", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setup := experiment.Setup{Volume: experiment.Volume{Logs: map[string]string{"recordsize": "128K"}}}
	made := &layout{volume: split{directory(dir)}, engine: logged{logs: logs}, apart: true}
	return &bench{lab: newTestLab(t, plain{}, &memory{}), layout: made, setup: setup, data: filepath.Join(dir, "data")}
}

// below lists the files below a directory.
func below(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestApart(t *testing.T) {
	for name, c := range map[string]struct {
		logs  Logs
		files []string
		want  []string
	}{
		"by pattern": {Logs{Dir: "#redo", Files: []string{"ib_logfile*", "#ib*"}}, []string{"ib_logfile0", "#ib_1", "ibdata1", "db/ib_logfile0"},
			[]string{"#redo/#ib_1", "#redo/ib_logfile0", "db/ib_logfile0", "ibdata1"}},
		"a directory": {Logs{Dir: "pg_wal"}, []string{"pg_wal/0001", "pg_wal/archive_status/0001.done", "base/1"},
			[]string{"base/1", "pg_wal/0001", "pg_wal/archive_status/0001.done"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := apartIn(t, c.logs, c.files...)
			if err := b.apart(t.Context(), experiment.Trial{}); err != nil {
				t.Fatal(err)
			}
			if got := below(t, b.data); !slices.Equal(got, c.want) {
				t.Errorf("there are %q, want %q", got, c.want)
			}
			if _, err := os.Lstat(filepath.Join(b.data, c.logs.Dir+".before")); err == nil {
				t.Error("the old directory is left")
			}
		})
	}
}

// Whoever the servers run as may have put a link where the logs go.
func TestApartFollowsNoLink(t *testing.T) {
	b := apartIn(t, Logs{Dir: "#redo", Files: []string{"ib_logfile*"}}, "ib_logfile0")
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(b.data, "#redo")); err != nil {
		t.Fatal(err)
	}
	err := b.apart(t.Context(), experiment.Trial{})
	if err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("%v", err)
	}
	if got := below(t, elsewhere); len(got) > 0 {
		t.Errorf("%q was put elsewhere", got)
	}
}

// Without log_properties the logs stay where the server puts them.
func TestNothingApart(t *testing.T) {
	b := &bench{lab: &Lab{Box: Workspace{Do: host.NewLiveDoer(host.NewLive(host.LiveOptions{}))}}}
	if err := b.apart(t.Context(), experiment.Trial{}); err != nil {
		t.Error(err)
	}
}
