package vm

import "testing"

// TestWatchOnOpenZFS plants there what zfs-fuse, which counts nothing, cannot show.
func TestWatchOnOpenZFS(t *testing.T) {
	inside(t, Trixie, "plumb/test/watch", "^TestPagesAreInTheARCAsWell$", "PLUMB_REAL=1")
}
