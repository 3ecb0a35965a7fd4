package upkeep

import (
	"cmp"
	"context"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
)

// Shelf returns the archive beside the backups of a vault, for which the same keys are trusted.
func Shelf(v backup.Vault) archive.Shelf {
	return archive.Shelf{Store: v.Store, Trust: v.Trust, Retired: v.Retired}
}

// Behind looks in the archives beside some backups for the logs that follow those backups which are bases, and returns what it finds by
// backup ID. It is enough if one of the archives has the log.
func (l Logs) Behind(ctx context.Context, in []backup.Vault, backups ...manifest.Manifest) (map[string]archive.Behind, error) {
	all := map[string]archive.Behind{}
	for _, v := range in {
		found, err := Shelf(v).Behind(ctx, l, backups...)
		if err != nil {
			return nil, err
		}
		for id, b := range found {
			b.Archived, b.Log, b.Doubt = b.Archived || all[id].Archived, b.Log || all[id].Log, cmp.Or(all[id].Doubt, b.Doubt)
			if b.Archived {
				b.Doubt = ""
			}
			all[id] = b
		}
	}
	return all, nil
}
