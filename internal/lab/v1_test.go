package lab

import (
	"os"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
)

// A ledger that the Plumb of 2026-11-23 (3baf977) was killed over is gone on with:
// what ended is kept, what was cut off is done again.
func TestResumesWhatEarlierPlumbsBegan(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("ledger/testdata/v1")); err != nil {
		t.Fatal(err)
	}
	old, err := ledger.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	before, err := old.Report(t.Context(), "fixture-files")
	if err != nil {
		t.Fatal(err)
	}
	r, err := newTestLab(t, plain{}, old).Run(t.Context(), before.Experiment)
	if err != nil {
		t.Fatal(err)
	}
	if r.Done != 3 || !r.Complete || r.Stopped != report.AllDone || len(r.Records) != 7 {
		t.Errorf("%d blocks, %d records, complete %v: %s", r.Done, len(r.Records), r.Complete, r.Stopped)
	}
	again := r.Records[5]
	if cut := r.Records[4]; !cut.Has(experiment.MarkCut) || again.Trial != cut.Trial || again.Attempt != 2 {
		t.Errorf("after %+v came %+v, attempt %d", cut.Trial, again.Trial, again.Attempt)
	}
}
