package lab

import (
	"path/filepath"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/test/sandbox"
)

// Of twenty comparisons of two equal arms, few are called different: by
// chance, four or more would be in one of sixty runs of this test.
func TestEqualArms(t *testing.T) {
	sandbox.NeedFull(t, "120 trials take a quarter of an hour: make test-real FULL=1 does it")
	needServer(t, postgres)
	const blocks, most = 3, 3
	l := newLab(t)
	l.run("testdata/equal.yaml")
	x, records := l.records("testdata/equal.yaml")
	different, n := 0, 0
	for first := 1; first+blocks-1 <= x.Most; first += blocks {
		some := between(records, first, blocks)
		part := x
		part.Least, part.Most = blocks, blocks
		v := report.Make(part, some).Verdicts[0]
		t.Logf("blocks %d to %d: %s, %+.1f %% (%+.1f to %+.1f %%)", first, first+blocks-1, v.Word, 100*v.Effect.Value, 100*v.Effect.Low, 100*v.Effect.High)
		n++
		if v.Word == report.Better || v.Word == report.Worse {
			different++
		}
	}
	if n < 20 || different > most {
		t.Errorf("%d of %d comparisons of equal arms were called different", different, n)
	}
	t.Logf("%d of %d called different", different, n)
}

// between gives the records of some blocks, numbered from 1.
func between(records []experiment.Record, first, n int) (some []experiment.Record) {
	for _, r := range records {
		if r.Block >= first && r.Block < first+n {
			r.Block -= first - 1
			some = append(some, r)
		}
	}
	return some
}

// Two runs of one experiment agree within their intervals.
func TestRepeatable(t *testing.T) {
	sandbox.NeedTime(t, "two whole experiments take some minutes: make test-real does it")
	needServer(t, postgres)
	l := newLab(t)
	var seen []report.Comparison
	for _, name := range []string{"first", "second"} {
		l.ledger = filepath.Join(l.dir, name)
		l.run("testdata/repeat.yaml")
		x, records := l.records("testdata/repeat.yaml")
		v := report.Make(x, records).Verdicts[0]
		t.Logf("%s run: %+.0f %% (%+.0f to %+.0f %%)", name, 100*v.Effect.Value, 100*v.Effect.Low, 100*v.Effect.High)
		seen = append(seen, v)
	}
	if a, b := seen[0].Effect, seen[1].Effect; a.Low > b.High || b.Low > a.High {
		t.Errorf("the intervals do not meet: %+v and %+v", a, b)
	}
}
