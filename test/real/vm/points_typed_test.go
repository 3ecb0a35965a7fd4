package vm

import (
	_ "embed" // the scripts
	"strings"
	"testing"
	"time"

	"plumb/test/program"
	"plumb/test/sandbox"
)

//go:embed guest/points_lib.sh
var pointsLibrary string

//go:embed guest/points_zfs.sh
var pointsOnZFS string

// typedPoints runs a script about points, and wants it to print these lines.
func typedPoints(t *testing.T, release, script string, want ...string) {
	t.Helper()
	typed(t, release, pointsLibrary+script, nil, want...)
}

// typed runs a script that types commands, with files beside the binary in /in, and wants it to print these lines.
func typed(t *testing.T, release, script string, in []string, want ...string) {
	t.Helper()
	sandbox.NeedFull(t, "an emulated machine takes half an hour for it: make test-real FULL=1")
	m := Open(t, release)
	plumb := program.ForTest(t)
	r, err := m.Run(t.Context(), Script{In: append(in, plumb.Path), Line: script, Live: watched(t), Deadline: 40 * time.Minute,
		Disks: []Disk{{Name: "data", Bytes: 6 << 30}, {Name: "pool", Bytes: 6 << 30}}})
	text := string(r.Output)
	t.Logf("booted in %v, all took %v", r.Boot, r.Took)
	if err != nil || r.Code != 0 {
		t.Fatalf("code %d, %v", r.Code, err)
	}
	for _, line := range want {
		if !strings.Contains(text, "\n== "+line+"\n") {
			t.Errorf("no %q", line)
		}
	}
}

// TestPointsOfMariaDBOnOpenZFS types each command about points, with data and binary log in two
// datasets and a client that writes.
func TestPointsOfMariaDBOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			typedPoints(t, release, pointsOnZFS, "first: 1", "clone of the first: whole, mails: ,", "locked: 1", "clone of the locked one: whole",
				"rolled back: orders 2, later: doesn't exist, whole", "forward again: later 3, whole",
				"properties: as before", "pruned: first 0, locked 1, third 1", "left: copies 0, snapshots of the first 0, clones 0")
		})
	}
}

//go:embed guest/points_devices.sh
var pointsOnDevices string

//go:embed guest/ceph.sh
var cephCluster string

// TestPointsOfMariaDBOnVolumes does so with filesystems on a thin volume of LVM, and on volumes of OpenZFS.
func TestPointsOfMariaDBOnVolumes(t *testing.T) {
	pointsOn(t, Trixie, "lvm xfs", "zvol ext4 xfs")
}

// TestPointsOfMariaDBOnCeph does so with a filesystem on an image that the kernel mapped, of a cluster that
// is this machine alone.
func TestPointsOfMariaDBOnCeph(t *testing.T) {
	pointsOn(t, Ceph, "rbd xfs")
}

// pointsOn goes the way of a point on each kind of device, with these filesystems.
func pointsOn(t *testing.T, machine string, cases ...string) {
	t.Helper()
	var want []string
	for _, c := range cases {
		kind, _, _ := strings.Cut(c, " ")
		for _, line := range []string{"locked: 1", "clone: whole, MyISAM 3", "crash: 1", "clone of the crash point: whole",
			"pruned: locked 0, crash 1", "left: copies 0, of the locked one 0, clones 0"} {
			want = append(want, kind+" "+line)
		}
	}
	typedPoints(t, machine, cephCluster+"cases=('"+strings.Join(cases, "' '")+"')\n"+pointsOnDevices, want...)
}

//go:embed guest/points_postgres.sh
var pointsOfPostgres string

// TestPointsOfPostgresOnOpenZFS does so with a PostgreSQL whose WAL is in a dataset of its own.
func TestPointsOfPostgresOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			typedPoints(t, release, pointsOfPostgres, "first: 1", "clone: whole, mails 2", "rolled back: orders 2, whole",
				"forward again: later 3, whole", "left: copies 0, snapshots of the first 0, clones 0")
		})
	}
}
