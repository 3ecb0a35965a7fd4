package explain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/rule"
	"plumb/internal/stats"
	"plumb/knowledge"
)

// A name finds the facts of all kinds that have it, as written or as shown, and
// with a kind or a thing before it only that kind's.
func TestFactsNamed(t *testing.T) {
	cat := hosttest.Catalog(t)
	for name, want := range map[string][]string{
		"recordsize": {"dataset"}, "dataset#recordsize": {"dataset"}, "dataset:tank/db#recordsize": {"dataset"},
		"mysql#recordsize": nil, "no_such_fact": nil, "": nil, "#": nil, "mysql#": nil, "vm.swappiness": {"host"}, "vm_swappiness": {"host"},
	} {
		var got []string
		for _, f := range FactsNamed(cat, name) {
			got = append(got, f.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is of %.200q, want %q", name, got, want)
		}
	}
	var kinds []string
	for _, f := range FactsNamed(cat, "version") {
		kinds = append(kinds, f.Kind)
	}
	if len(kinds) < 2 || !slices.IsSorted(kinds) {
		t.Errorf("a version is of %q", kinds)
	}
}

// A fact is named by .name or #name, and by no longer word.
func TestUses(t *testing.T) {
	for text, want := range map[string]bool{
		"db.sync_binlog == 0": true, "knob: mysql#sync_binlog": true, "db.sync_binlog": true,
		"sync_binlog": false, "db.sync_binlog_total": false, "db.my_sync_binlog": false, "": false,
		"db.sync_binlog_total and db.sync_binlog": true, "sync_binlog.sync_binlog": true,
	} {
		if got := uses([]byte(text), "sync_binlog"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	f := FactsNamed(hosttest.Catalog(t), "mysql#sync_binlog")
	if len(f) != 1 {
		t.Fatalf("there are %d facts", len(f))
	}
	if using := RulesUsing(f[0], check.RuleIDs()); !slices.Contains(using, "mysql/sync-binlog-off") || len(using) == len(check.RuleIDs()) {
		t.Errorf("it is used by %q", using)
	}
}

func TestNotKnown(t *testing.T) {
	cat := hosttest.Catalog(t)
	for name, want := range map[string]string{"sync-binlog-of": "did you mean sync-binlog-off?", "recordsiz": "did you mean recordsize?", "xyzzyplugh": "plumb rules lists the rules"} {
		err := NotKnown(cat, check.RuleIDs(), name)
		if hint.AsUsage(err) == nil || hint.Of(err) != want || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, hint %q", name, err, hint.Of(err))
		}
	}
}

const tried = `experiment: rehearsal-%d
question: What does each step bring?
notes: |-
  rules: mysql/sync-binlog-off
  rules of sync_binlog = 1: mysql/sync-binlog-off
base:
  volume: {kind: directory}
  server: {engine: mariadb, settings: {log_bin: ON, sync_binlog: 0}}
  load: {kind: oltp, script: oltp_write_only, tables: 1, rows: 1000}
arms:
  - {name: as is, set: {}}
  - {name: sync_binlog = 1, set: {server.settings.sync_binlog: 1}}
measure: {warmup: 1s, time: 5s}
blocks: {least: 3, most: 3}
`

// keepRehearsal writes a rehearsal into a ledger, in which the step is 30 % slower.
func keepRehearsal(t *testing.T, l *ledger.Ledger, n int, at time.Time) {
	t.Helper()
	ctx := context.Background()
	x, err := experiment.Parse("test", fmt.Appendf(nil, tried, n))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Define(ctx, x, "v1"); err != nil {
		t.Fatal(err)
	}
	for b := 1; b <= 3; b++ {
		for i, a := range x.Arms {
			rate := float64(1000-300*i) * (1 + 0.01*float64(b))
			r := experiment.Record{Trial: experiment.Trial{Block: b, Position: i + 1, Arm: a.Name}, Experiment: x.Hash, ID: fmt.Sprint(n, b, i), Attempt: 1, Plumb: "v1",
				Began: at, Ended: at.Add(10 * time.Second), Setup: a.Setup, Rate: stats.Estimate{Value: rate, N: 5}, Metric: rate}
			at = r.Ended
			if err := l.Begin(ctx, r); err != nil {
				t.Fatal(err)
			}
			if err := l.Finish(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The newest rehearsals are shown, and no more than a page holds.
func TestProofOfTheNewest(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger")
	l, err := ledger.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for n := range mostProofs + 2 {
		keepRehearsal(t, l, n, first.AddDate(0, 0, n))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := ProofOf(t.Context(), ruleCalled(t, "mysql/sync-binlog-off"), where, warned(t))
	if len(p.Rehearsed) != mostProofs || p.Note != "" || p.Standing == nil || len(p.Measured) == 0 {
		t.Fatalf("%d rehearsals, %d measurements, note %q", len(p.Rehearsed), len(p.Measured), p.Note)
	}
	newest := p.Rehearsed[0]
	if day := newest.At.Format(time.DateOnly); day != "2026-11-07" || newest.Arm != "sync_binlog = 1" || newest.Word != "worse" || newest.Effect.Value > -0.25 {
		t.Errorf("the newest is %+v", newest)
	}
	if other := ProofOf(t.Context(), ruleCalled(t, "ext4/data-journal"), where, warned(t)); len(other.Rehearsed) > 0 || other.Note != "" {
		t.Errorf("a rule that was not rehearsed: %+v", other)
	}
}

// No ledger is nothing to speak of; one that cannot be read is, and the rest of
// the page is there all the same.
func TestProofWithoutALedger(t *testing.T) {
	dir, r := t.TempDir(), ruleCalled(t, "mysql/sync-binlog-off")
	if p := ProofOf(t.Context(), r, filepath.Join(dir, "none"), warned(t)); p.Note != "" || p.Standing == nil {
		t.Errorf("%+v", p)
	}
	if err := os.WriteFile(filepath.Join(dir, "ledger.sqlite"), []byte("this is no database, whatever its name says"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := ProofOf(t.Context(), r, dir, warned(t)); !strings.Contains(p.Note, "could not be read") || p.Standing == nil {
		t.Errorf("%+v", p)
	}
}

func ruleCalled(t *testing.T, id string) *rule.Rule {
	t.Helper()
	r, err := rule.Read(knowledge.FS, hosttest.Catalog(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// warned fails the test when anything is wrong with what is built in.
func warned(t *testing.T) check.Warn {
	return func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
