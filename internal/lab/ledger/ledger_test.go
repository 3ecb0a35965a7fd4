package ledger

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
	"plumb/test/sandbox"
)

// each runs a test on a directory and on a real PostgreSQL.
func each(t *testing.T, f func(t *testing.T, where string)) {
	t.Run("directory", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "a ?#%20 ledger")) })
	t.Run("postgres", func(t *testing.T) { f(t, database(t)) })
}

func address(s *sandbox.Server, database string) string {
	q := url.Values{"host": {s.Socket}, "port": {fmt.Sprint(s.Port)}, "user": {s.User}}
	return "postgres:///" + database + "?" + q.Encode()
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused wants an error that says something, and its hint.
func refused(t *testing.T, err error, says, help string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Fatalf("got %v, want an error with %q", err, says)
	}
	h, hinted := errors.AsType[hint.Hinted](err)
	if help == "" {
		return
	}
	if !hinted || !strings.Contains(h.Hint(), help) {
		t.Errorf("%v has no hint with %q: %v", err, help, h)
	}
}

func opened(t *testing.T, where string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), where)
	ok(t, err)
	t.Cleanup(func() { ok(t, l.Close()) })
	return l
}

func sample() experiment.Experiment {
	return experiment.Experiment{Name: "sync-binlog", Question: "How much does sync_binlog = 1 cost?", Hash: "1a2b3c4d5e6f7788", Text: []byte("experiment: sync-binlog\n")}
}

// record is a trial with a bit of everything.
func record(id string, block int) experiment.Record {
	began := time.Date(2026, 11, 21, 12, 0, block, 123456789, time.UTC)
	return experiment.Record{
		Trial:      experiment.Trial{Block: block, Position: 2, Arm: "ext4, 1", Seed: 1<<64 - 1},
		Experiment: sample().Hash, ID: id, Attempt: 1, Began: began, Ended: began.Add(time.Minute),
		Setup: experiment.Setup{
			Volume: experiment.Volume{Kind: experiment.Loop, Size: 4 << 30, Filesystem: "ext4", Mkfs: []string{"-b", "4096"}},
			Server: &experiment.Server{Engine: "mariadb", Settings: map[string]string{"sync_binlog": "1"}},
			Load:   experiment.Load{Kind: experiment.OLTP, Rate: 12.5, Threads: 8},
		},
		Program: "MariaDB 10.11.14", Plumb: "v0.5", Effective: map[string]string{"sync_binlog": "1"},
		Volume: experiment.VolumeFacts{Path: "/mnt", Limits: []experiment.LimitFact{{What: "write MB/s", Asked: 125, Measured: 124.9}}},
		Rate:   stats.Estimate{Value: 1000.25, Low: 990, High: 1010, N: 17}, Metric: 1000.25,
		Ops:     []experiment.Op{{Name: "write", Done: 12345, Histogram: []byte{0, 1, 2, 255}}},
		Series:  []experiment.Second{{At: 1, Length: 1, Done: 1000, P50: 0.5, P99: 2, Max: 9}, {At: 2, Length: 1, Done: 1001, P50: 0.5, P99: 2, Max: 9}},
		Costs:   []experiment.Cost{{Layer: "device", Name: "written", Unit: "B/op", Value: 16384, From: "/proc/diskstats"}},
		Remarks: []experiment.Mark{{Kind: "slow-clock", Text: "µ, ± and a zero: \x00"}},
		Files:   map[string]string{"server.log": strings.Repeat("ab", 32)},
	}
}

func TestTrialsComeBackAsTheyWere(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		ok(t, l.Define(ctx, sample(), "v0.5"))
		records, err := l.Records(ctx, sample().Hash)
		ok(t, err)
		if len(records) != 0 {
			t.Errorf("%d records of an experiment without trials", len(records))
		}
		first, second := record("t1", 1), record("t2", 2)
		second.Mark(experiment.MarkThrottle, "500 IOPS were asked, 800 measured")
		ok(t, l.Begin(ctx, first))
		ok(t, l.Finish(ctx, first))
		ok(t, l.Begin(ctx, second))
		ok(t, l.Finish(ctx, second))
		records, err = l.Records(ctx, sample().Hash)
		ok(t, err)
		if diff := cmp.Diff([]experiment.Record{first, second}, records); diff != "" {
			t.Error(diff)
		}
		all, err := l.Experiments(ctx)
		ok(t, err)
		if len(all) != 1 || all[0].Trials != 2 || all[0].Valid != 1 || all[0].Name != "sync-binlog" || !all[0].Last.Equal(second.Ended.Truncate(time.Millisecond)) ||
			time.Since(all[0].Defined) > time.Minute || time.Since(all[0].Defined) < 0 {
			t.Errorf("%+v", all)
		}
	})
}

