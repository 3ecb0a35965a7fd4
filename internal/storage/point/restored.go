package point

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
)

// Restored lends directories that were restored to be thrown away: a copy of a server is started on the directory itself.
// What else a storage does it refuses, as Command without commands does.
type Restored struct{ Command }

var _ protect.Storage = Restored{}

// Lent gives a directory as the member of a point, of which the copy has it at a mount point.
func (r Restored) Lent(dir, mountpoint string) protect.Member {
	return protect.Member{Volume: protect.Volume{Storage: r.Name(), Name: dir, Pool: r.Name(), Mountpoint: mountpoint}, Snapshot: dir}
}

// Name implements protect.Storage.
func (Restored) Name() string { return "restored" }

// State implements protect.Storage.
func (Restored) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	_, err := h.Stat(ctx, m.Snapshot)
	if errors.Is(err, fs.ErrNotExist) {
		return protect.MemberState{Gone: true}, nil
	}
	return protect.MemberState{Space: -1}, err
}

// Clone implements protect.Storage.
func (Restored) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	source, err := sourceOf(ctx, d, m.Snapshot)
	if err != nil {
		return err
	}
	return bind(ctx, d, m.Snapshot, source, at)
}

// sourceOf gives the source of the mount on which a directory lies, as the table of mounts has it.
func sourceOf(ctx context.Context, h host.Reader, dir string) (string, error) {
	st, err := h.Stat(ctx, dir)
	if err != nil {
		return "", err
	}
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return "", err
	}
	m, err := observe.MountFor(all, st, path.Clean(dir))
	if err != nil {
		return "", fmt.Errorf("on which mount %s lies is not known: %w", path.Clean(dir), err)
	}
	return m.Source, nil
}
