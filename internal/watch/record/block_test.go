package record

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"plumb/internal/series"
	"plumb/internal/stack"
)

var exactly = cmp.Options{cmpopts.EquateNaNs(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Location() == b.Location() })}

// differs says how what was read is not exactly what was written. Only what is not deeply equal is compared closely, which
// takes long, above all with the race detector.
func differs(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, exactly, cmp.AllowUnexported(stack.Value{}))
}

func anyRef() *rapid.Generator[stack.Ref] {
	return rapid.SampledFrom([]stack.Ref{{Kind: "mysql", Name: "3306"}, {Kind: "block", Name: "sda"}, {Kind: "process", Name: "\xff\x00"}, {}})
}

func some[T any](t *rapid.T, most int, name string, draw func(*rapid.T) T) []T {
	n := rapid.IntRange(0, most).Draw(t, name)
	var list []T
	for range n {
		list = append(list, draw(t))
	}
	return list
}

func anySession(t *rapid.T) series.Session {
	text := rapid.StringN(0, 5, 10)
	return series.Session{
		Of: anyRef().Draw(t, "of"), ID: rapid.Int64().Draw(t, "id"), User: text.Draw(t, "user"), Client: text.Draw(t, "client"), Database: text.Draw(t, "database"),
		Active: rapid.Bool().Draw(t, "active"), Class: rapid.SampledFrom(append(series.Classes, "")).Draw(t, "class"), Wait: text.Draw(t, "wait"),
		For: time.Duration(rapid.Int64().Draw(t, "for")), InTx: time.Duration(rapid.Int64().Draw(t, "in tx")), Statement: text.Draw(t, "statement"), Text: text.Draw(t, "text"),
		BlockedBy: some(t, 3, "blockers", func(t *rapid.T) int64 { return rapid.Int64().Draw(t, "blocker") }),
	}
}

func anyStatement(t *rapid.T) series.Statement {
	count := func(name string) *float64 {
		if rapid.Bool().Draw(t, "has "+name) {
			return nil
		}
		v := anyFloat().Draw(t, name)
		return &v
	}
	s := series.Statement{
		Of: anyRef().Draw(t, "of"), Database: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "database"), ID: rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "id"),
		Text: rapid.SampledFrom([]string{"", "SELECT ?", "\xc3"}).Draw(t, "text"), Calls: anyFloat().Draw(t, "calls"), Seconds: anyFloat().Draw(t, "seconds"),
		Examined: count("examined"), Returned: count("returned"), Bytes: count("bytes"), Rest: rapid.Bool().Draw(t, "rest"),
	}
	if rapid.Bool().Draw(t, "since known") {
		s.Since = anyTime(t)
	}
	return s
}

func anyTime(t *rapid.T) time.Time {
	return time.Unix(1790000000, rapid.Int64Range(0, 59e9).Draw(t, "time")).UTC()
}

func anyBatch(t *rapid.T) series.Batch {
	return series.Batch{
		Source: rapid.SampledFrom([]string{"block", "mysql:3306 status"}).Draw(t, "source"), Every: rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "every"),
		At: anyTime(t), Took: time.Duration(rapid.Int64Range(-5, 1e10).Draw(t, "took")),
		Readings: some(t, 5, "readings", func(t *rapid.T) series.Reading {
			return series.Reading{Of: anyRef().Draw(t, "of"), Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), Value: anyFloat().Draw(t, "value")}
		}),
		Gaps: some(t, 2, "gaps", func(t *rapid.T) series.Gap {
			return series.Gap{Of: anyRef().Draw(t, "of"), Name: rapid.String().Draw(t, "name"), Why: rapid.String().Draw(t, "why"), Hint: "h"}
		}),
		Sessions:   some(t, 3, "sessions", anySession),
		Statements: some(t, 4, "statements", anyStatement),
	}
}

// shelf is a dictionary without a database.
type shelf [][]byte

func (d *shelf) id(data []byte) int64 {
	for i, old := range *d {
		if string(old) == string(data) {
			return int64(i + 1)
		}
	}
	*d = append(*d, data)
	return int64(len(*d))
}

func TestBlocksAreReadBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := some(t, 12, "batches", anyBatch)
		m, gapLists, digests := &minute{t0: time.Unix(1790000000, 0)}, &shelf{}, &shelf{}
		for _, b := range batches {
			gaps := int64(0)
			if len(b.Gaps) > 0 {
				gaps = gapLists.id(encodeGaps(b.Gaps))
			}
			m.add(entry{Batch: b}, gaps)
		}
		var schemas []schema
		for _, s := range m.sections {
			sc, err := decodeSchema(schema{s.source, s.every, s.columns}.encode())
			if err != nil {
				t.Fatal(err)
			}
			schemas = append(schemas, sc)
		}
		in, err := openBlock(packBlock(m.encode()))
		if err != nil {
			t.Fatal(err)
		}
		got, gaps, err := decode(in, m.t0, schemas)
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := decodeSessions(encodeSessions(m.sessions))
		if err != nil {
			t.Fatal(err)
		}
		id := func(d digest) int64 { return digests.id(d.encode()) }
		name := func(id int64) (digest, bool) { d, err := decodeDigest((*digests)[id-1]); return d, err == nil }
		_, first := encodeStatements(m.stated, nil, id)
		data, _ := encodeStatements(m.stated, first, id) // against itself, as a later block of the hour is
		stated, _, err := decodeStatements(data, first, name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if gaps[i] != 0 {
				if got[i].Gaps, err = decodeGaps((*gapLists)[gaps[i]-1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, r := range sessions {
			got[r.batch].Sessions = r.sessions
		}
		for _, r := range stated {
			got[r.batch].Statements = r.statements
		}
		for i := range batches {
			if d := cmp.Diff(batches[i], got[i].Batch, exactly); d != "" {
				t.Fatalf("batch %d differs:\n%s", i, d)
			}
		}
	})
}

// A column that comes late or goes early makes no second section, as long as the order is kept.
func TestColumnsThatComeAndGoShareASection(t *testing.T) {
	m := &minute{}
	for _, names := range []string{"ac", "abc", "b", "abcd", "d"} {
		b := series.Batch{Source: "s"}
		for _, n := range names {
			b.Set(stack.Ref{Kind: "k", Name: "n"}, string(n), 1)
		}
		m.add(entry{Batch: b}, 0)
	}
	if len(m.sections) != 1 || !reflect.DeepEqual(m.sections[0].missing, [][]int64{{2, 4}, {0, 4}, {2, 4}, {0, 1, 2}}) {
		t.Errorf("%d sections, missing in the first: %v", len(m.sections), m.sections[0].missing)
	}
}
