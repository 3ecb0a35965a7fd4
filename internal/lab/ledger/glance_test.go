package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGlanceReadsAndLeavesNoTrace(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "a ?#%20 ledger"), t.Context()
	if _, err := Glance(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no ledger is %v", err)
	}
	l, err := Open(ctx, dir)
	ok(t, err)
	ok(t, l.Define(ctx, sample(), "v1"))
	r := record("t1", 1)
	ok(t, l.Begin(ctx, r))
	ok(t, l.Finish(ctx, r))
	if _, err := Glance(ctx, dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a ledger that is written into is %v", err)
	}
	ok(t, l.Close())
	before := filesOf(t, dir)
	g, err := Glance(ctx, dir)
	ok(t, err)
	all, err := g.Experiments(ctx)
	ok(t, err)
	records, err := g.Records(ctx, sample().Hash)
	ok(t, err)
	if len(all) != 1 || all[0].Trials != 1 || len(records) != 1 {
		t.Errorf("%d experiments, %d trials", len(all), len(records))
	}
	if err := g.Define(ctx, sample(), "v2"); err == nil {
		t.Error("it can be written into")
	}
	if now := filesOf(t, dir); !slices.Equal(before, now) {
		t.Errorf("files became %q, were %q", now, before)
	}
	ok(t, g.Close())
	if now := filesOf(t, dir); !slices.Equal(before, now) {
		t.Errorf("files became %q, were %q", now, before)
	}
}

func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	ok(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			names = append(names, path+" "+info.ModTime().String())
		}
		return err
	}))
	return names
}
