package zfs

import (
	"strings"

	"plumb/internal/stack"
)

// room is what one limit leaves to a dataset.
type room struct{ left, limit int64 }

// tellQuotas records for each dataset the limit that is nearest: its own quota
// or refquota, or the quota of a dataset above it, which counts everything
// below. What zfs calls available is bounded by the space of the pool as well,
// and tells neither.
func (l *look) tellQuotas() {
	const source = "zfs get of it and the datasets above it"
	for name, t := range l.datasets {
		nearest, by := room{}, ""
		take := func(r room, ok bool, of string) {
			if ok && (by == "" || r.left < nearest.left) {
				nearest, by = r, of
			}
		}
		r, ok := roomOf(t, "refquota", "referenced")
		take(r, ok, "refquota of "+name)
		for at := name; ; {
			if above := l.datasets[at]; above != nil {
				r, ok := roomOf(above, "quota", "used")
				take(r, ok, "quota of "+at)
			}
			slash := strings.LastIndexByte(at, '/')
			if slash < 0 {
				break
			}
			at = at[:slash]
		}
		if by == "" {
			t.Absent(source, "quota_left", "quota_left_limit", "quota_left_by")
			continue
		}
		t.Set("quota_left", stack.Int(nearest.left), source)
		t.Set("quota_left_limit", stack.Int(nearest.limit), source)
		t.Set("quota_left_by", stack.Text(by), source)
	}
}

// roomOf gives what a limit of a dataset leaves; ok is false where none is set.
func roomOf(t *stack.Thing, limit, taken string) (r room, ok bool) {
	most, set := t.Int(limit)
	used, known := t.Int(taken)
	return room{max(0, most-used), most}, set && known && most > 0
}
