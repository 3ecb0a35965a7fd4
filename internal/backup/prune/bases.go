package prune

import (
	"slices"

	"plumb/internal/archive"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// keepBases has the newest base of each server stay, whatever the rules say: newer dumps of the same server may be all that
// they keep, and without a base the archived log leads nowhere.
func (p Pruner) keepBases(s survey, all found) {
	newest := map[stack.Ref]protect.Point{}
	for _, pt := range all.points {
		is := slices.ContainsFunc(p.Products, func(a archive.Product) bool { return a.Knows(*s.folders[pt.ID].m) })
		if had, some := newest[pt.Server.Ref]; is && (!some || had.Times.Snapshot.Before(pt.Times.Snapshot)) {
			newest[pt.Server.Ref] = pt
		}
	}
	for _, pt := range newest {
		k := all.facts[pt.ID]
		k.Kept = append(k.Kept, "it is the newest base backup")
		all.facts[pt.ID] = k
	}
}
