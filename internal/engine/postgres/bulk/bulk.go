// Package bulk knows which settings PostgreSQL's documentation ("Populating a Database",
// "Non-Durable Settings") names for a bulk load, as far as a reload sets and takes them back and
// a crash can damage nothing: fsync and full_page_writes are never touched.
package bulk

import (
	"fmt"
	"time"

	"plumb/internal/product"
	"plumb/internal/provision/boost"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Loader implements boost.Loader.
type Loader struct{}

var _ boost.Loader = Loader{}

// Kind implements boost.Loader.
func (Loader) Kind() string { return product.Postgres }

const (
	mostWAL    = 16 << 30
	mostMemory = 1 << 30 // VACUUM used no more before 17
	fewRAM     = 32      // of memory: each session that builds an index, and each autovacuum worker, may take it
	fewDisk    = 4       // of what is free for WAL
	timeout    = 1800    // seconds; before 9.6 it ended at 3600
)

// Settings implements boost.Loader.
func (Loader) Settings(s *stack.Stack, t *stack.Thing) []boost.Setting {
	commit := boost.Setting{Knob: "synchronous_commit", To: stack.Text("off"), Why: "commits do not wait for WAL to be flushed, and lose nothing but themselves"}
	checkpoint := boost.Setting{Knob: "checkpoint_timeout", To: stack.Int(timeout), Why: "fewer checkpoints, so that fewer pages are written into WAL whole"}
	if n, known := t.Int("checkpoint_timeout"); known && n > timeout {
		checkpoint.Kept = fmt.Sprintf("it is %s already", units.Span(time.Duration(n)*time.Second))
	}
	return []boost.Setting{commit, wal(s, t), checkpoint, memory(s, t)}
}

// wal lets WAL grow as far as its filesystem has room for it.
func wal(s *stack.Stack, t *stack.Thing) boost.Setting {
	w := boost.Setting{Knob: "max_wal_size", Why: "a checkpoint is not begun for want of room in WAL"}
	now, known := t.Int(w.Knob)
	free, seen := int64(0), false
	for _, link := range []string{"wal", "data"} {
		if fs, _ := s.Follow(t, link); len(fs) == 1 && !seen {
			free, seen = fs[0].Int("free")
		}
	}
	to := min(mostWAL, free/fewDisk) &^ (1<<20 - 1)
	switch {
	case !known:
		w.Kept = "it could not be read"
	case !seen:
		w.Kept = "how much is free where WAL lies could not be read"
	case to <= now:
		w.Kept = fmt.Sprintf("a quarter of the %s that are free for WAL is no more than the %s it has", units.Bytes(free), units.Bytes(now))
	default:
		w.To = stack.Int(to)
	}
	return w
}

// memory is for the indexes that are built after a load.
func memory(s *stack.Stack, t *stack.Thing) boost.Setting {
	m := boost.Setting{Knob: "maintenance_work_mem", Why: "CREATE INDEX and ALTER TABLE ADD FOREIGN KEY sort in memory"}
	now, known := t.Int(m.Knob)
	all, seen := int64(0), false
	if h := s.Host(); h != nil {
		all, seen = h.Int("memory_total")
	}
	to := min(mostMemory, all/fewRAM) &^ (1<<20 - 1)
	switch {
	case !known:
		m.Kept = "it could not be read"
	case !seen:
		m.Kept = "how much memory the machine has could not be read"
	case to <= now:
		m.Kept = fmt.Sprintf("it is %s already, and each session and autovacuum worker may take it", units.Bytes(now))
	default:
		m.To = stack.Int(to)
	}
	return m
}

// Loss implements boost.Loader. The delay is documented as three times wal_writer_delay.
func (Loader) Loss(t *stack.Thing) []string {
	loss := "if the server or the machine goes down, the commits of the last moments; the database stays whole"
	if ms, known := t.Int("wal_writer_delay"); known {
		loss = fmt.Sprintf("if the server or the machine goes down, the commits of the last %s (three times wal_writer_delay); the database stays whole", units.Time(3e3*float64(ms)))
	}
	return []string{loss, "recovery after a crash takes longer, as there are fewer checkpoints"}
}

// After implements boost.Loader.
func (Loader) After() []string {
	return []string{"ANALYZE what was loaded (vacuumdb --all --analyze-in-stages): until then plans are made with the old statistics"}
}
