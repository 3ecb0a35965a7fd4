package record

import (
	"bytes"
	"encoding/binary"
	"errors"
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
	plain, rests := full.encode()
	f.Add(append(binary.AppendUvarint(nil, uint64(len(plain))), append(plain, rests...)...))
	f.Add(packBlock(plain, rests))
	f.Add(full.encode1())
	f.Add(encodeSessions(full.sessions))
	f.Add(statements)
	f.Add(schemas[0].encode())
	f.Add(encodeGaps([]series.Gap{{Why: "it was late"}}))
	f.Add((*words)[0])
	f.Add(pack(statements))
	f.Fuzz(func(t *testing.T, data []byte) {
		halves := &input{data: data}
		plain := halves.bytes(halves.count(len(data)))
		for _, in := range []*input{{data: data}, coded(plain, halves.data)} {
			if entries, gaps, err := decode(in, sunday, schemas); err == nil && len(entries) != len(gaps) {
				t.Error("entries and gaps differ in number")
			}
		}
		_, _ = openBlock(data)
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

// FuzzLines reads what another machine's export may have become on its way.
func FuzzLines(f *testing.F) {
	var out bytes.Buffer
	m := newMaker(1, 1)
	err := WriteLines(&out, "db1", func(do func(Item) error) error {
		err := do(Item{At: m.at, Picture: m.picture()})
		for _, b := range m.second()[:3] {
			err = errors.Join(err, do(Item{At: b.At, Batch: &b}))
		}
		return errors.Join(err, do(Item{At: m.at, Lost: &Lost{Since: m.at, Until: m.at, Why: "it was late"}}))
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte("{\"plumb_recording\":9}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		items := 0
		err := ReadLines(bytes.NewReader(data), func(i Item) error {
			if items++; i.Picture == nil && i.Batch == nil && i.Lost == nil {
				t.Error("an item holds nothing")
			}
			return nil
		})
		if err != nil && items > bytes.Count(data, []byte("\n")) {
			t.Error("more items than lines")
		}
	})
}
