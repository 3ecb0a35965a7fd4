package oltp

import (
	"strconv"

	"plumb/internal/draw"
	"plumb/internal/load"
)

// insertText sends the INSERT of oltp_insert, which sysbench does not
// prepare. With auto-inc the server chooses the id. Without, it is the event's
// number above the highest id there was when the run began.
func (w *work) insertText(n int64, s *draw.Stream) {
	table := int(s.Below(int64(w.c.Tables))) + 1
	k := w.key(s)
	b := append(w.buf[:0], "INSERT INTO sbtest"...)
	b = strconv.AppendInt(b, int64(table), 10)
	switch {
	case !w.c.AutoInc:
		b = strconv.AppendInt(append(b, " (id, k, c, pad) VALUES ("...), w.base+n+1, 10)
		b = append(b, ", "...)
	case w.sql.ZeroIsNext:
		b = append(b, " (id, k, c, pad) VALUES (0, "...)
	default:
		b = append(b, " (k, c, pad) VALUES ("...)
	}
	b = strconv.AppendInt(b, k, 10)
	b = s.Digits(append(b, ", '"...), 10)
	b = s.Digits(append(b, "', '"...), 5)
	w.buf = append(b, "')"...)
	w.Text(w.buf)
}

// bulkBytes is how long a statement of bulk_insert gets.
const bulkBytes = 512 << 10

// gather adds a row of bulk_insert, and sends what was gathered when it is
// enough. Rows go to the table of the worker, as in sysbench: this script's
// statements, not its rows, depend on the number of workers.
func (w *work) gather(n int64, t *load.Tally) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.bulk) == 0 {
		w.bulk = append(w.bulk, "INSERT INTO sbtest"...)
		w.bulk = strconv.AppendInt(w.bulk, int64(w.own), 10)
		w.bulk = append(w.bulk, " (id, k) VALUES "...)
	} else {
		w.bulk = append(w.bulk, ',')
	}
	w.bulk = strconv.AppendInt(append(w.bulk, '('), w.base+n+1, 10)
	w.bulk = strconv.AppendInt(append(w.bulk, ", "...), n, 10)
	w.bulk = append(w.bulk, ')')
	w.Reset(t)
	if len(w.bulk) >= bulkBytes {
		w.flush()
	}
	return w.Err
}

// flush sends what was gathered.
func (w *work) flush() {
	if len(w.bulk) > 0 {
		w.Text(w.bulk)
		w.bulk = w.bulk[:0]
	}
}
