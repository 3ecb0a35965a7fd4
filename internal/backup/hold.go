package backup

import (
	"context"
	"errors"
	"fmt"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
)

// Hold keeps a backup from being pruned, whatever the rules say, until its owner releases it. The hold is written before the
// backup is looked at again: so either prune sees the hold, or this sees the stone of prune and takes the backup back.
func (v Vault) Hold(ctx context.Context, id, owner string) error {
	name, err := holdName(id, owner)
	if err != nil {
		return err
	}
	m, err := v.rescue(ctx, id)
	if err != nil {
		return fmt.Errorf("hold backup %s: %w", id, err)
	}
	if _, err = v.Store.Put(ctx, name, []byte(owner+"\n"), store.Put{New: true}); errors.Is(err, store.ErrExists) {
		err = nil
	}
	if err == nil {
		_, err = v.rescue(ctx, m.ID)
	}
	if err != nil {
		return fmt.Errorf("hold backup %s: %w", id, err)
	}
	return nil
}

// Release ends a hold.
func (v Vault) Release(ctx context.Context, id, owner string) error {
	name, err := holdName(id, owner)
	if err != nil {
		return err
	}
	if _, _, err := v.Store.Get(ctx, name, make([]byte, manifest.MaxClaim)); errors.Is(err, store.ErrNotFound) {
		return hint.With(fmt.Errorf("%s does not hold backup %s", owner, id), "plumb backup prune --dry-run says who holds what")
	}
	return v.Store.Delete(ctx, name)
}

func holdName(id, owner string) (string, error) {
	name := manifest.HoldName(id, owner)
	if err := store.Check(name); err != nil || !manifest.IsID(id) || manifest.Holder(name) != owner || owner == "" {
		return "", hint.Usage(fmt.Sprintf("%q cannot hold backup %q", owner, id), "the ID is one that plumb backup list shows, whole; an owner is a word of letters, digits and . _ - =")
	}
	return name, nil
}
