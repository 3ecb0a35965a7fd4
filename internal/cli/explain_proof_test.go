package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/stats"
)

// rehearsalFile is what plumb rehearse writes, shortened.
const rehearsalFile = `experiment: rehearse-mysql-3306-steps
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

// keepRehearsal writes a rehearsal into a ledger, as a lab does.
func keepRehearsal(t *testing.T, where string) (l *ledger.Ledger, hash string) {
	t.Helper()
	ctx := context.Background()
	l, err := ledger.Open(ctx, where)
	must(t, err)
	x, err := experiment.Parse("test", []byte(rehearsalFile))
	must(t, err)
	must(t, l.Define(ctx, x, "v1"))
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for b := 1; b <= 3; b++ {
		for i, a := range x.Arms {
			rate := float64(1000-300*i) * (1 + 0.01*float64(b))
			r := experiment.Record{Trial: experiment.Trial{Block: b, Position: i + 1, Arm: a.Name}, Experiment: x.Hash, ID: fmt.Sprint(b, i), Attempt: 1, Plumb: "v1",
				Began: at, Ended: at.Add(10 * time.Second), Setup: a.Setup, Rate: stats.Estimate{Value: rate, N: 5}, Metric: rate}
			at = r.Ended
			must(t, l.Begin(ctx, r))
			must(t, l.Finish(ctx, r))
		}
	}
	return l, x.Hash
}

func TestExplainTellsOfRehearsals(t *testing.T) {
	t.Chdir(t.TempDir())
	l, hash := keepRehearsal(t, defaultLedger)
	explain := func(rule string) string {
		var out, errs bytes.Buffer
		if code := Main([]string{"explain", rule}, strings.NewReader(""), &out, &errs); code != shell.ExitOK || errs.Len() > 0 {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if got := explain("mysql/sync-binlog-off"); !strings.Contains(got, "A lab works with the ledger plumb-lab") {
		t.Errorf("a ledger that is written into is not mentioned: %s", got)
	}
	must(t, l.Close())
	got := explain("mysql/sync-binlog-off")
	for _, want := range []string{"REHEARSED ON THIS MACHINE 2026-11-21 · sync_binlog = 1 · −30 %", "transactions/s · worse · plumb lab report " + hash[:8] + " --ledger plumb-lab", "MEASURED Against sync_binlog"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q: %s", want, got)
		}
	}
	if got := explain("ext4/data-journal"); strings.Contains(got, "REHEARSED") {
		t.Errorf("a rule that was not rehearsed has a rehearsal: %s", got)
	}
}

func TestExplainNotesALedgerThatCannotBeRead(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir(defaultLedger, 0o700))
	must(t, os.WriteFile(defaultLedger+"/ledger.sqlite", []byte("this is no database, whatever its name says"), 0o600))
	var out, errs bytes.Buffer
	if code := Main([]string{"explain", "mysql/sync-binlog-off"}, strings.NewReader(""), &out, &errs); code != shell.ExitOK || !strings.Contains(out.String(), "could not be read") {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
}
