package sampler

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// tables adds up what the files of each table take.
type tables struct {
	of   *regexp.Regexp // names of files; nil: they tell nothing
	sums map[string]taken
}

// add adds a file, if it is one of a table.
func (t tables) add(name string, f found) {
	if t.of == nil {
		return
	}
	if m := t.of.FindStringSubmatch(name); m != nil {
		t.sums[m[1]] = t.sums[m[1]].with(f)
	}
}

// set records the largest, by what they take on the device.
func (t tables) set(b *series.Batch, server stack.Ref) {
	names := slices.SortedFunc(maps.Keys(t.sums), func(x, y string) int {
		return cmp.Or(cmp.Compare(t.sums[y].bytes, t.sums[x].bytes), cmp.Compare(x, y))
	})
	for _, name := range names[:min(len(names), series.MostTables)] {
		of := series.Table(server, name)
		b.Set(of, "space", float64(t.sums[name].bytes))
		b.Set(of, "space_logical", float64(t.sums[name].length))
	}
}
