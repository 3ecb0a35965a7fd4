package record

import (
	"math"
	"slices"
	"strconv"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// folder makes one batch of all that a source gave within a step: of a counter
// the last value, of a gauge the mean, with its least and most.
type folder struct {
	last  entry
	order []series.ID
	sums  map[series.ID]*folded
	gaps  []series.Gap
}

type folded struct {
	sum, least, most, last float64
	n                      int
}

// fold gives the batches of a coarser tier, in the order of their last batch.
func fold(entries []entry, step time.Duration, counter func(of stack.Ref, name string) bool) []entry {
	type key struct {
		source string
		every  time.Duration
		at     int64
	}
	folders, order := map[key]*folder{}, []key(nil)
	for _, e := range entries {
		k := key{e.Source, e.Every, e.At.UnixNano() / int64(step)}
		f := folders[k]
		if f == nil {
			f = &folder{sums: map[series.ID]*folded{}}
			folders[k], order = f, append(order, k)
		}
		f.add(e)
	}
	var out []entry
	for _, k := range order {
		e := folders[k].entry(counter)
		e.Every = max(e.Every, step) // who reads it waits as long for the next
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b entry) int { return a.At.Compare(b.At) })
	return out
}

func (f *folder) add(e entry) {
	least, most := byID(e.least), byID(e.most)
	for _, r := range e.Readings {
		id := series.ID{Of: r.Of, Name: r.Name}
		s := f.sums[id]
		if s == nil {
			s = &folded{least: math.Inf(1), most: math.Inf(-1)}
			f.sums[id], f.order = s, append(f.order, id)
		}
		low, high := r.Value, r.Value
		if v, known := least[id]; known {
			low = v
		}
		if v, known := most[id]; known {
			high = v
		}
		s.sum, s.n, s.last, s.least, s.most = s.sum+r.Value, s.n+1, r.Value, min(s.least, low), max(s.most, high)
	}
	before := f.last
	f.last = e
	f.last.Took = max(before.Took, e.Took)
	if len(e.Statements) == 0 { // they are not asked for every time
		f.last.Statements = before.Statements
	}
	for _, g := range e.Gaps {
		if !slices.Contains(f.gaps, g) {
			f.gaps = append(f.gaps, g)
		}
	}
}

func byID(list []series.Reading) map[series.ID]float64 {
	if len(list) == 0 {
		return nil
	}
	m := make(map[series.ID]float64, len(list))
	for _, r := range list {
		m[series.ID{Of: r.Of, Name: r.Name}] = r.Value
	}
	return m
}

func (f *folder) entry(counter func(of stack.Ref, name string) bool) entry {
	e := f.last
	e.Readings, e.least, e.most, e.Sessions, e.Gaps = nil, nil, nil, nil, f.gaps
	for _, id := range f.order {
		s := f.sums[id]
		if counter(id.Of, id.Name) || s.n == 1 && s.least == s.last && s.most == s.last {
			e.Set(id.Of, id.Name, s.last)
			continue
		}
		if s.least == s.most {
			e.Set(id.Of, id.Name, s.least)
			continue
		}
		e.Set(id.Of, id.Name, shorter(s.sum/float64(s.n)))
		e.least = append(e.least, series.Reading{Of: id.Of, Name: id.Name, Value: s.least})
		e.most = append(e.most, series.Reading{Of: id.Of, Name: id.Name, Value: s.most})
	}
	return e
}

// shorter rounds a mean to five digits, which are more than it is good for: the
// rest would take most of the room.
func shorter(v float64) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	if err != nil {
		return v
	}
	return f
}
