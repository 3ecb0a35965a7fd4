package points

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPointsOfACommand takes points with a command of one's own, and prunes them with it: what has another identity
// than what was taken stays.
func TestPointsOfACommand(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server on a filesystem of its own: run without -short")
	}
	b, v := onBtrfsOf(t, families[0], "db/data", "db/log")
	server, dir := b.db(t, b.look(t)).String(), t.TempDir()
	command := `f='` + dir + `'/$PLUMB_POINT; case $PLUMB_DO in take) cat /proc/sys/kernel/random/uuid > $f; cat $f ;; look) cat $f 2>/dev/null || : ;; remove) [ "$(cat $f)" = "$PLUMB_IDENTITY" ] && rm $f ;; esac`
	silent := `touch '` + dir + `'/$PLUMB_POINT`
	var ids []string
	for _, line := range []string{command, command, silent, command} {
		ids = append(ids, pointID.FindString(v.typed(0, "snapshot", server, "--mode", "locked", "--with", line)))
	}
	file := func(i int) string { return filepath.Join(dir, "plumb-"+ids[i]) }
	prune := []string{"prune", "--keep", "last=1", "--all-right", "2", "--yes"}
	says(t, v.typed(0, "prune", "--keep", "last=1", "--dry-run"), "stays "+ids[0], "Plumb was not told with which it can look at them")
	says(t, v.typed(0, append(prune, "--all-right", "0")...), "0 points destroyed")
	must(t, os.WriteFile(file(1), []byte("somebody's own"), 0o600))
	out := v.typed(0, append(prune, "--all-right", "1", "--with", command)...)
	says(t, out, "goes "+ids[0], "stays "+ids[1], "is gone or another now", "stays "+ids[2], "printed nothing by which they are known again", "stays "+ids[3], "1 point destroyed")
	for i, want := range []bool{false, true, true, true} {
		if _, err := os.Stat(file(i)); (err == nil) != want {
			t.Errorf("what was taken as %s: %v", ids[i], err)
		}
	}
}
