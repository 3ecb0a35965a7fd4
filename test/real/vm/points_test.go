package vm

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// TestPointsOnOpenZFS runs the tests of points, which make pools of whatever ZFS is
// there, on OpenZFS: several names in one command, and channel programs.
func TestPointsOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			testsInside(t, release, time.Hour, "ZFS|Thin|Swapped|Killed|Replicate", rights, "internal/storage/point", "internal/protect/replicate")
		})
	}
}

// rights are tests of users who are not root.
const rights = "AllowedOnZFS|KeylessOnZFS|ReplicateAllowed"

// TestLeastRightsOnOpenZFS has a user who is not root take, destroy and send points by zfs allow, and clones an encrypted
// dataset without its key.
func TestLeastRightsOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			testsInside(t, release, 30*time.Minute, rights, "^$", "internal/storage/point", "internal/protect/replicate")
		})
	}
}

// TestManyPointsOnOpenZFS takes 50 points of servers that clients write to, and starts a copy of each.
func TestManyPointsOnOpenZFS(t *testing.T) {
	sandbox.NeedFull(t, "50 points take an emulated machine an hour: make test-real FULL=1")
	for _, release := range Releases() {
		for _, engine := range []string{"mariadb", "postgres"} {
			t.Run(release+"/"+engine, func(t *testing.T) {
				testsInside(t, release, 90*time.Minute, "^TestManyPoints$/^"+engine+"$", "^$", "test/points")
			})
		}
	}
}

// testsInside runs the tests of packages that have these names in a machine, but for some.
func testsInside(t *testing.T, release string, deadline time.Duration, names, but string, packages ...string) {
	t.Helper()
	m := Open(t, release)
	points := cmp.Or(os.Getenv("PLUMB_POINTS"), "100") // half of them on OpenZFS
	line, in := "mkdir -m 755 /var/points; export TMPDIR=/var/points PLUMB_REAL=1 PLUMB_POINTS="+points+" PLUMB_SMALL=1\nmodprobe -a loop dm_mod dm_thin_pool\n", []string(nil)
	for _, dir := range packages {
		test := filepath.Join(t.TempDir(), filepath.Base(dir)+".test")
		c := exec.Command("go", "test", "-c", "-o", test, "./"+dir)
		c.Dir, c.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		in = append(in, test)
		line += "/in/" + filepath.Base(test) + " -test.v -test.timeout 0 -test.run '" + names + "' -test.skip '" + but + "' 2>&1 || bad=1\n"
	}
	r, err := m.Run(t.Context(), Script{In: in, Line: line + "exit ${bad:-0}\n", Live: watched(t), Deadline: deadline})
	t.Logf("booted in %v, all took %v", r.Boot, r.Took)
	if err != nil || r.Code != 0 {
		t.Fatalf("code %d, %v", r.Code, err)
	}
}
