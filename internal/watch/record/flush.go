package record

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"plumb/internal/stack"
)

// picture is the host as a whole, and how many batches of its block came before.
type picture struct {
	at    time.Time
	place int
	stack *stack.Stack
}

// flush is a block as it is written, with all that belongs to it. Blocks are ordered by number. A block with the same number
// replaces the earlier one: a minute is written once when it is half over, and again when it is full.
type flush struct {
	number     int64
	tier       tier
	t0, last   int64 // nanoseconds since 1970: the minute, and the last batch
	schema     string
	data       []byte
	sessions   []byte // nil: none
	statements []byte // nil: none
	base       int64  // number of the block against which statements are written; 0: none
	pictures   []pictureRow
}

type pictureRow struct{ at, place, stack int64 }

// words are the dictionaries of a recording.
type words struct{ schemas, gapLists, digests, stacks dictionary }

func newWords() *words {
	return &words{dictionary{table: "schema"}, dictionary{table: "gap_list"}, dictionary{table: "digest"}, dictionary{table: "stack"}}
}

func (w *words) each() []*dictionary {
	return []*dictionary{&w.schemas, &w.gapLists, &w.digests, &w.stacks}
}

// bases is what the statements of an hour are written against.
type bases struct {
	number int64 // of the block that is the base; 0: none yet
	hour   int64
	at     base
}

// flushOf encodes the batches of a minute, or of a block of a coarser tier.
func (w *words) flushOf(number int64, t tier, m *minute, pictures []picture, b *bases) *flush {
	t0 := m.t0.UnixNano()
	f := &flush{number: number, tier: t, t0: t0, last: t0}
	var ids []string
	for _, s := range m.sections {
		id := w.schemas.id(t, t0, schema{s.source, s.every, s.columns}.encode())
		ids = append(ids, strconv.FormatInt(id, 10))
		for _, at := range s.at {
			f.last = max(f.last, at)
		}
	}
	f.schema, f.data = strings.Join(ids, ","), packBlock(m.encode())
	if len(m.sessions) > 0 {
		f.sessions = pack(encodeSessions(m.sessions))
	}
	if len(m.stated) > 0 {
		w.stated(f, m, b)
	}
	for _, p := range pictures {
		text, err := json.Marshal(p.stack)
		if err != nil {
			continue // a stack is plain values: there is none that cannot be written
		}
		f.pictures = append(f.pictures, pictureRow{p.at.UnixNano(), int64(p.place), w.stacks.id(seconds, t0, text)})
	}
	return f
}

func (w *words) stated(f *flush, m *minute, b *bases) {
	id := func(d digest) int64 { return w.digests.id(f.tier, f.t0, d.encode()) }
	hour := m.t0.Truncate(time.Hour).UnixNano()
	if b.number == 0 || b.number == f.number || b.hour != hour {
		var plain []byte
		plain, b.at = encodeStatements(m.stated, nil, id)
		b.number, b.hour, f.statements = f.number, hour, pack(plain)
		return
	}
	plain, _ := encodeStatements(m.stated, b.at, id)
	f.statements, f.base = pack(plain), b.number
}
