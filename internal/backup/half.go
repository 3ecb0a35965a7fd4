package backup

import (
	"context"
	"errors"
	"sync"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// ended completes a backup whose run died when some stores had its manifest and others did not. By then each store had all of
// its objects, so only the manifest is sent, with the same bytes as in the others. is tells whether there is such a backup.
func (b *Backup) ended(ctx context.Context, r *running, to *store.Fan, res *Result) (is bool, err error) {
	m, text, in, err := b.committed(ctx, to, r.head.ID)
	if err != nil || text == nil {
		return false, err
	}
	err = to.Each(ctx, func(s store.Store) error {
		if !in[s] {
			return b.catchUp(ctx, s, m, text)
		}
		_, err := whole(ctx, s, m)
		return err
	})
	if err != nil {
		return true, err
	}
	res.Manifest, res.GoesOn, res.Lost = m, true, b.lost(to)
	for _, s := range m.Streams {
		res.Objects, res.Skipped = res.Objects+s.Chunks(), res.Skipped+s.Bytes
	}
	dropClaims(ctx, to, m.ID)
	return true, nil
}

// committed looks for the manifest of a backup of ours, and tells which stores have it. What prune, or somebody else, has put in
// its place does not count.
func (b *Backup) committed(ctx context.Context, to *store.Fan, id string) (m manifest.Manifest, text []byte, in map[store.Store]bool, err error) {
	own, err := Vault{}.Own(ctx, b.Do, b.Dir)
	if err != nil {
		return m, nil, nil, err
	}
	var mu sync.Mutex
	in = map[store.Store]bool{}
	err = to.Each(ctx, func(s store.Store) error {
		there, _, err := store.Read(ctx, s, manifest.Name(id), manifest.MaxStone)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if found, _, bad := own.Open(there, id); bad == nil {
			mu.Lock()
			defer mu.Unlock()
			m, text, in[s] = found, there, true
		}
		return nil
	})
	return m, text, in, err
}

// catchUp completes a backup in a store that has everything but its manifest, unless prune has given it up there. The renewed
// claim protects it meanwhile.
func (b *Backup) catchUp(ctx context.Context, in store.Store, m manifest.Manifest, text []byte) error {
	c := &claim{in: in, id: m.ID, needs: m.Bases(), now: b.Now}
	if err := c.begin(ctx, true); err != nil {
		return err
	}
	if _, err := whole(ctx, in, m); err != nil {
		return err
	}
	if err := b.lasting(ctx, in, m, true); err != nil {
		return err
	}
	return b.commit(ctx, in, m, text)
}
