package vm

import (
	_ "embed" // the script
	"path/filepath"
	"testing"
	"time"

	"plumb/test/program"
	"plumb/test/sandbox"
)

//go:embed guest/l2arc.sh
var l2arcScript string

// TestL2ARCExperiment runs the experiment of XFS against ZFS with and without L2ARC on a real OpenZFS. The machine's
// processors are emulated, so what counts is what the disks allow. The report is kept with -artifacts.
func TestL2ARCExperiment(t *testing.T) {
	sandbox.NeedFull(t, "an emulated machine takes an hour for it: make test-real FULL=1")
	experiment, err := filepath.Abs("guest/l2arc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := Open(t, Trixie)
	r, err := m.Run(t.Context(), Script{In: []string{program.ForTest(t).Path, experiment}, Line: l2arcScript, Out: t.ArtifactDir(), Live: watched(t),
		Deadline: 75 * time.Minute, Disks: []Disk{{Name: "xfs", Bytes: 3 << 30, IOPS: 200}, {Name: "plain", Bytes: 3 << 30, IOPS: 200},
			{Name: "cached", Bytes: 3 << 30, IOPS: 200}, {Name: "cache", Bytes: 1 << 30}}})
	if err != nil || r.Code != 0 {
		t.Errorf("code %d, %v", r.Code, err)
	}
}
