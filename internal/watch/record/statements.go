package record

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// statementRow is the statements of one batch.
type statementRow struct {
	batch      int64 // its number in the block
	statements []series.Statement
}

// digest is what stays the same of a statement. Its text is stored once.
type digest struct {
	Of       stack.Ref
	Database string
	ID       string
	Text     string
	Rest     bool
}

func digestOf(s series.Statement) digest { return digest{s.Of, s.Database, s.ID, s.Text, s.Rest} }

// What is counted of a statement.
const (
	countCalls = iota
	countSeconds
	countExamined
	countReturned
	countBytes
	statementCounts
)

// base is what each digest stood at in the first block of an hour. Blocks of
// that hour say by how much it differs: of 2,000 statements few run in a minute.
type base map[int64][statementCounts]float64

// counted is one digest in the rows of one block. A batch that has it twice
// makes it two.
type counted struct {
	id      int64
	again   int
	missing []int64 // rows of the block's statements
	rank    []int64 // its place in its batch
	since   []int64 // nanoseconds since 1970; unknownSince
	counts  [statementCounts][]float64
	absent  [statementCounts][]int64 // rows of those in which it is not missing
}

const unknownSince = math.MinInt64

// encodeStatements writes the statements of a minute against a base, and gives
// the base that this block is for others. id gives the number of a digest.
func encodeStatements(rows []statementRow, against base, id func(digest) int64) (data []byte, first base) {
	all, batches := gather(rows, id)
	dst := binary.AppendUvarint(nil, uint64(len(rows)))
	dst = appendInts(dst, 0, 0, batches)
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	ids := make([]int64, len(all))
	for i, c := range all {
		ids[i] = c.id
	}
	dst = appendInts(dst, 0, 0, ids)
	first = base{}
	for _, c := range all {
		dst = appendMissing(dst, c.missing)
		dst = appendInts(dst, 0, 0, c.rank)
		dst = appendTimes(dst, 0, c.since)
		from := against[c.id]
		for i, values := range c.counts {
			dst = appendMissing(dst, c.absent[i])
			dst = appendColumn(dst, from[i], values)
		}
		first.take(c)
	}
	return dst, first
}

// take notes where a digest stands, unless it did.
func (b base) take(c *counted) {
	if _, known := b[c.id]; known {
		return
	}
	var at [statementCounts]float64
	for i, values := range c.counts {
		if len(values) > 0 {
			at[i] = values[0]
		}
	}
	b[c.id] = at
}

func gather(rows []statementRow, id func(digest) int64) (all []*counted, batches []int64) {
	type key struct {
		id    int64
		again int
	}
	byKey := map[key]*counted{}
	for row, r := range rows {
		batches = append(batches, r.batch)
		seen := map[int64]int{}
		for rank, s := range r.statements {
			n := id(digestOf(s))
			k := key{n, seen[n]}
			seen[n]++
			c := byKey[k]
			if c == nil {
				c = &counted{id: n, again: k.again}
				byKey[k], all = c, append(all, c)
			}
			c.add(int64(row), int64(rank), s)
		}
	}
	for _, c := range all {
		for row := len(c.missing) + len(c.rank); row < len(rows); row++ {
			c.missing = append(c.missing, int64(row))
		}
	}
	slices.SortFunc(all, func(a, b *counted) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.again, b.again))
	})
	return all, batches
}

func (c *counted) add(row, rank int64, s series.Statement) {
	for at := int64(len(c.missing) + len(c.rank)); at < row; at++ {
		c.missing = append(c.missing, at)
	}
	nth := int64(len(c.rank))
	since := int64(unknownSince)
	if !s.Since.IsZero() {
		since = s.Since.UnixNano()
	}
	c.rank, c.since = append(c.rank, rank), append(c.since, since)
	for i, v := range []*float64{&s.Calls, &s.Seconds, s.Examined, s.Returned, s.Bytes} {
		if v == nil {
			c.absent[i] = append(c.absent[i], nth)
		} else {
			c.counts[i] = append(c.counts[i], *v)
		}
	}
}

// mostPlaces is in how many places, one for each digest and row, statements of a block
// are looked for at most. Of several servers each has most of its rows for itself.
const mostPlaces = 64 * mostValues

// decodeStatements reads what encodeStatements wrote. digests gives those of a number.
func decodeStatements(data []byte, against base, digests func(int64) (digest, bool)) (rows []statementRow, first base, err error) {
	in := &input{data: data}
	n := in.count(mostRows)
	batches := in.ints(0, n)
	ids := in.ints(0, in.count(mostValues/statementCounts))
	if in.bad || len(ids)*max(n, 1) > mostPlaces {
		return nil, nil, errDamaged
	}
	ranked := make([][]rankedStatement, n)
	first = base{}
	total := 0
	for _, id := range ids {
		d, known := digests(id)
		if !known {
			return nil, nil, errDamaged
		}
		c := in.counted(id, n, d, against[id], ranked)
		if total += len(c.rank); in.bad || total > mostStatements {
			return nil, nil, errDamaged
		}
		first.take(c)
	}
	if err := in.ended(); err != nil {
		return nil, nil, err
	}
	rows = make([]statementRow, n)
	for i, list := range ranked {
		slices.SortStableFunc(list, func(a, b rankedStatement) int { return cmp.Compare(a.rank, b.rank) })
		rows[i] = statementRow{batches[i], make([]series.Statement, len(list))}
		for j, r := range list {
			rows[i].statements[j] = r.Statement
		}
	}
	return rows, first, nil
}

type rankedStatement struct {
	rank int64
	series.Statement
}

// counted reads one digest into the rows that have it.
func (in *input) counted(id int64, n int, d digest, from [statementCounts]float64, into [][]rankedStatement) *counted {
	c := &counted{id: id}
	present, count := in.missing(n)
	c.rank, c.since = in.ints(0, count), in.times(0, count)
	var has [statementCounts][]bool
	for i := range c.counts {
		some, k := in.missing(count)
		has[i], c.counts[i] = some, in.column(from[i], k)
	}
	if in.bad {
		return c
	}
	nth := 0
	var next [statementCounts]int
	for row := range n {
		if present != nil && !present[row] {
			continue
		}
		s := series.Statement{Of: d.Of, Database: d.Database, ID: d.ID, Text: d.Text, Rest: d.Rest}
		if c.since[nth] != unknownSince {
			s.Since = time.Unix(0, c.since[nth]).UTC()
		}
		var counts [statementCounts]*float64 // nil: it was not counted
		for i := range counts {
			if has[i] == nil || has[i][nth] {
				counts[i] = &c.counts[i][next[i]]
				next[i]++
			}
		}
		if n := counts[countCalls]; n != nil {
			s.Calls = *n
		}
		if n := counts[countSeconds]; n != nil {
			s.Seconds = *n
		}
		s.Examined, s.Returned, s.Bytes = counts[countExamined], counts[countReturned], counts[countBytes]
		into[row] = append(into[row], rankedStatement{c.rank[nth], s})
		nth++
	}
	return c
}
