package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/storage/zfs"
)

// arcSource reads what OpenZFS counts of itself: the ARC, the intent log and the
// write throttle.
type arcSource struct{ of stack.Ref }

// Name implements [sample.Source].
func (arcSource) Name() string { return "zfs" }

// Every implements [sample.Source].
func (arcSource) Every() time.Duration { return sample.Second }

// kstats are the readings of each file, by their names there.
var kstats = map[string]map[string]string{
	"arcstats": {
		"arc_size": "size", "arc_target": "c", "arc_data": "data_size", "arc_metadata": "metadata_size",
		"arc_compressed": "compressed_size", "arc_uncompressed": "uncompressed_size",
		"arc_demand_data_hits": "demand_data_hits", "arc_demand_data_iohits": "demand_data_iohits", "arc_demand_data_misses": "demand_data_misses",
		"arc_demand_metadata_hits": "demand_metadata_hits", "arc_demand_metadata_iohits": "demand_metadata_iohits",
		"arc_demand_metadata_misses": "demand_metadata_misses", "arc_prefetch_data_hits": "prefetch_data_hits",
		"arc_prefetch_data_misses": "prefetch_data_misses", "arc_throttled": "memory_throttle_count", "arc_no_grow": "arc_no_grow",
		"arc_mru_ghost_hits": "mru_ghost_hits", "arc_mfu_ghost_hits": "mfu_ghost_hits",
		"l2_hits": "l2_hits", "l2_misses": "l2_misses", "l2_size": "l2_size", "l2_asize": "l2_asize", "l2_headers": "l2_hdr_size",
		"l2_io_errors": "l2_io_error", "l2_checksum_errors": "l2_cksum_bad",
	},
	"zil": {
		"zil_commits": "zil_commit_count", "zil_indirect": "zil_itx_indirect_count",
		"zil_slog_bytes": "zil_itx_metaslab_slog_bytes", "zil_normal_bytes": "zil_itx_metaslab_normal_bytes",
	},
	"dmu_tx": {
		"tx_delayed": "dmu_tx_dirty_delay", "tx_throttled": "dmu_tx_dirty_throttle", "tx_over_max": "dmu_tx_dirty_over_max",
		"tx_log_delayed": "dmu_tx_wrlog_delay",
	},
}

const kstatDir = "/proc/spl/kstat/zfs/"

// Take implements [sample.Source].
func (a arcSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	for file, readings := range kstats {
		data, err := h.ReadFile(ctx, kstatDir+file)
		if err != nil {
			for name := range readings {
				b.Gap(a.of, err.Error(), "", name)
			}
			continue
		}
		stats := zfs.ParseKstat(data)
		for name, key := range readings {
			if n, ok := stats[key]; ok {
				b.Set(a.of, name, float64(n))
			}
		}
	}
	return b, ctx.Err()
}

// txgSource reads the transaction groups of a pool.
type txgSource struct{ pool stack.Ref }

// Name implements [sample.Source].
func (t txgSource) Name() string { return "transaction groups of " + t.pool.Name }

// Every implements [sample.Source].
func (txgSource) Every() time.Duration { return sample.Second }

var txgReadings = []string{"txgs", "txg_sync_us", "txg_wait_us", "txg_dirty"}

// Take implements [sample.Source].
func (t txgSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	name := kstatDir + t.pool.Name + "/txgs"
	data, err := h.ReadFile(ctx, name)
	switch newest, ok := zfs.NewestTxg(data); {
	case errors.Is(err, fs.ErrNotExist):
		b.Gap(t.pool, name+" does not exist: the pool was exported", "", txgReadings...)
	case err != nil && !errors.Is(err, host.ErrTooLarge):
		return b, err
	case !ok:
		b.Gap(t.pool, name+" shows no group that was written", "set the module parameter zfs_txg_history to 100", txgReadings...)
	case errors.Is(err, host.ErrTooLarge): // the newest is at the end
		b.Gap(t.pool, fmt.Sprintf("%s: %v", name, err), "set the module parameter zfs_txg_history to 100", txgReadings...)
	default:
		for i, n := range []int64{newest.Number, newest.Sync, newest.Wait, newest.Dirty} {
			b.Set(t.pool, txgReadings[i], float64(n))
		}
	}
	return b, nil
}

// fuseSource says what zfs-fuse does not count.
type fuseSource struct {
	of    stack.Ref
	pools []stack.Ref
}

// Name implements [sample.Source].
func (fuseSource) Name() string { return "zfs-fuse" }

// Every implements [sample.Source].
func (fuseSource) Every() time.Duration { return sample.Minute }

// Take implements [sample.Source].
func (f fuseSource) Take(context.Context, host.Reader) (b series.Batch, err error) {
	const why, hint = "zfs-fuse counts no %s", "OpenZFS does"
	b.Gap(f.of, fmt.Sprintf(why, "figures of its ARC, intent log and write throttle over time"), hint)
	for _, p := range f.pools {
		b.Gap(p, fmt.Sprintf(why, "transaction groups"), hint, txgReadings...)
	}
	return b, nil
}
