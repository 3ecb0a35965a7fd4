package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/units"
)

// Fits refuses what takes more bytes than a directory has room for, before any of it is fetched. Where the filesystem compresses
// nothing is refused: how much room it takes there nobody knows.
func Fits(ctx context.Context, h host.Reader, dir string, bytes int64) error {
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return err
	}
	if m, is := observe.Holding(all, dir); is && compresses(m) {
		return nil
	}
	room, err := h.Statfs(ctx, dir)
	if err != nil {
		return err
	}
	if free := int64(room.AvailBytes); free < bytes {
		return hint.With(fmt.Errorf("%s are free in %s, but the restored data can take %s", units.Bytes(free), dir, units.Bytes(bytes)),
			"make room, or name a directory with more; on a filesystem that compresses, this is not checked")
	}
	return nil
}

// compresses tells whether a filesystem may: those of ZFS and bcachefs can always be told to.
func compresses(m observe.Mount) bool {
	return slices.Contains([]string{"zfs", "fuse.zfs", "bcachefs"}, m.Type) ||
		m.Type == "btrfs" && slices.ContainsFunc(m.Options, func(o string) bool { return strings.HasPrefix(o, "compress") })
}
