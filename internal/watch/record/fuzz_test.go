package record

import (
	"testing"
	"time"

	"plumb/internal/series"
)

// FuzzBlock gives all decoders what the checksum would have stopped. They may
// refuse it, and must neither panic nor take memory without end.
func FuzzBlock(f *testing.F) {
	m, full := newMaker(1, 1), &minute{t0: sunday}
	var schemas []schema
	words := &shelf{}
	for range 2 {
		for _, b := range m.second() {
			full.add(entry{Batch: b}, 0)
		}
	}
	for _, s := range full.sections {
		schemas = append(schemas, schema{s.source, s.every, s.columns})
	}
	full.stated[0].statements = full.stated[0].statements[:3] // small seeds are minimised soon
	statements, _ := encodeStatements(full.stated, nil, func(d digest) int64 { return words.id(d.encode()) })
	f.Add(full.encode())
	f.Add(encodeSessions(full.sessions))
	f.Add(statements)
	f.Add(schemas[0].encode())
	f.Add(encodeGaps([]series.Gap{{Why: "it was late"}}))
	f.Add((*words)[0])
	f.Add(pack(statements))
	f.Fuzz(func(t *testing.T, data []byte) {
		if entries, gaps, err := decode(data, sunday, schemas); err == nil && len(entries) != len(gaps) {
			t.Error("entries and gaps differ in number")
		}
		_, _ = decodeSessions(data)
		_, _, _ = decodeStatements(data, base{1: {1, 2}}, func(int64) (digest, bool) { return digest{}, true })
		if s, err := decodeSchema(data); err == nil && len(s.columns) > len(data) {
			t.Errorf("%d columns out of %d bytes", len(s.columns), len(data))
		}
		_, _ = decodeGaps(data)
		_, _ = decodeDigest(data)
		_, _ = unpack(data)
		(&input{data: data}).times(time.Now().UnixNano(), 3)
	})
}
