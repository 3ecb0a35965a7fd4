package watch

import (
	"cmp"
	"slices"
)

// Order is by what statements are listed.
type Order string

// The orders, the usual one first.
const (
	ByTime   Order = "time"   // that they took
	ByGrowth Order = "growth" // the time by which they cost more than before
	ByRows   Order = "rows"   // that they examined, or returned where the server counts no others
	ByBytes  Order = "bytes"  // of pages and log that they touched
)

// AllOrders are the orders as a person goes through them.
var AllOrders = []Order{ByTime, ByGrowth, ByRows, ByBytes}

// Orders names them.
func Orders() []string {
	var out []string
	for _, o := range AllOrders {
		out = append(out, string(o))
	}
	return out
}

// Sort puts the largest first, what is not known behind it, and what Plumb itself asked last.
func (o Order) Sort(all []StatementChange) { slices.SortFunc(all, o.compare) }

// Places gives the place of each statement of a list in this order, 0 for the first.
func (o Order) Places(all []StatementChange) []int {
	sorted := make([]int, len(all))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortStableFunc(sorted, func(i, j int) int { return o.compare(all[i], all[j]) })
	out := make([]int, len(all))
	for place, i := range sorted {
		out[i] = place
	}
	return out
}

func (o Order) compare(x, y StatementChange) int {
	return cmp.Or(cmp.Compare(last(x), last(y)), cmp.Compare(o.of(y), o.of(x)), cmp.Compare(y.Seconds, x.Seconds),
		cmp.Compare(x.Database, y.Database), cmp.Compare(x.ID, y.ID))
}

// List lists the statements of a moment in an order. By time they are already.
func (m *Moment) List(by Order) {
	if by == ByTime {
		return
	}
	m.By = by
	for _, s := range m.Servers {
		by.Sort(s.Statements)
	}
}

// of is how large a statement is in this order; less than nothing where that is not known.
func (o Order) of(c StatementChange) float64 {
	switch {
	case o == ByTime:
		return c.Seconds
	case o == ByGrowth && c.SlowerCalls != nil && c.MoreCalls != nil:
		return *c.SlowerCalls + *c.MoreCalls
	case o == ByRows && c.Examined != nil:
		return *c.Examined
	case o == ByRows && c.Returned != nil:
		return *c.Returned
	case o == ByBytes && c.Bytes != nil:
		return *c.Bytes
	}
	return notKnown
}

// notKnown is behind everything that is, a cost that fell among it.
const notKnown = -1e300

// last puts our own statements behind all others, and before them those that are one line.
func last(s StatementChange) int {
	switch {
	case s.Own():
		return 2
	case s.ID == restID:
		return 1
	}
	return 0
}
