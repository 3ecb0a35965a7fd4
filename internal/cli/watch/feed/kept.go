package feed

import (
	"context"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/known"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/prune"
)

// Keeper gets what is written down on this machine.
type Keeper interface {
	Kept(points []protect.Point, lost map[string]bool)
	Recalled(backups []known.Place)
	Archived(services []archive.Status)
}

// keptTime limits how long reading what is written down may take.
const keptTime = 30 * time.Second

// Kept reads what is written down about the points, backups and archives of this machine, and asks storages whether the points'
// snapshots are there. What cannot be read is left out.
func Kept(k Keeper, storages []protect.Storage) {
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	keptBackups(ctx, k, live, backup.Directory)
	keptArchives(ctx, k, live, backup.Directory)
	keptPoints(ctx, k, live, protect.Store{Dir: protect.Directory}, storages)
}

// keptBackups returns the places whose files can be read. A damaged file must not hide how old the backups in other places are.
func keptBackups(ctx context.Context, k Keeper, h host.Reader, state string) {
	if backups, err := known.All(ctx, h, state); err == nil || len(backups) > 0 {
		k.Recalled(backups)
	}
}

// keptArchives returns the services whose files can be read.
func keptArchives(ctx context.Context, k Keeper, h host.Reader, state string) {
	if services, err := archive.Statuses(ctx, h, state); err == nil || len(services) > 0 {
		k.Archived(services)
	}
}

// keptPoints returns the points whose files can be read.
func keptPoints(ctx context.Context, k Keeper, h host.Reader, from protect.Store, storages []protect.Storage) {
	points, err := from.List(ctx, h)
	if err == nil || len(points) > 0 {
		lost := map[string]bool{} // by ID
		for id, f := range prune.FactsBy(ctx, host.NewCached(h), storages, points) {
			lost[id] = f.Unusable() != ""
		}
		k.Kept(points, lost)
	}
}
