package moves

import (
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/test/sandbox"
)

// TestMoves moves servers to filesystems while they are written to, and back with what was written since.
func TestMoves(t *testing.T) {
	for _, c := range []struct{ product, to string }{{mariaDB, "ext4"}, {pg, "xfs"}, {mariaDB, "zfs-fuse"}, {pg, "zfs-fuse"}} {
		t.Run(c.product+" to "+c.to, func(t *testing.T) {
			if c.to == "zfs-fuse" || c.product == pg {
				sandbox.NeedTime(t, "moves another server: PLUMB_REAL=1 go test ./test/moves -run Moves")
			}
			b := newBench(t, c.product, "")
			b.to(c.to, 700)
			was := sh(t, `stat -c %d:%i "$1"; cat "$2"`, b.server.Dir, b.mover.Fstab)
			w := b.write(2)
			out, err := b.moved()
			must(t, err)
			w.mustKeep(t, "moved")
			if now := sh(t, `stat -c %d:%i "$1"; cat "$2"`, b.server.Dir, b.mover.Fstab); now == was {
				t.Error("it did not move")
			}
			if left := sh(t, `ls -d "$1".before-*`, b.server.Dir); strings.Count(left, "\n") != 0 {
				t.Errorf("the old directory is %q", left)
			}
			must(t, b.run().Executor.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}))
			w.stop()
			w.mustKeep(t, "back")
			if now := sh(t, `stat -c %d:%i "$1"; cat "$2"`, b.server.Dir, b.mover.Fstab); now != was {
				t.Errorf("back, it is %s in place of %s", now, was)
			}
			t.Logf("the longest time without a commit: %v", w.down)
		})
	}
}

func (w *writers) mustKeep(t *testing.T, when string) {
	t.Helper()
	all, lost := w.lost()
	t.Logf("%s: %d rows were acknowledged, %d are lost", when, all, lost)
	if lost > 0 || all == 0 {
		t.Errorf("%s: %d of %d acknowledged rows are lost", when, lost, all)
	}
}
