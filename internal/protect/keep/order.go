package keep

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plumb/internal/protect"
	"plumb/internal/units"
)

// slack is how far a clock may be off without having jumped, as it is set right now and then.
const slack = 5 * time.Minute

// birth is a snapshot's number in its pool. Within a pool the numbers grow with time,
// whatever the clock says.
type birth struct {
	pool string
	n    uint64
}

// births returns the births of a point's snapshots that have a number.
func births(p protect.Point) (all []birth) {
	for _, m := range p.Members {
		n, err := strconv.ParseUint(m.Birth, 10, 64)
		if err != nil || m.Pool == "" {
			continue
		}
		all = append(all, birth{m.Storage + " " + m.Pool, n})
	}
	return all
}

// inOrder sorts points, the oldest first: by birth within a pool, and by time between pools, as a server can
// have moved from one pool to another.
func inOrder(fates []Fate) []Fate {
	groups := map[string][]*Fate{}
	var pools []string
	for i := range fates {
		f := &fates[i]
		if f.births = births(f.Point); len(f.births) == 0 {
			f.births = []birth{{}}
		}
		pool := f.births[0].pool
		if groups[pool] == nil {
			pools = append(pools, pool)
		}
		groups[pool] = append(groups[pool], f)
	}
	slices.Sort(pools)
	for _, pool := range pools {
		slices.SortFunc(groups[pool], func(a, b *Fate) int {
			return cmp.Or(cmp.Compare(a.births[0].n, b.births[0].n), byTime(a, b))
		})
	}
	out := make([]Fate, 0, len(fates))
	for len(out) < len(fates) {
		next := ""
		for _, pool := range pools {
			if len(groups[pool]) > 0 && (len(groups[next]) == 0 || byTime(groups[pool][0], groups[next][0]) < 0) {
				next = pool
			}
		}
		out, groups[next] = append(out, *groups[next][0]), groups[next][1:]
	}
	return out
}

func byTime(a, b *Fate) int {
	return cmp.Or(At(a.Point).Compare(At(b.Point)), cmp.Compare(a.Point.ID, b.Point.ID))
}

// jumped says why the clock that dated these points, or the one that tells now, must have been
// wrong; "" when nothing shows that. The points must be in order.
func jumped(now time.Time, fates []Fate, thing string) string {
	last := map[string]*Fate{} // with the latest time so far, by pool
	for i := range fates {
		f := &fates[i]
		at := At(f.Point)
		switch {
		case at.After(now.Add(slack)):
			return fmt.Sprintf("%s %s is dated in the future: it is %s now", thing, f.Point.ID, units.Moment(now))
		case at.Before(firstTime()):
			return fmt.Sprintf("%s %s is older than Plumb", thing, f.Point.ID)
		}
		for _, b := range f.births {
			if b.pool == "" {
				continue
			}
			if had, ok := last[b.pool]; ok && At(had.Point).After(at.Add(slack)) {
				return fmt.Sprintf("%s %s was made before %s, but has the later time", thing, had.Point.ID, f.Point.ID)
			}
			if had, ok := last[b.pool]; !ok || at.After(At(had.Point)) {
				last[b.pool] = f
			}
		}
	}
	return ""
}

// Ahead says how the clock that dated a point must have been set back since: what is done after it can have an earlier time. "" when nothing
// speaks for that.
func Ahead(now time.Time, p protect.Point, all []protect.Point) string {
	at, own := At(p), births(p)
	if at.After(now) {
		return fmt.Sprintf("point %s is dated in the future: it is %s now", p.ID, units.Moment(now))
	}
	for _, other := range all {
		for _, b := range births(other) {
			if At(other).Before(at) && slices.ContainsFunc(own, func(o birth) bool { return o.pool == b.pool && o.n < b.n }) {
				return fmt.Sprintf("point %s was made after %s, but has the earlier time", other.ID, p.ID)
			}
		}
	}
	return ""
}

// firstTime is when there was no Plumb yet: a machine whose clock has no battery begins in 1970.
func firstTime() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
