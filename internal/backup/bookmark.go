package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"plumb/internal/zfs"
)

// bookmark marks the snapshots that were sent, so that the next backup to the same stores can begin there even if the point has
// been pruned by then: a bookmark takes no space. Older ones are removed once every store has this backup.
func (b *Backup) bookmark(ctx context.Context, job Job, everywhere bool) error {
	sum := sha256.Sum256([]byte(b.where()))
	for _, s := range job.Sources {
		if s.Snapshot == "" {
			continue
		}
		prefix := s.Name + "#plumb-backup-" + hex.EncodeToString(sum[:4]) + "-"
		out, err := b.Do.Output(ctx, zfs.BookmarksOf(s.Name)...)
		if err != nil {
			return err
		}
		there, name := zfs.Names(out), prefix+job.Point
		if !slices.Contains(there, name) {
			if _, err := b.Do.Run(ctx, "zfs", "bookmark", s.Snapshot, name); err != nil {
				return err
			}
		}
		for _, old := range there {
			if !everywhere || old == name || !strings.HasPrefix(old, prefix) {
				continue
			}
			if _, err := b.Do.Run(ctx, zfs.Destroy(old)...); err != nil {
				return err
			}
		}
	}
	return nil
}
