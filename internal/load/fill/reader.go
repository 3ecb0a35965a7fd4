package fill

import (
	"bytes"
	"context"
	"io"
)

// chunk is how much text is made ahead, bytes.
const chunk = 128 << 10

// reader gives the text of a range of units. It is read by one goroutine.
type reader struct {
	ctx    context.Context
	t      *table
	next   int64 // unit
	to     int64 // first unit after the range
	buf    []byte
	unread []byte
	sum    tally
	onRead func(bytes int64)
}

// tally is what a range of units came to.
type tally struct {
	rows, bytes int64
	sums        []int64
	hash        uint64 // only where it was asked for
}

func (t *tally) add(o tally) {
	t.rows += o.rows
	t.bytes += o.bytes
	t.hash += o.hash
	for i, v := range o.sums {
		t.sums[i] += v
	}
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.unread) == 0 {
		if err := r.ctx.Err(); err != nil {
			return 0, context.Cause(r.ctx)
		}
		if r.next >= r.to {
			return 0, io.EOF
		}
		r.fill()
	}
	n := copy(p, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

// fill makes more text.
func (r *reader) fill() {
	r.buf = r.buf[:0]
	for ; r.next < r.to && len(r.buf) < chunk; r.next++ {
		r.buf = r.t.Row(r.buf, r.next)
	}
	r.unread = r.buf
	before := r.sum.bytes
	r.t.measure(&r.sum, r.buf)
	if r.onRead != nil {
		r.onRead(r.sum.bytes - before)
	}
}

// measure adds lines to a tally.
func (t *table) measure(sum *tally, lines []byte) {
	sum.bytes += int64(len(lines))
	if len(t.sumFields) == 0 {
		sum.rows += int64(bytes.Count(lines, []byte{'\n'}))
		return
	}
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		if end < 0 {
			end = len(lines) - 1
		}
		sum.rows++
		line := lines[:end]
		field, want := 0, 0
		for want < len(t.sumFields) {
			value := line
			tab := bytes.IndexByte(line, '\t')
			if tab >= 0 {
				value, line = line[:tab], line[tab+1:]
			}
			if field == t.sumFields[want] {
				sum.sums[want] += whole(value)
				want++
			}
			field++
			if tab < 0 {
				break
			}
		}
		lines = lines[end+1:]
	}
}

// whole reads a whole number; NULL and what is none is 0.
func whole(b []byte) (n int64) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}
