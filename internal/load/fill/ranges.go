package fill

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// table is a table of the plan with what is known of it.
type table struct {
	Table
	sumFields []int // fields of Sums, ascending
	sumNames  []string
	perUnit   float64 // bytes of text, estimated
	rowsEach  float64 // rows of a unit, estimated
	steps     map[int64]bool
	made      bool // in the database
	sent      tally
	earlier   []span // in since an earlier attempt
	open      []span // not in yet
	pending   int    // ranges of open that are not in yet
	checksum  string // of the content, when it was verified
}

// span is units [lo, hi).
type span struct{ lo, hi int64 }

// samples is how many units the length of all is estimated from.
const samples = 64

// prepared checks a table and estimates it.
func prepared(t Table) (*table, error) {
	out := &table{Table: t, steps: map[int64]bool{}}
	if t.Name == "" || t.Row == nil || t.Create == "" || t.Units < 0 || len(t.Columns) == 0 || strings.ContainsAny(t.Name, "'\\") || len(t.Name) > 100 {
		return nil, fmt.Errorf("table %q of the plan is not whole", t.Name)
	}
	for i, c := range t.Columns {
		if slices.Contains(t.Sums, c) {
			out.sumFields = append(out.sumFields, i)
			out.sumNames = append(out.sumNames, c)
		}
	}
	if len(out.sumFields) != len(t.Sums) {
		return nil, fmt.Errorf("table %s: sums %v are not all among the columns %v", t.Name, t.Sums, t.Columns)
	}
	out.sent = out.newTally()
	var text []byte
	n := min(samples, t.Units)
	for i := range n {
		text = t.Row(text, i*(t.Units/n))
	}
	if n > 0 {
		out.perUnit = max(1, float64(len(text))/float64(n))
		out.rowsEach = float64(bytes.Count(text, []byte{'\n'})) / float64(n)
	}
	return out, nil
}

func (t *table) newTally() tally { return tally{sums: make([]int64, len(t.sumFields))} }

func (t *table) size() float64 { return t.perUnit * float64(t.Units) }

// gaps gives the units of [0, units) that lie in none of the spans.
func gaps(units int64, in []span) ([]span, error) {
	slices.SortFunc(in, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	var out []span
	at := int64(0)
	for _, s := range in {
		if s.lo < at || s.hi > units {
			return nil, fmt.Errorf("units %d to %d are noted twice or beyond the last, %d", s.lo, s.hi, units)
		}
		if s.lo > at {
			out = append(out, span{at, s.lo})
		}
		at = s.hi
	}
	if at < units {
		out = append(out, span{at, units})
	}
	return out, nil
}

// split cuts spans into pieces of at most n units.
func split(spans []span, n int64) []span {
	var out []span
	for _, s := range spans {
		for lo := s.lo; lo < s.hi; lo += n {
			out = append(out, span{lo, min(lo+n, s.hi)})
		}
	}
	return out
}
