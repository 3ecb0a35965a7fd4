package backup

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// ahead is how far a name in the store may lie before our clock and still be one that the new backup comes after. One
// beyond that was named by a clock that was wrong, or by somebody who wants ours to be.
const ahead = 48 * time.Hour

// id names a new backup so that it sorts after those that are there, also when two are made in one second, or
// the clock was set back: the newest is the one with the last name.
func (b *Backup) id(ctx context.Context, word string) (string, error) {
	now := b.Now().UTC().Truncate(time.Second)
	at := now
	err := b.Store.List(ctx, manifest.Prefix, func(i store.Info) error {
		if made := manifest.Made(manifest.OfManifest(i.Name)); !made.Before(at) && made.Before(now.Add(ahead)) {
			at = made.Add(time.Second)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("list the backups of %s: %w", b.Store.URL(), err)
	}
	return manifest.NewID(at, word), nil
}
