package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestPointsOnOpenZFS runs the tests of points, which make pools of whatever ZFS is
// there, on OpenZFS: several names in one command, and channel programs.
func TestPointsOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m := Open(t, release)
			line, in := "export TMPDIR=/root\n", []string(nil)
			for name, dir := range map[string]string{"point.test": "internal/storage/point", "replicate.test": "internal/protect/replicate"} {
				test := filepath.Join(t.TempDir(), name)
				c := exec.Command("go", "test", "-c", "-o", test, "./"+dir)
				c.Dir, c.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				in = append(in, test)
				line += "/in/" + name + " -test.v -test.run 'ZFS|Swapped|Killed|Replicate' 2>&1 || bad=1\n"
			}
			r, err := m.Run(t.Context(), Script{In: in, Line: line + "exit ${bad:-0}\n", Deadline: 30 * time.Minute})
			t.Logf("%s", r.Output)
			if err != nil || r.Code != 0 {
				t.Fatalf("code %d, %v", r.Code, err)
			}
		})
	}
}
