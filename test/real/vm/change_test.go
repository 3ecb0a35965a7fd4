package vm

import (
	_ "embed" // the script
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/test/program"
)

//go:embed guest/damage.sh
var damageLib string

//go:embed guest/change.sh
var change string

// TestChangesOnOpenZFS applies and takes back properties and a parameter of the
// module, finds planted damage after a scrub, and ends a check while a pool
// hangs.
func TestChangesOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m := Open(t, release)
			plumb := program.ForTest(t)
			out := t.ArtifactDir()
			r, err := m.Run(t.Context(), Script{In: []string{plumb.Path}, Out: out, Line: damageLib + change, Deadline: 20 * time.Minute, Disks: []Disk{
				{Name: "data", Bytes: 1 << 30}, {Name: "lost", Bytes: 256 << 20}}})
			if err != nil || r.Code != 0 {
				t.Fatalf("code %d, %v\n%s\n%s", r.Code, err, r.Output, read(t, out, "fix.txt"))
			}
			t.Run("fix and undo", func(t *testing.T) { thereAndBack(t, out) })
			t.Run("scrub", func(t *testing.T) {
				if found := findings(t, plumb, read(t, out, "scrub.json")); !slices.Contains(found, "zfs/data-errors") {
					t.Errorf("planted damage gave %q\n%s", found, read(t, out, "scrub.status"))
				}
			})
			t.Run("a pool that hangs", func(t *testing.T) {
				took := read(t, out, "lost.took")
				t.Logf("health %q, code and seconds %q\n%s", read(t, out, "lost.health"), took, read(t, out, "lost.err"))
				if code, _, _ := strings.Cut(took, " "); code != "0" && code != "1" {
					t.Errorf("check ended with %q", took)
				}
				if found := findings(t, plumb, read(t, out, "lost.json")); !slices.Contains(found, "zfs/pool-stopped") && !slices.Contains(found, "zfs/device-refuses-writes") {
					t.Errorf("a pool without its disk gave %q", found)
				}
			})
		})
	}
}

// thereAndBack wants each change in force after fix, and nothing of it after undo.
func thereAndBack(t *testing.T, out string) {
	before, changed, after := read(t, out, "before"), read(t, out, "changed"), read(t, out, "after")
	for _, line := range []string{"recordsize\t16384\tlocal\n", "primarycache\tmetadata\tlocal\n", "atime\toff\tlocal\n", "\n8\n"} {
		if !strings.Contains(changed, line) {
			t.Errorf("no %q after fix:\n%s\n%s", line, changed, read(t, out, "fix.txt"))
		}
		if strings.Contains(before, line) {
			t.Errorf("%q was so before", line)
		}
	}
	if after != before {
		t.Errorf("before:\n%s\nafter undo:\n%s\n%s", before, after, read(t, out, "undo.txt"))
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
