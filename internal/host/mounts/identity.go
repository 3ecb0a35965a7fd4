package mounts

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/host"
)

// UUIDAt is where on its device a filesystem has its UUID, in bytes.
var UUIDAt = map[string]int64{"ext4": 1024 + 104, "xfs": 32, "btrfs": 64<<10 + 32}

// At gives what is uppermost at a place; nil for nothing.
func At(ctx context.Context, h host.Reader, at string) (found *mountinfo.Info, err error) {
	all, err := Read(ctx, h)
	for _, m := range all {
		if m.Mountpoint == path.Clean(at) {
			found = m
		}
	}
	return found, err
}

// Identity tells which filesystem is uppermost at a place: its type and its UUID, read from the device itself, or its source where
// it has no UUID that is known here, as a dataset of ZFS has none. "": nothing is mounted there.
func Identity(ctx context.Context, h host.Reader, at string) (string, error) {
	m, err := At(ctx, h, at)
	if err != nil || m == nil {
		return "", err
	}
	from, known := UUIDAt[m.FSType]
	if !known {
		return m.FSType + " " + m.Source, nil
	}
	st, err := h.Stat(ctx, m.Source)
	if err == nil && m.Major != 0 && (m.Major != int(st.RdevMajor) || m.Minor != int(st.RdevMinor)) { // btrfs shows a number of its own
		err = fmt.Errorf("%s is another device by now", m.Source)
	}
	var out []byte
	if err == nil {
		out, err = h.Output(ctx, "od", "-An", "-v", "-tx1", "-w128", "-j", strconv.FormatInt(from, 10), "-N", "16", m.Source)
	}
	if err != nil {
		return "", fmt.Errorf("see which %s is mounted at %s: %w", m.FSType, at, err)
	}
	digits := strings.Join(strings.Fields(string(out)), "")
	if len(digits) != 32 {
		return "", fmt.Errorf("see which %s is mounted at %s: %s gives %q", m.FSType, at, m.Source, digits)
	}
	return fmt.Sprintf("%s %s-%s-%s-%s-%s", m.FSType, digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]), nil
}
