package main

import (
	"path/filepath"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/research/trials"
	"plumb/test/program"
	"plumb/test/real/vm"
	"plumb/test/sandbox"
)

// TestSmallCellOnOpenZFS runs a cell in the virtual machine to its end, with little data. Each arm must have been held to
// the disk's requests, whoever made them, the threads of ZFS among them; and the data must not have been in memory, as with an ARC
// that takes no limit.
func TestSmallCellOnOpenZFS(t *testing.T) {
	sandbox.NeedFull(t, "an emulated machine takes half an hour for it: make test-real FULL=1")
	vm.Open(t, vm.Trixie)
	c := contest{Contest: trials.Contest{Job: trials.Job{Run: true}, Only: "postgres-rw-openzfs-small",
		Lab: trials.Lab{Plumb: program.ForTest(t).Path, Ledger: filepath.Join(t.TempDir(), "ledger")}}, tapes: tapes, form: small, vm: true}.settled()
	ok(t, c.do(t.Context()))
	ok(t, c.each(t.Context(), func(cell cell, x experiment.Experiment, records []experiment.Record, older bool) error {
		r := newResult(cell, x, records, older)
		t.Log(r.markdown())
		for _, a := range r.report.Arms {
			// Requests count until the last transaction has ended, which takes seconds there, and of the time only six are measured.
			if part := disk(a); a.Trials == 0 || !(part > 0.5 && part < 2.5) {
				t.Errorf("%s: %d trials, which took %s of the disk: %s", a.Name, a.Trials, percent(part), a.Failed)
			}
		}
		return nil
	}))
}
