package zfs

import (
	"math"

	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// sparse adds up, for each pool, what its volumes have promised without keeping
// the space for it.
func (l *look) sparse() {
	type sum struct{ volumes, owed int64 }
	sums := map[string]sum{}
	for _, t := range l.datasets {
		pool := zfs.PoolOf(t.Ref.Name)
		if owed := owedBy(t); owed > 0 && sums[pool].owed <= math.MaxInt64-owed {
			sums[pool] = sum{sums[pool].volumes + 1, sums[pool].owed + owed}
		}
	}
	for name, p := range l.pools {
		root := l.datasets[name]
		if root == nil {
			continue
		}
		if n, ok := root.Int("available"); ok {
			p.Set("available", stack.Int(n), "zfs get available "+name)
		}
		p.Set("sparse_volumes", stack.Int(sums[name].volumes), "zfs get volsize,refreservation,usedbydataset")
		p.Set("sparse_owed", stack.Int(sums[name].owed), "zfs get volsize,refreservation,usedbydataset")
	}
}

// owedBy is what a volume may still take of the pool without having reserved
// it: 0 for a thick volume, whose refreservation covers its size, and for what
// is no volume. Snapshots, which keep overwritten blocks, come on top; what
// compression saves is not known beforehand.
func owedBy(t *stack.Thing) int64 {
	size, ok := t.Int("volsize")
	if !ok {
		return 0
	}
	kept, _ := t.Int("refreservation")
	used, _ := t.Int("usedbydataset")
	return max(0, size-max(kept, used))
}
