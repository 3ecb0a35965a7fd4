package fill

import (
	"bytes"
	"io"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/product"
)

// Gaps and spans together are all units, each once, whatever is in.
func TestGapsFillWhatIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.Int64Range(0, 200).Draw(t, "units")
		var in []span
		for at := int64(0); at < units; {
			lo := rapid.Int64Range(at, units).Draw(t, "lo")
			hi := rapid.Int64Range(lo, units).Draw(t, "hi")
			if hi > lo {
				in = append(in, span{lo, hi})
			}
			at = max(hi, at+1)
		}
		open, err := gaps(units, in)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int64]int{}
		for _, s := range append(split(open, rapid.Int64Range(1, 50).Draw(t, "n")), in...) {
			for u := s.lo; u < s.hi; u++ {
				seen[u]++
			}
		}
		for u := range units {
			if seen[u] != 1 {
				t.Fatalf("unit %d is there %d times", u, seen[u])
			}
		}
		if int64(len(seen)) != units {
			t.Fatalf("%d units of %d", len(seen), units)
		}
	})
}

func TestGapsRefuseOverlaps(t *testing.T) {
	for _, in := range [][]span{{{0, 5}, {4, 6}}, {{0, 11}}, {{3, 4}, {3, 4}}} {
		if open, err := gaps(10, in); err == nil {
			t.Errorf("%v: %v, want an error", in, open)
		}
	}
}

func someTable(t *testing.T) *table {
	t.Helper()
	out, err := prepared(Table{Name: "t", Create: "CREATE TABLE t", Columns: []string{"a", "b", "c"}, Units: 100, Sums: []string{"c", "a"},
		Row: func(b []byte, i int64) []byte {
			b = strconv.AppendInt(b, i, 10)
			return append(b, "\tx\t-2\n7\tx\t\\N\n"...)
		}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReaderGivesAllAndCounts(t *testing.T) {
	known := someTable(t)
	r := &reader{ctx: t.Context(), t: known, next: 10, to: 20, sum: known.newTally()}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.sum.rows != 20 || r.sum.bytes != int64(len(all)) || r.sum.sums[0] != 145+70 || r.sum.sums[1] != -20 {
		t.Errorf("%+v of %d bytes", r.sum, len(all))
	}
}

// Filling allocates nothing for a row.
func TestReaderAllocatesNothing(t *testing.T) {
	known := someTable(t)
	r := &reader{ctx: t.Context(), t: known, to: 100, sum: known.newTally()}
	r.fill()
	if n := testing.AllocsPerRun(100, func() { r.next = 0; r.fill() }); n != 0 {
		t.Errorf("%v allocations for 200 rows", n)
	}
}

func TestPlanRefuses(t *testing.T) {
	row := func(b []byte, _ int64) []byte { return b }
	whole := Table{Name: "t", Create: "CREATE TABLE t", Columns: []string{"a"}, Row: row}
	for name, change := range map[string]func(*Table){
		"NoName": func(t *Table) { t.Name = "" }, "NoRow": func(t *Table) { t.Row = nil }, "NoColumns": func(t *Table) { t.Columns = nil },
		"Negative": func(t *Table) { t.Units = -1 }, "Sums": func(t *Table) { t.Sums = []string{"b"} }, "Quote": func(t *Table) { t.Name = "a'" },
	} {
		bad := whole
		change(&bad)
		if _, err := newLoader(nil, Plan{Workload: "w", Tables: []Table{bad}}, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := newLoader(nil, Plan{Workload: "w", Tables: []Table{whole}}, Options{Workers: -1}); err == nil {
		t.Error("-1 workers: no error")
	}
}

func TestMatchesSaysWhatDiffers(t *testing.T) {
	s := State{Settings: []load.Setting{{Name: "scale", Value: "10"}}}
	for want, asked := range map[string]load.Setting{
		"": {Name: "scale", Value: "10"}, "the tables have scale 10, but you asked for 20": {Name: "scale", Value: "20"},
		"the tables were loaded without mode, but you asked for x": {Name: "mode", Value: "x"},
	} {
		got := ""
		if err := s.Matches([]load.Setting{asked}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzParseNotes(f *testing.F) {
	f.Add("range", "t", "0", "10", "")
	f.Add("range", "t", "-1", "x", "'")
	f.Fuzz(func(t *testing.T, kind, name, lo, hi, detail string) {
		if _, err := parseNotes(host.Rows{Values: [][]*string{{&kind, &name, &lo, &hi, &detail}, {&kind, nil}}}); err == nil {
			t.Fatal("a row of one column was taken")
		}
		if notes, err := parseNotes(host.Rows{Values: [][]*string{{&kind, &name, &lo, &hi, &detail}}}); err == nil {
			for _, n := range notes {
				_, _ = gaps(100, []span{{n.lo, n.hi}})
			}
			_ = stateOf(notes).Matches([]load.Setting{{Name: "scale", Value: "1"}})
		}
	})
}

// A line is hashed as the server sees its fields.
func FuzzLines(f *testing.F) {
	f.Add([]byte("1\ta\\\\b\\tc\\nd\t\\N\n"))
	f.Add([]byte("\\"))
	known, err := prepared(Table{Name: "t", Create: "CREATE TABLE t", Columns: []string{"a", "b"}, Sums: []string{"b"},
		Row: func(b []byte, _ int64) []byte { return b }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		sum := known.newTally()
		known.measure(&sum, lines)
		hashLines(lines, product.DialectOf(product.MySQL).Hash)
		if out := unescape(nil, lines); len(out) > len(lines) || !bytes.Contains(lines, []byte{'\\'}) && !bytes.Equal(out, lines) {
			t.Errorf("%q became %q", lines, out)
		}
	})
}