func TestTrialThatWasNotFinishedIsCutOff(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		ok(t, l.Define(ctx, sample(), "v0.5"))
		begun := experiment.Record{Trial: experiment.Trial{Block: 1, Position: 1, Arm: "a"}, Experiment: sample().Hash, ID: "t", Attempt: 1, Began: time.Now()}
		ok(t, l.Begin(ctx, begun))
		ok(t, l.Begin(ctx, begun)) // the answer to the first may have been lost
		records, err := l.Records(ctx, sample().Hash)
		ok(t, err)
		if len(records) != 1 || !records[0].Has(experiment.MarkCut) || records[0].Valid() {
			t.Errorf("%+v", records)
		}
		all, err := l.Experiments(ctx)
		ok(t, err)
		if all[0].Trials != 1 || all[0].Valid != 0 || all[0].Last.IsZero() {
			t.Errorf("%+v", all)
		}
	})
}

func TestFinishedTrialIsNeverChanged(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		ok(t, l.Define(ctx, sample(), "v0.5"))
		r := record("t", 1)
		refused(t, l.Finish(ctx, r), "it was not begun", "")
		ok(t, l.Begin(ctx, r))
		other := r
		other.Experiment = "another"
		refused(t, l.Finish(ctx, other), "for another experiment", "")
		ok(t, l.Finish(ctx, r))
		ok(t, l.Finish(ctx, r))
		changed := r
		changed.Metric = 1
		refused(t, l.Finish(ctx, changed), "finished already", "")
		refused(t, l.Begin(ctx, r), "there already", "")
		records, err := l.Records(ctx, r.Experiment)
		ok(t, err)
		if len(records) != 1 || records[0].Metric != r.Metric {
			t.Errorf("%+v", records)
		}
		stray := record("u", 1)
		stray.Experiment = "nobody knows it"
		refused(t, l.Begin(ctx, stray), "is not defined", "")
		stray.ID = ""
		refused(t, l.Begin(ctx, stray), "no id", "")
	})
}

func TestNumbersThatAreNoneAreKept(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		ok(t, l.Define(ctx, sample(), "v0.5"))
		r := record("t", 1)
		r.Rate.High, r.Series[1].P99, r.Costs[0].Value, r.Setup.Load.Rate = math.Inf(1), math.NaN(), math.Inf(-1), math.NaN()
		want := r
		ok(t, l.Begin(ctx, r))
		ok(t, l.Finish(ctx, r))
		if !math.IsNaN(r.Series[1].P99) || !math.IsNaN(want.Setup.Load.Rate) {
			t.Error("the caller's record was changed")
		}
		got, err := l.Records(ctx, r.Experiment)
		ok(t, err)
		if !got[0].Valid() || !math.IsInf(got[0].Rate.High, 1) || !math.IsNaN(got[0].Series[1].P99) || !math.IsInf(got[0].Costs[0].Value, -1) || !math.IsNaN(got[0].Setup.Load.Rate) {
			t.Errorf("%+v", got[0])
		}
		var body string
		ok(t, l.db.QueryRowContext(ctx, `SELECT record FROM trial`).Scan(&body))
		if !strings.Contains(body, `"p99_ms":null`) {
			t.Errorf("no null in %s", body)
		}

		r = record("u", 2)
		r.Metric = math.NaN()
		ok(t, l.Begin(ctx, r))
		ok(t, l.Finish(ctx, r))
		got, err = l.Records(ctx, r.Experiment)
		ok(t, err)
		if !math.IsNaN(got[1].Metric) || !got[1].Has(experiment.MarkFailed) || len(r.Marks) != 0 {
			t.Errorf("%+v", got[1])
		}
		var valid, unknown bool
		ok(t, l.db.QueryRowContext(ctx, `SELECT valid, metric IS NULL FROM trial WHERE id = 'u'`).Scan(&valid, &unknown))
		if valid || !unknown {
			t.Errorf("valid %v, metric unknown %v", valid, unknown)
		}
	})
}

func TestNothingMeasuredIsNotZero(t *testing.T) {
	l, ctx := opened(t, t.TempDir()), t.Context()
	ok(t, l.Define(ctx, sample(), "v0.5"))
	r := experiment.Record{Experiment: sample().Hash, ID: "t"}
	r.Mark(experiment.MarkFailed, "the server refused its configuration")
	ok(t, l.Begin(ctx, r))
	ok(t, l.Finish(ctx, r))
	var unknown bool
	ok(t, l.db.QueryRowContext(ctx, `SELECT metric IS NULL AND rate IS NULL AND program IS NULL AND began IS NULL FROM trial`).Scan(&unknown))
	if !unknown {
		t.Error("what was not measured is not NULL")
	}
}

