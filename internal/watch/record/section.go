package record

import (
	"slices"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// column is one series in the blocks of a tier.
type column struct {
	Of   stack.Ref
	Name string
	As   as
}

// as is what a column holds of its series: the value itself, or, in the
// coarser tiers, the least or the most of a gauge.
type as uint8

const (
	asValue as = iota
	asLeast
	asMost
)

// entry is a batch as it is stored. Of coarser tiers it has more than was given.
type entry struct {
	series.Batch
	least, most []series.Reading
}

func (e entry) columns() (cols []column, values []float64) {
	n := len(e.Readings) + len(e.least) + len(e.most)
	cols, values = make([]column, 0, n), make([]float64, 0, n)
	for i, list := range [][]series.Reading{e.Readings, e.least, e.most} {
		for _, r := range list {
			cols, values = append(cols, column{r.Of, r.Name, as(i)}), append(values, r.Value)
		}
	}
	return cols, values
}

// section is the batches of one source in a minute that have their readings in
// one order. Its columns are all that were seen, each with the rows in which it
// is missing.
type section struct {
	source  string
	every   time.Duration
	columns []column
	place   map[column]int // made when first needed
	values  [][]float64    // of each column, where it is not missing
	missing [][]int64      // rows, rising
	at      []int64        // nanoseconds since 1970
	took    []int64        // nanoseconds
	gaps    []int64        // id of the list of gaps; 0: none
}

func newSection(e entry) *section { return &section{source: e.Source, every: e.Every} }

// add takes a batch, and says whether its readings are in the section's order.
func (s *section) add(e entry, gaps int64) bool {
	if s.same(e) {
		for i := range e.Readings {
			s.values[i] = append(s.values[i], e.Readings[i].Value)
		}
		s.note(e, gaps)
		return true
	}
	cols, values := e.columns()
	if !s.merge(cols) {
		return false
	}
	row, next := int64(len(s.at)), 0
	for i := range s.columns {
		if next < len(cols) && cols[next] == s.columns[i] {
			s.values[i] = append(s.values[i], values[next])
			next++
		} else {
			s.missing[i] = append(s.missing[i], row)
		}
	}
	s.note(e, gaps)
	return true
}

func (s *section) note(e entry, gaps int64) {
	s.at, s.took, s.gaps = append(s.at, e.At.UnixNano()), append(s.took, int64(e.Took)), append(s.gaps, gaps)
}

// same is the common case: all readings of the section in their order.
func (s *section) same(e entry) bool {
	if len(e.Readings) != len(s.columns) || len(e.least)+len(e.most) > 0 {
		return false
	}
	for i := range e.Readings {
		r, c := &e.Readings[i], &s.columns[i]
		if r.Name != c.Name || r.Of != c.Of || c.As != asValue {
			return false
		}
	}
	return true
}

// merge puts columns that are new where they belong. It fails if the known ones
// are not in the order in which the section has them, or if one is there twice.
func (s *section) merge(cols []column) bool {
	if s.place == nil {
		s.place = places(s.columns)
	}
	last, fresh := -1, map[column]bool{}
	for _, c := range cols {
		i, known := s.place[c]
		if known && i <= last || fresh[c] {
			return len(s.at) == 0 && s.only(cols) // one batch alone is in its own order
		}
		if known {
			last = i
		} else {
			fresh[c] = true
		}
	}
	if len(fresh) > 0 {
		if rows := len(s.at); rows > 0 && cellsOf(len(s.columns)+len(fresh), rows+1) > mostCells {
			return false // of names that come and go most are missing in most rows
		}
		s.insert(cols, fresh)
	}
	return true
}

// mostCells is what a section takes at most while its columns become more.
const mostCells = mostValues / 8

func (s *section) only(cols []column) bool {
	s.columns, s.place = cols, nil
	s.values, s.missing = make([][]float64, len(cols)), make([][]int64, len(cols))
	for i := range s.values {
		s.values[i] = make([]float64, 0, 60)
	}
	return true
}

func (s *section) insert(cols []column, fresh map[column]bool) {
	n := len(s.columns) + len(fresh)
	columns, values, missing := make([]column, 0, n), make([][]float64, 0, n), make([][]int64, 0, n)
	old := 0
	takeUntil := func(end int) {
		columns, values, missing = append(columns, s.columns[old:end]...), append(values, s.values[old:end]...), append(missing, s.missing[old:end]...)
		old = end
	}
	for _, c := range cols {
		if !fresh[c] {
			takeUntil(s.place[c] + 1)
			continue
		}
		columns, values, missing = append(columns, c), append(values, make([]float64, 0, 60)), append(missing, rows(len(s.at)))
	}
	takeUntil(len(s.columns))
	s.columns, s.values, s.missing, s.place = columns, values, missing, places(columns)
}

// rows are the numbers of the rows before a column was there.
func rows(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

func places(cols []column) map[column]int {
	m := make(map[column]int, len(cols))
	for i, c := range cols {
		m[c] = i
	}
	return m
}

// snapshot is the section as it is now. What is added to the section later does
// not change it.
func (s *section) snapshot() *section {
	c := *s
	c.place = nil
	c.values = slices.Clone(s.values)
	c.missing = slices.Clone(s.missing)
	return &c
}
