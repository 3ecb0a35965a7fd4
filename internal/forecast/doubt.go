package forecast

import (
	"fmt"
	"slices"
	"time"

	"plumb/internal/hint"
)

// Of a clock that is set back an hour is read twice, and a job can run twice. More moments
// than these with two values are of two things.
const mostTwice = 20 // days of which one may have such a moment

// inOrder gives the places of readings in order of time.
func (t *Table) inOrder() []int {
	order := make([]int, len(t.Days))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return t.Days[a].Date.Compare(t.Days[b].Date) })
	return order
}

// twice looks for moments that have two values.
func (f *file) twice(t *Table, order []int) error {
	days, bad := map[time.Time]bool{}, map[time.Time]bool{}
	first := 0 // the later one of the first two rows
	for i, at := range order {
		d := t.Days[at]
		day := written(d.Date).Truncate(24 * time.Hour)
		days[day] = true
		if i > 0 && t.Days[order[i-1]].Date.Equal(d.Date) && t.Days[order[i-1]].Value != d.Value {
			bad[day] = true
			if first == 0 {
				first = i
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	moment := t.Days[order[first]].Date.Format(time.DateTime)
	one, other := t.lines[order[first-1]], t.lines[order[first]]
	if len(bad) > max(1, len(days)/mostTwice) {
		return hint.With(fmt.Errorf("line %d: %s has another value than in line %d, and so have times of %d days", other, moment, one, len(bad)),
			"write the time of day as well; where rows are of several things, name them in a column such as mount")
	}
	f.note(fmt.Sprintf("%s has two values (lines %d and %d), as when clocks are set back: the later row counts", moment, one, other))
	return nil
}

// otherUnit is by how many times more in use than there is, the size is in another unit.
const otherUnit = 1000

// Numbers of no unit that are all less than this are rather of another one than bytes.
const leastUnitless = 1 << 20

// doubtUnits looks at whether a reading is in the unit that it is taken for: v and size
// are in bytes.
func (f *file) doubtUnits(r reading, v, size float64) {
	if _, word := cut(r.used.cell); word == "" && r.used.unit.word == "" {
		f.unitless = f.unitless || r.used.known()
	}
	f.most = max(f.most, v)
	if r.used.known() && r.size.known() && v > size && f.over.line == 0 {
		f.over.set(r.line, r.used.cell)
		f.note(fmt.Sprintf("in line %d more is in use (%s) than there is (%s): are both in the same unit?", r.line, Clip(r.used.cell), Clip(r.size.cell)))
	}
}
