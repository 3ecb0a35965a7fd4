package vm

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/program"
)

// TestBoostOnOpenZFS runs the tests of plumb boost on datasets there: zfs-fuse has no property sync, and neither
// parameters nor counters.
func TestBoostOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) { inside(t, release, "plumb/test/boost", "^TestDataset$") })
	}
}

// TestCacheOnOpenZFS runs those of cache and log devices.
func TestCacheOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) { inside(t, release, "plumb/test/boost", "^Test(Cache|Warm)$") })
	}
}

// inside runs tests of a package in a machine, with the built program.
func inside(t *testing.T, release, of, run string) {
	t.Helper()
	m := Open(t, release)
	dir := t.TempDir()
	plumb, err := program.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	tests := filepath.Join(dir, "tests")
	build := exec.Command("go", "test", "-c", "-o", tests, of)
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, err := m.Run(t.Context(), Script{In: []string{plumb.Path, tests}, Deadline: 20 * time.Minute, Disks: []Disk{{Name: "data", Bytes: 4 << 30}, {Name: "cache", Bytes: 1 << 30}, {Name: "log", Bytes: 1 << 30}},
		Line: "cd /tmp && PLUMB_PROGRAM=/in/plumb /in/tests -test.v -test.run '" + run + "'"})
	t.Logf("%s", r.Output)
	if err != nil || r.Code != 0 || !strings.Contains(string(r.Output), "--- PASS") || strings.Contains(string(r.Output), "--- SKIP") {
		t.Fatalf("code %d, %v", r.Code, err)
	}
}
