package upkeep

import (
	"context"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// Behind tells, by their IDs, what the archives in some stores have behind those of some backups that are bases. Where one of them has the log,
// the others need not.
func (l Logs) Behind(ctx context.Context, in []store.Store, backups ...manifest.Manifest) (map[string]archive.Behind, error) {
	all := map[string]archive.Behind{}
	for _, s := range in {
		found, err := archive.Shelf{Store: s}.Behind(ctx, l, backups...)
		if err != nil {
			return nil, err
		}
		for id, b := range found {
			b.Archived, b.Log = b.Archived || all[id].Archived, b.Log || all[id].Log
			all[id] = b
		}
	}
	return all, nil
}
