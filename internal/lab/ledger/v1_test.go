package ledger

import (
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// v1 gives a copy of a ledger in testdata/v1: a lab of 2026-11-23 (3baf977) wrote
// it, and was killed in a trial. The one of PostgreSQL is what pg_dump made of it.
func v1(t *testing.T, where string) {
	t.Helper()
	if !isPostgres(where) {
		ok(t, os.CopyFS(where, os.DirFS("testdata/v1")))
		return
	}
	dump, err := os.ReadFile("testdata/v1/postgres.sql")
	ok(t, err)
	admin(t, where, strings.Split(strings.TrimSpace(string(dump)), ";\n")...)
}

func TestReadsWhatEarlierPlumbsWrote(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		v1(t, where)
		open := map[string]func() (*Ledger, error){
			"existing": func() (*Ledger, error) { return OpenExisting(t.Context(), where) },
			"open":     func() (*Ledger, error) { return Open(t.Context(), where) },
		}
		if !isPostgres(where) {
			open["glance"] = func() (*Ledger, error) { return Glance(t.Context(), where) }
		}
		for how, open := range open {
			l, err := open()
			ok(t, err)
			r, err := l.Report(t.Context(), "fixture-files")
			ok(t, err)
			ok(t, l.Close())
			last := r.Records[len(r.Records)-1]
			if !last.Has(experiment.MarkCut) || last.Arm != "large" || r.Complete {
				t.Errorf("%s: the trial that was cut off is %+v", how, last.Trial)
			}
			for _, rec := range r.Records[:len(r.Records)-1] {
				if !rec.Valid() || rec.Metric < 5e4 || len(rec.Ops[0].Histogram) < 100 || len(rec.Series) == 0 || rec.Volume.Cloned != "copy" {
					t.Errorf("%s: %s has %g, %v", how, rec.ID, rec.Metric, rec.Marks)
				}
			}
			if v := r.Verdicts; len(v) != 1 || report.Known(v[0].Effect) != (len(r.Records) > 4) || v[0].Effect.Value > -0.7 {
				t.Errorf("%s: the verdicts are %+v", how, v)
			}
		}
	})
}

// contents gives what files below a directory hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	ok(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		ok(t, err)
		all[filepath.Base(file)] = string(text)
	}
	return all
}

// A ledger of a newer layout is refused as it is.
func TestNewerLayoutStaysAsItIs(t *testing.T) {
	dir := t.TempDir()
	v1(t, dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "ledger.sqlite"))
	ok(t, err)
	_, err = db.Exec(`UPDATE ledger SET version = 2`)
	ok(t, err)
	ok(t, db.Close())
	before := contents(t, dir)
	_, err = Open(t.Context(), dir)
	refused(t, err, "layout of version 2", "newer plumb")
	_, err = OpenExisting(t.Context(), dir)
	refused(t, err, "layout of version 2", "newer plumb")
	_, err = Glance(t.Context(), dir)
	refused(t, err, "layout of version 2", "newer plumb")
	if !maps.Equal(contents(t, dir), before) {
		t.Error("what was refused has changed")
	}
}