func TestExperimentsAreFound(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		_, err := l.Find(ctx, "sync-binlog")
		refused(t, err, "no experiments", "lab run")
		x := sample()
		ok(t, l.Define(ctx, x, "v0.5"))
		ok(t, l.Define(ctx, x, "v0.6"))
		for _, name := range []string{"sync-binlog", "1a2b", x.Hash} {
			hash, err := l.Find(ctx, name)
			ok(t, err)
			if hash != x.Hash {
				t.Errorf("%s is %s", name, hash)
			}
		}
		_, err = l.Find(ctx, "1a2")
		refused(t, err, "none matches; there are sync-binlog 1a2b3c4d5e6f", "first 4")
		x.Hash, x.Text = "1a2bffff", []byte("experiment: sync-binlog # again\n")
		ok(t, l.Define(ctx, x, "v0.6"))
		for _, name := range []string{"sync-binlog", "1a2b"} {
			_, err = l.Find(ctx, name)
			refused(t, err, "2 experiments match: sync-binlog 1a2bffff (trials: 0, no trial yet), sync-binlog 1a2b3c4d5e6f", "more of the hash")
		}
	})
}

func TestTextIsTheLast(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		x := sample()
		ok(t, l.Define(ctx, x, "v0.5"))
		before, err := l.Experiments(ctx)
		ok(t, err)
		for _, text := range []string{"a # ±\n", "b\n", "b\n", "a # ±\n"} {
			x.Text, x.Question = []byte(text), "why "+text
			ok(t, l.Define(ctx, x, "v0.5"))
		}
		got, err := l.Text(ctx, x.Hash)
		ok(t, err)
		if string(got) != "a # ±\n" {
			t.Errorf("%q", got)
		}
		after, err := l.Experiments(ctx)
		ok(t, err)
		if len(after) != 1 || !after[0].Defined.Equal(before[0].Defined) || after[0].Question != "why a # ±\n" {
			t.Errorf("%+v became %+v", before, after)
		}
		var n int
		ok(t, l.db.QueryRowContext(ctx, `SELECT count(*) FROM wording`).Scan(&n))
		if n != 4 {
			t.Errorf("%d wordings are kept", n)
		}
		_, err = l.Text(ctx, "none")
		refused(t, err, "it is not there", "")
		x.Text = []byte("\xff")
		refused(t, l.Define(ctx, x, ""), "not text in UTF-8", "")
		x.Hash = ""
		refused(t, l.Define(ctx, x, ""), "no hash", "")
	})
}

func TestFilesAreKeptOnce(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		l, ctx := opened(t, where), t.Context()
		for _, data := range [][]byte{nil, []byte("log\x00\xff"), []byte(strings.Repeat("x", 3<<20))} {
			sha, err := l.Put(ctx, data)
			ok(t, err)
			again, err := l.Put(ctx, data)
			ok(t, err)
			got, err := l.Get(ctx, sha)
			ok(t, err)
			if string(got) != string(data) || again != sha {
				t.Errorf("%d bytes came back as %d", len(data), len(got))
			}
		}
		_, err := l.Get(ctx, strings.Repeat("0", 64))
		refused(t, err, errNoFile.Error(), "")
		for _, bad := range []string{"", "../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("a", 65)} {
			_, err := l.Get(ctx, bad)
			refused(t, err, "is not a SHA-256", "")
		}
	})
}

func TestLockIsHeldOnce(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		a, b, ctx := opened(t, where), opened(t, where), t.Context()
		unlock, err := a.Lock(ctx, "h")
		ok(t, err)
		for _, l := range []*Ledger{a, b} {
			_, err = l.Lock(ctx, "h")
			refused(t, err, "another lab is running it", "--resume")
		}
		other, err := b.Lock(ctx, "i")
		ok(t, err)
		ok(t, unlock())
		unlock, err = b.Lock(ctx, "h")
		ok(t, err)
		ok(t, unlock())
		ok(t, other())
	})
}

func TestLookMakesNothing(t *testing.T) {
	each(t, func(t *testing.T, where string) {
		_, err := OpenExisting(t.Context(), where)
		refused(t, err, "there is no ledger", "lab run")
		if _, err := os.Stat(where); err == nil {
			t.Error("it was made")
		}
		opened(t, where)
		l, err := OpenExisting(t.Context(), where)
		ok(t, err)
		ok(t, l.Close())
	})
}
