package cache

import (
	"testing"

	"plumb/internal/stack"
)

// TestChecksSectors has what zpool add of each release does: 2.3.9 was seen to refuse a log of 4 KiB sectors in a pool of 512 bytes.
func TestChecksSectors(t *testing.T) {
	for version, want := range map[string]bool{"2.1.11": false, "2.2.8": false, "2.3.0": true, "2.3.9": true, "2.4.1": true, "": false} {
		var s stack.Stack
		var obs stack.Observation
		m := obs.New("zfs", "module")
		m.Set("implementation", stack.Text("openzfs"), "test")
		m.Set("version", stack.Text(version), "test")
		s.Add("test", obs)
		if got := checksSectors(&s); got != want {
			t.Errorf("OpenZFS %q: %v", version, got)
		}
	}
}
