package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"plumb/internal/zfs"
)

// inBox tells of a path whether it lies in a box that New made.
var inBox = regexp.MustCompile(`/plumb-[0-9]+/`).MatchString

var isLoop = regexp.MustCompile(`^(/dev/)?loop[0-9]+$`).MatchString

// clearStale exports the pools of tests that were killed. zfs-fuse has them in its cache, so that they are there
// again whenever it starts, and claim loop devices that others have by then. The caller holds the lock of zfs-fuse: no test
// that lives has a pool.
func clearStale() error {
	text, err := output(exec.Command("zpool", zfs.Tools{Fuse: true}.Status()[1:]...))
	if err != nil {
		return err
	}
	for _, s := range zfs.ParseStatus([]byte(text)) {
		if !stale(s, backing) {
			continue
		}
		if err := let(s.Pool); err != nil {
			return fmt.Errorf("the pool %s is left of a test that was killed: %w", s.Pool, err)
		}
	}
	return nil
}

// stale tells whether all that a pool is made of is a box's. A loop device is one's, too, when the pool cannot be opened
// any more: the number of a device that a killed test had may be another's by now.
func stale(s zfs.Status, backing func(loop string) string) bool {
	dead := s.State == "UNAVAIL" || s.State == "FAULTED"
	n := 0
	for _, vdevs := range s.Classes {
		for _, v := range zfs.Leaves(vdevs) {
			n++
			if !inBox(v.Name) && !(isLoop(v.Name) && (dead || inBox(backing(v.Name)))) {
				return false
			}
		}
	}
	return n > 0
}

// backing gives the file behind a loop device; "" when there is none.
func backing(loop string) string {
	text, _ := os.ReadFile("/sys/class/block/" + filepath.Base(loop) + "/loop/backing_file")
	return strings.TrimSpace(string(text))
}

// let exports a pool, and lets go what is mounted of it.
func let(pool string) error {
	return until(patience, func(context.Context) error {
		_, err := output(exec.Command("zpool", "export", "-f", pool))
		if err != nil {
			_, _ = output(exec.Command("sh", "-c", `awk -v p="$1" '$1 == p || index($1, p "/") == 1 {print $2}' /proc/mounts | sort -r | xargs -r umount -l`, "sh", pool))
		}
		return err
	})
}
