package feed

import (
	"context"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/known"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Keeper is told what is written down on this machine.
type Keeper interface {
	Kept(points []protect.Point)
	Recalled(backups []known.Place)
}

// keptTime is how long it may take to read what is written down.
const keptTime = 30 * time.Second

// Kept reads what is written down of the points and backups of this machine. What cannot be read is not told.
func Kept(k Keeper) {
	ctx, cancel := context.WithTimeout(context.Background(), keptTime)
	defer cancel()
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	points, err := protect.Store{Dir: protect.Directory}.List(ctx, live)
	if err == nil {
		k.Kept(points)
	}
	backups, err := known.All(ctx, live, backup.Directory)
	if err == nil {
		k.Recalled(backups)
	}
}
