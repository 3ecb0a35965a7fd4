package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestLeastRightsOnOpenZFS has a user who is not root take and destroy points by zfs allow, and clones an encrypted
// dataset without its key.
func TestLeastRightsOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m := Open(t, release)
			test := filepath.Join(t.TempDir(), "point.test")
			c := exec.Command("go", "test", "-c", "-o", test, "./internal/storage/point")
			c.Dir, c.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			r, err := m.Run(t.Context(), Script{In: []string{test}, Line: "cd /tmp; TMPDIR=/tmp /in/point.test -test.v -test.run 'AllowedOnZFS|KeylessOnZFS' 2>&1\n", Deadline: 20 * time.Minute})
			t.Logf("%s", r.Output)
			if err != nil || r.Code != 0 {
				t.Fatalf("code %d, %v", r.Code, err)
			}
		})
	}
}
