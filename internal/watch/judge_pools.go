package watch

import (
	"plumb/internal/stack"
)

// pool sets what is derived of a ZFS pool.
func (j *Judge) pool(w *judged, p *stack.Thing) {
	only := len(w.stack.OfKind("pool")) == 1
	p.Set("only_pool", stack.Bool(only), "zpool list")
	for _, z := range w.stack.OfKind("zfs") {
		j.logDelayed(w, p, z, only)
	}
	disks, known := w.stack.Follow(p, "disks")
	if !known || len(disks) == 0 || len(disks) < len(p.Links["disks"]) {
		return
	}
	most, busy := 0.0, false
	for _, d := range disks {
		f, told := d.Facts["response_ratio"]
		switch ratio, isNumber := f.Value.Number(); {
		case !told:
			g, _ := w.stack.GapFor(d.Ref, "response_ratio")
			gap(w.stack, p.Ref, g.Why, g.Hint, "response_ratio")
			return
		case isNumber:
			most, busy = max(most, ratio), true
		}
	}
	if !busy {
		p.SetAbsent("response_ratio", "/proc/diskstats")
		return
	}
	j.set(p, "response_ratio", most)
}

// logDelayed sets how many writers of a pool were slowed because much of its log was outstanding. The module counts
// those of all pools together, and how much is outstanding is told of none: of several pools it is known only that none was.
func (j *Judge) logDelayed(w *judged, p, z *stack.Thing, only bool) {
	const counter, limit = "tx_log_delayed_rate", "zfs_wrlog_data_max"
	rate, told := z.Number(counter)
	most, known := z.Facts[limit]
	switch {
	case told && (only || rate == 0):
		j.set(p, "log_delayed", rate)
	case told:
		gap(w.stack, p.Ref, "the module counts writers that are slowed for the log only for all pools together, and there were some", "", "log_delayed")
	case known && most.Value.IsAbsent(): // before OpenZFS 2.1.6
		p.SetAbsent("log_delayed", limit)
	default:
		g, _ := w.stack.GapFor(z.Ref, counter)
		gap(w.stack, p.Ref, g.Why, g.Hint, "log_delayed")
	}
}
