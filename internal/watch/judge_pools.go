package watch

import (
	"plumb/internal/stack"
)

// pool sets what is derived of a ZFS pool.
func (j *Judge) pool(w *judged, p *stack.Thing) {
	if all := w.stack.OfKind("pool"); len(all) > 0 {
		p.Set("only_pool", stack.Bool(len(all) == 1), "zpool list")
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
