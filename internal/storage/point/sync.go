package point

import (
	"context"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// synced is a storage that has less to write for a snapshot when what waits was written out before.
type synced struct{}

// Settle implements protect.Storage.
func (synced) Settle(ctx context.Context, d host.Streamer, vols []protect.Volume) error {
	return syncAll(ctx, d, vols)
}

// syncAll writes out what waits, so that a snapshot has less to write.
func syncAll(ctx context.Context, d host.Doer, vols []protect.Volume) error {
	for _, v := range vols {
		if _, err := d.Run(ctx, "sync", "-f", "--", v.Mountpoint); err != nil {
			return err
		}
	}
	return nil
}
