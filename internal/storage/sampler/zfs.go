package sampler

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	storage "plumb/internal/storage/zfs"
	"plumb/internal/zfs"
)

const kstats = "/proc/spl/kstat/zfs"

// figure is a reading and what it is called in its file.
type figure struct{ name, field string }

// moduleFigures are what is read of the module, by file.
var moduleFigures = []struct {
	file    string
	figures []figure
}{
	{"arcstats", []figure{
		{"arc_size", "size"}, {"arc_limit", "c_max"}, {"arc_min", "c_min"}, {"arc_target", "c"}, {"arc_data", "data_size"}, {"arc_metadata", "metadata_size"},
		{"arc_compressed", "compressed_size"}, {"arc_uncompressed", "uncompressed_size"},
		{"arc_demand_data_hits", "demand_data_hits"}, {"arc_demand_data_iohits", "demand_data_iohits"}, {"arc_demand_data_misses", "demand_data_misses"},
		{"arc_demand_metadata_hits", "demand_metadata_hits"}, {"arc_demand_metadata_iohits", "demand_metadata_iohits"},
		{"arc_demand_metadata_misses", "demand_metadata_misses"}, {"arc_prefetch_data_hits", "prefetch_data_hits"},
		{"arc_prefetch_data_misses", "prefetch_data_misses"}, {"arc_mru_ghost_hits", "mru_ghost_hits"}, {"arc_mfu_ghost_hits", "mfu_ghost_hits"},
		{"arc_throttled", "memory_throttle_count"}, {"arc_no_grow", "arc_no_grow"}, {"l2_hits", "l2_hits"}, {"l2_misses", "l2_misses"},
		{"l2_size", "l2_size"}, {"l2_asize", "l2_asize"}, {"l2_headers", "l2_hdr_size"}, {"l2_io_errors", "l2_io_error"}, {"l2_checksum_errors", "l2_cksum_bad"},
	}},
	{"zil", []figure{
		{"zil_commits", "zil_commit_count"}, {"zil_indirect", "zil_itx_indirect_count"},
		{"zil_slog_bytes", "zil_itx_metaslab_slog_bytes"}, {"zil_normal_bytes", "zil_itx_metaslab_normal_bytes"},
	}},
	{"dmu_tx", []figure{
		{"tx_delayed", "dmu_tx_dirty_delay"}, {"tx_throttled", "dmu_tx_dirty_throttle"},
		{"tx_over_max", "dmu_tx_dirty_over_max"}, {"tx_log_delayed", "dmu_tx_wrlog_delay"},
		{"tx_no_room", "dmu_tx_quota"},
	}},
}

func zfsSources(s *stack.Stack) []sample.Source {
	modules := s.OfKind("zfs")
	if len(modules) == 0 {
		return nil
	}
	m := modules[0]
	fuse := m.Text("implementation") == "zfs-fuse"
	if fuse {
		return append([]sample.Source{sample.Made("zfs", sample.Minute, fuseModule{m.Ref}.take)}, pools(s, true)...)
	}
	out := []sample.Source{sample.Made("zfs", sample.Second, module{m.Ref}.take)}
	for _, p := range first(s.OfKind("pool")) {
		out = append(out, sample.Made("pool "+p.Ref.Name+" groups", sample.Second, groups{p.Ref}.take))
	}
	return append(out, pools(s, false)...)
}

// fuseModule says that zfs-fuse counts nothing that could be read.
type fuseModule struct{ of stack.Ref }

func (m fuseModule) take(_ context.Context, _ host.Reader, b *series.Batch) error {
	b.Gap(m.of, "zfs-fuse has no figures of its cache, its intent log and its transaction groups", "OpenZFS in the kernel has them, in "+kstats)
	return nil
}

// module reads the ARC, the intent log and the write throttle of OpenZFS.
type module struct{ of stack.Ref }

func (m module) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	for _, f := range moduleFigures {
		data, err := h.ReadFile(ctx, path.Join(kstats, f.file))
		if err != nil {
			b.Gap(m.of, err.Error(), hintFor(err), names(f.figures)...)
			continue
		}
		stats := zfs.ParseKstat(data)
		for _, x := range f.figures {
			if n, ok := stats[x.field]; ok && n >= 0 { // what is not there is not counted by this version
				b.Set(m.of, x.name, float64(n))
			}
		}
	}
	return ctx.Err()
}

func names(figures []figure) []string {
	out := make([]string, len(figures))
	for i, f := range figures {
		out[i] = f.name
	}
	return out
}

// groups reads the transaction groups of one pool, and whether it is suspended:
// figures that the kernel gives without asking the pool.
type groups struct{ of stack.Ref }

func (g groups) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	dir := path.Join(kstats, g.of.Name)
	data, err := h.ReadFile(ctx, path.Join(dir, "txgs"))
	if err != nil && !errors.Is(err, host.ErrTooLarge) {
		b.Gap(g.of, err.Error(), hintFor(err), "txgs", "txg_sync_us", "txg_wait_us", "txg_dirty")
	} else if t, ok := storage.NewestGroup(data); ok {
		b.Set(g.of, "txgs", float64(t.Number))
		b.Set(g.of, "txg_sync_us", float64(t.Sync/1000))
		b.Set(g.of, "txg_wait_us", float64(t.Wait/1000))
		b.Set(g.of, "txg_dirty", float64(t.Dirty))
	} else {
		b.Gap(g.of, "ZFS keeps no history of its transaction groups", "set zfs_txg_history, which is 100 since OpenZFS 0.8", "txgs", "txg_sync_us", "txg_wait_us", "txg_dirty")
	}
	state, err := h.ReadFile(ctx, path.Join(dir, "state"))
	switch {
	case errors.Is(err, fs.ErrNotExist): // before OpenZFS 0.8
	case err != nil:
		b.Gap(g.of, err.Error(), hintFor(err), "suspended")
	default:
		b.Set(g.of, "suspended", truth(strings.TrimSpace(string(state)) == "SUSPENDED"))
	}
	return ctx.Err()
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
