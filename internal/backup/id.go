package backup

import (
	"context"
	"fmt"
	"sync"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// id makes the name of a new backup. It sorts after those of all backups in every store, even if two are made in one second or
// the clock was set back, because the newest backup is the one whose name is last. It also tells which backups there are, and
// for each a store that has it.
func (b *Backup) id(ctx context.Context, to *store.Fan, word string) (id string, there map[string]store.Store, err error) {
	now := b.Now().UTC().Truncate(time.Second)
	at := now
	there = map[string]store.Store{}
	var one sync.Mutex
	err = to.Each(ctx, func(s store.Store) error {
		err := s.List(ctx, manifest.Prefix, func(i store.Info) error {
			id := manifest.OfManifest(i.Name)
			if id == "" {
				return nil
			}
			one.Lock()
			defer one.Unlock()
			there[id] = s
			if made := manifest.Made(id); !made.Before(at) && made.Before(now.Add(manifest.Ahead)) {
				at = made.Add(time.Second)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("list the backups of %s: %w", s.URL(), err)
		}
		return nil
	})
	return manifest.NewID(at, word), there, err
}
