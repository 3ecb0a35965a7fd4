package zfs

import (
	"context"
	"math"
	"path"
	"slices"
	"strings"

	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// parameterNames are the module parameters the catalogue knows as knobs
// (knowledge/knobs/zfs.yaml); a test keeps the two lists alike. Others are
// recorded too, for people to read.
var parameterNames = []string{
	"l2arc_exclude_special", "l2arc_headroom", "l2arc_meta_percent", "l2arc_mfuonly", "l2arc_noprefetch",
	"l2arc_rebuild_enabled", "l2arc_trim_ahead", "l2arc_write_boost", "l2arc_write_max",
	"zfs_abd_scatter_enabled", "zfs_arc_dnode_limit_percent", "zfs_arc_max", "zfs_arc_meta_balance",
	"zfs_arc_meta_limit", "zfs_arc_meta_limit_percent", "zfs_arc_min", "zfs_arc_shrinker_limit", "zfs_arc_sys_free",
	"zfs_async_block_max_blocks", "zfs_bclone_enabled", "zfs_bclone_wait_dirty", "zfs_commit_timeout_pct",
	"zfs_compressed_arc_enabled", "zfs_delay_min_dirty_percent", "zfs_delay_scale", "zfs_dio_enabled",
	"zfs_dio_strict", "zfs_dirty_data_max", "zfs_dirty_data_max_max", "zfs_dirty_data_sync_percent",
	"zfs_dmu_offset_next_sync", "zfs_embedded_slog_min_ms", "zfs_fallocate_reserve_percent",
	"zfs_immediate_write_sz", "zfs_nocacheflush", "zfs_per_txg_dirty_frees_percent", "zfs_prefetch_disable",
	"zfs_txg_timeout", "zfs_vdev_aggregation_limit", "zfs_vdev_async_read_max_active",
	"zfs_vdev_async_write_max_active", "zfs_vdev_direct_write_verify", "zfs_vdev_max_active",
	"zfs_vdev_max_auto_ashift", "zfs_vdev_scheduler", "zfs_vdev_scrub_max_active",
	"zfs_vdev_sync_read_max_active", "zfs_vdev_sync_write_max_active", "zfs_wrlog_data_max",
	"zil_nocacheflush", "zil_slog_bulk", "zil_special_is_slog", "zvol_use_blk_mq",
}

// parameters reads every parameter of the module and compares it with what
// the next load will set.
func (l *look) parameters(ctx context.Context) {
	m := l.module
	files, err := l.h.Glob(ctx, path.Join(moduleDir, "parameters", "*"))
	if err != nil {
		l.gap(m.Ref, err, "zfs_*", "l2arc_*", "zil_*", "modprobe_unknown")
		return
	}
	boot := l.bootSettings(ctx)
	seen := map[string]bool{}
	for _, name := range files {
		p := path.Base(name)
		seen[p] = true
		text, err := l.h.ReadFile(ctx, name)
		if err != nil {
			if slices.Contains(parameterNames, p) {
				l.gap(m.Ref, err, p)
			}
			continue
		}
		setParameter(m, p, strings.TrimSpace(string(text)), name, boot)
	}
	if len(seen) == 0 {
		l.obs.Gap(m.Ref, "there is nothing in "+moduleDir+"/parameters", "in a container, mount the host's /sys", "zfs_*", "l2arc_*", "zil_*", "modprobe_unknown")
		return
	}
	for _, p := range parameterNames {
		if !seen[p] {
			m.SetAbsent(p, moduleDir+"/parameters")
		}
	}
	var unknown []string
	for p := range boot {
		if !seen[p] {
			unknown = append(unknown, p)
		}
	}
	slices.Sort(unknown)
	m.Set("modprobe_unknown", stack.List(unknown), "modprobe.d and "+moduleDir+"/parameters")
}

// setParameter records one parameter. Where the running value comes from is
// only said when it shows: it equals what a file sets, or it is the 0 that
// means "the module decides".
func setParameter(m *stack.Thing, name, value, source string, boot map[string]bootSetting) {
	v := parameterValue(value)
	next, set := boot[name]
	switch {
	case set && parameterValue(next.value).Equal(v):
		m.Setting(name, v, source, next.origin)
	case set:
		m.Setting(name, v, source, stack.Origin{From: stack.FromRuntime})
		f := m.Facts[name]
		f.Next = &stack.Next{Value: parameterValue(next.value), Origin: next.origin}
		m.Facts[name] = f
	case slices.Contains(zeroIsDefault, name) && v.Equal(stack.Int(0)):
		m.Setting(name, v, source, stack.Origin{From: stack.FromDefault})
	case slices.Contains(zeroIsDefault, name):
		m.Setting(name, v, source, stack.Origin{From: stack.FromRuntime})
		f := m.Facts[name]
		f.Next = &stack.Next{Value: stack.Int(0), Origin: stack.Origin{From: stack.FromDefault}}
		m.Facts[name] = f
	default:
		m.Set(name, v, source)
	}
}

// zeroIsDefault are parameters that are 0 in every version until somebody
// sets them.
var zeroIsDefault = []string{"zfs_arc_max", "zfs_arc_min", "zfs_nocacheflush", "zil_nocacheflush", "zfs_prefetch_disable"}

// noLimit is how the largest unsigned long reads, the default of
// zfs_async_block_max_blocks and others. It has no place in an int64; the
// largest of those says the same.
const noLimit = "18446744073709551615"

// parameterValue makes a number of what looks like one. modprobe takes
// numbers in hexadecimal too, and Y and N for booleans.
func parameterValue(s string) stack.Value {
	if s == noLimit {
		return stack.Int(math.MaxInt64)
	}
	if n, ok := zfs.ParseCount(s); ok {
		return stack.Int(n)
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		if n, ok := parseHex(hex); ok {
			return stack.Int(n)
		}
	}
	return stack.Text(s)
}
