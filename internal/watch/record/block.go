package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"plumb/internal/series"
)

// What a block holds at most: a reader refuses one with more. A minute of most hosts
// is far below, and [minute.full] ends the block of a host with very many series.
const (
	mostRows       = 1 << 16         // batches in a block
	mostColumns    = 1 << 17         // in a section
	mostValues     = 1 << 21         // in a block
	mostSessions   = 1 << 17         // in a block
	mostStatements = mostValues / 4  // in a block
	mostReadings   = mostColumns / 3 // in a batch: a coarser tier may have the least and the most of each
)

var errDamaged = errors.New("the block is damaged")

// minute is the batches of one block, in the order in which they came.
type minute struct {
	t0       time.Time
	sections []*section
	order    []int64 // of each batch, the number of its section
	sessions []sessionRow
	stated   []statementRow

	sessionCount, statementCount int // in the rows of both
}

// full tells that no more should be added. The limits are half of what a block may hold, so one more batch never makes it too large.
func (m *minute) full() bool {
	cells := 0
	for _, s := range m.sections {
		cells += cellsOf(len(s.columns), len(s.at))
	}
	return cells >= mostValues/2 || len(m.order) >= mostRows/2 || m.sessionCount >= mostSessions/2 || m.statementCount >= mostStatements/2
}

// cellsOf is how much of what a block may hold a section takes. Missing values count too.
func cellsOf(columns, rows int) int { return (columns + 1) * max(rows, 1) }

func (m *minute) add(e entry, gaps int64) {
	number := int64(len(m.order))
	m.sessionCount += len(e.Sessions)
	m.statementCount += len(e.Statements)
	if len(e.Sessions) > 0 {
		m.sessions = append(m.sessions, sessionRow{number, e.Sessions})
	}
	if len(e.Statements) > 0 {
		m.stated = append(m.stated, statementRow{number, e.Statements})
	}
	for i := len(m.sections) - 1; i >= 0; i-- {
		if s := m.sections[i]; s.source == e.Source && s.every == e.Every && s.add(e, gaps) {
			m.order = append(m.order, int64(i))
			return
		}
	}
	s := newSection(e)
	s.add(e, gaps)
	m.order = append(m.order, int64(len(m.sections)))
	m.sections = append(m.sections, s)
}

// snapshot is the minute as it is now, for a block that is written before it is full.
func (m *minute) snapshot() *minute {
	c := &minute{t0: m.t0, order: m.order, sessions: m.sessions, stated: m.stated}
	for _, s := range m.sections {
		c.sections = append(c.sections, s.snapshot())
	}
	return c
}

// encode writes the values, in form 2. What the columns are called is in the schemas.
func (m *minute) encode() (plain, coded []byte) {
	o := newOutput()
	o.plain = binary.AppendUvarint(o.plain, uint64(len(m.order)))
	o.plain = appendInts(o.plain, 0, 0, m.order)
	for _, s := range m.sections {
		o.times(m.t0.UnixNano(), s.at)
		o.times(0, s.took)
		o.plain = appendInts(o.plain, 0, 0, s.gaps)
		for i, values := range s.values {
			o.plain = appendMissing(o.plain, s.missing[i])
			o.column(values)
		}
	}
	return o.plain, o.coder.end()
}

func appendMissing(dst []byte, rows []int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(rows)))
	last := int64(-1)
	for _, r := range rows {
		dst = binary.AppendUvarint(dst, uint64(r-last))
		last = r
	}
	return dst
}

// appendTimes writes times in the largest unit that loses nothing, because few are exact to the nanosecond, and the unit before them.
func appendTimes(dst []byte, start int64, ns []int64) []byte {
	unit, by := inUnits(start, ns)
	return appendInts(append(dst, unit), 0, 0, by)
}

func inUnits(start int64, ns []int64) (unit byte, by []int64) {
	unit = 3
	for _, n := range ns {
		for unit > 0 && (n-start)%scales[unit] != 0 {
			unit--
		}
	}
	by = make([]int64, len(ns))
	for i, n := range ns {
		by[i] = (n - start) / scales[unit]
	}
	return unit, by
}

var scales = [4]int64{1, 1e3, 1e6, 1e9}

func (in *input) times(start int64, n int) []int64 {
	unit := in.byte()
	if int(unit) >= len(scales) {
		in.fail()
		return nil
	}
	ns := in.whole(n)
	for i := range ns {
		ns[i] = ns[i]*scales[unit] + start
	}
	return ns
}

// whole reads whole numbers in the form of the block.
func (in *input) whole(n int) []int64 {
	if in.coded != nil {
		return in.predictedInts(n)
	}
	return in.ints(0, n)
}

// missing reads rows of which there are n: present[i] is false in those.
func (in *input) missing(n int) (present []bool, count int) {
	absent := in.count(n)
	if absent == 0 {
		return nil, n
	}
	present = make([]bool, n)
	for i := range present {
		present[i] = true
	}
	row := -1
	for range absent {
		row += in.count(n)
		if row < 0 || row >= n || !present[row] {
			in.fail()
			return nil, 0
		}
		present[row] = false
	}
	return present, n - absent
}

// decode reads what encode wrote, in either form, in the order in which the batches came. gaps[i] is the id of the list of gaps of
// batch i; 0 for none.
func decode(in *input, t0 time.Time, schemas []schema) (entries []entry, gaps []int64, err error) {
	n := in.count(mostRows)
	order := in.ints(0, n)
	members := make([][]int, len(schemas))
	for i, at := range order {
		if at < 0 || at >= int64(len(schemas)) {
			return nil, nil, fmt.Errorf("a batch of section %d of %d: %w", at, len(schemas), errDamaged)
		}
		members[at] = append(members[at], i)
	}
	entries, gaps = make([]entry, len(order)), make([]int64, len(order))
	budget := mostValues
	for i, sc := range schemas {
		if budget -= cellsOf(len(sc.columns), len(members[i])); budget < 0 || len(sc.columns) > mostColumns {
			return nil, nil, fmt.Errorf("more than %d values: %w", mostValues, errDamaged)
		}
		in.section(sc, members[i], t0, entries, gaps)
	}
	if err := in.ended(); err != nil {
		return nil, nil, err
	}
	return entries, gaps, nil
}

func (in *input) section(sc schema, members []int, t0 time.Time, entries []entry, gaps []int64) {
	n := len(members)
	at, took, lists := in.times(t0.UnixNano(), n), in.times(0, n), in.ints(0, n)
	if in.bad {
		return
	}
	for row, i := range members {
		entries[i].Batch = series.Batch{Source: sc.source, Every: sc.every, At: time.Unix(0, at[row]).UTC(), Took: time.Duration(took[row])}
		gaps[i] = lists[row]
		if len(sc.columns) > 0 {
			entries[i].Readings = make([]series.Reading, 0, len(sc.columns))
		}
	}
	for _, c := range sc.columns {
		present, count := in.missing(n)
		values := in.column(0, count)
		if in.bad {
			return
		}
		for row, i := range members {
			if present != nil && !present[row] {
				continue
			}
			entries[i].put(c, values[0])
			values = values[1:]
		}
	}
	for _, i := range members {
		if len(entries[i].Readings) == 0 {
			entries[i].Readings = nil
		}
	}
}

func (e *entry) put(c column, v float64) {
	r := series.Reading{Of: c.Of, Name: c.Name, Value: v}
	switch c.As {
	case asLeast:
		e.least = append(e.least, r)
	case asMost:
		e.most = append(e.most, r)
	default:
		e.Readings = append(e.Readings, r)
	}
}
