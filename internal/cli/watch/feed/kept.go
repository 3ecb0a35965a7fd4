package feed

import (
	"context"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/known"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/prune"
)

// Keeper is told what is written down on this machine.
type Keeper interface {
	Kept(points []protect.Point, lost map[string]bool)
	Recalled(backups []known.Place)
}

// keptTime is how long it may take to read what is written down.
const keptTime = 30 * time.Second

// Kept reads what is written down of the points and backups of this machine, and asks storages whether the points'
// snapshots are there. What cannot be read is not told.
func Kept(k Keeper, storages []protect.Storage) {
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	backups, err := known.All(ctx, live, backup.Directory)
	if err == nil {
		k.Recalled(backups)
	}
	points, err := protect.Store{Dir: protect.Directory}.List(ctx, live)
	if err == nil {
		lost := map[string]bool{} // by ID
		for id, f := range prune.FactsBy(ctx, host.NewCached(live), storages, points) {
			lost[id] = f.Unusable() != ""
		}
		k.Kept(points, lost)
	}
}
