package oltp

import (
	"sync"

	"plumb/internal/draw"
	"plumb/internal/load"
	"plumb/internal/product"
)

// segments is into how many parts select_random_points and _ranges divide a
// table, one for each event in turn. sysbench has one for each thread.
const segments = 16

// work is one session's half of the workload.
type work struct {
	load.Statements
	c          Config
	dist       draw.Distribution
	script     script
	sql        *product.Dialect
	base       int64 // ids above it are free
	own        int   // the table of this worker, for bulk_insert
	statements [kinds][]int
	ledger     int
	args       []load.Arg
	buf        []byte // texts of an event
	stream     draw.Stream

	mu   sync.Mutex // guards bulk against Close
	bulk []byte     // bulk_insert's statement so far
}

// Do implements load.Work. What event n does is drawn from (seed, n) alone:
// for each group of statements the table, for each statement its keys.
func (w *work) Do(n int64, t *load.Tally) error {
	if w.c.Script == bulkInsert {
		return w.gather(n, t)
	}
	w.Reset(t)
	w.event(n)
	switch {
	case w.Err == nil && w.script.writes && w.c.Ledger != nil:
		w.c.Ledger.Acknowledge(n)
	case w.Err != nil && w.script.transaction:
		return w.Undo()
	}
	return w.Err
}

func (w *work) event(n int64) {
	w.stream = draw.Keyed(w.c.Seed, 0, n)
	s := &w.stream
	if w.script.transaction {
		w.Begin()
	}
	for _, g := range w.script.groups {
		if g.n > 0 {
			w.group(g, n, s)
		}
	}
	if !w.script.prepared {
		w.insertText(n, s)
	}
	if !w.script.transaction {
		return
	}
	if w.c.Ledger != nil && w.script.writes {
		w.args = append(w.args[:0], load.Arg{}, load.Arg{})
		w.c.Ledger.Fill(w.args, n)
		w.Run(w.ledger, w.args)
	}
	w.Commit()
}

// group does the statements of one kind on one table.
func (w *work) group(g group, n int64, s *draw.Stream) {
	table := 0
	if g.kind != points && g.kind != ranges {
		table = int(s.Below(int64(w.c.Tables)))
	}
	for range g.n {
		w.draw(g.kind, n, s)
		w.Run(w.statements[g.kind][table], w.args)
		if g.kind != remove || len(w.statements[insert]) == 0 {
			continue
		}
		w.args = append(w.args, load.Int(w.key(s)))
		w.drawTexts(s)
		w.Run(w.statements[insert][table], w.args)
	}
}

// key draws an id, or a k.
func (w *work) key(s *draw.Stream) int64 { return w.dist.Draw(s, 1, w.c.TableSize) }

// draw sets the parameters of one statement.
func (w *work) draw(k kind, n int64, s *draw.Stream) {
	w.args = w.args[:0]
	switch k {
	case simple, sum, order, distinct:
		id := w.key(s)
		w.args = append(w.args, load.Int(id), load.Int(id+w.c.RangeSize-1))
	case nonIndex:
		id := w.key(s)
		w.buf = s.Digits(w.buf[:0], 10)
		w.args = append(w.args, load.Str(w.buf), load.Int(id))
	case points:
		for range w.c.RandomPoints {
			w.args = append(w.args, load.Int(w.inSegment(n, s)))
		}
	case ranges:
		for range w.c.Ranges {
			from := w.inSegment(n, s)
			w.args = append(w.args, load.Int(from), load.Int(from+w.c.Delta))
		}
	default:
		w.args = append(w.args, load.Int(w.key(s)))
	}
}

// inSegment draws a k of the event's segment of the table.
func (w *work) inSegment(n int64, s *draw.Stream) int64 {
	length := max(1, w.c.TableSize/segments)
	from := length * (n % segments)
	return w.dist.Draw(s, from, from+length)
}

// drawTexts adds c and pad to the parameters.
func (w *work) drawTexts(s *draw.Stream) {
	w.buf = s.Digits(w.buf[:0], 10)
	end := len(w.buf)
	w.buf = s.Digits(w.buf, 5)
	w.args = append(w.args, load.Str(w.buf[:end]), load.Str(w.buf[end:]))
}

// Close implements load.Work.
func (w *work) Close() error {
	if w.mu.TryLock() { // otherwise Do runs, and shall end
		w.Reset(&load.Tally{})
		w.flush() // nobody asks any more
		w.mu.Unlock()
	}
	return w.Session.Close()
}
