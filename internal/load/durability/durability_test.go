package durability

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"plumb/internal/host"
	"plumb/internal/load"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// written makes a book of these numbers.
func written(t *testing.T, h Header, numbers ...int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "book")
	b, err := Create(path, h)
	ok(t, err)
	for _, n := range numbers {
		b.Acknowledge(n)
	}
	ok(t, b.Close())
	return path
}

// table answers as a server whose table holds these rows, so many at a time.
type table struct {
	rows  []int64
	limit int
}

func (s table) Query(_ context.Context, query string) (host.Rows, error) {
	var after int64
	_, tail, _ := strings.Cut(query, "n > ")
	text, _, _ := strings.Cut(tail, " ")
	after, err := strconv.ParseInt(text, 10, 64)
	out := host.Rows{Columns: []string{"n"}}
	for _, n := range s.rows {
		if n <= after {
			continue
		}
		if len(out.Values) == s.limit {
			out.Cut = true
			break
		}
		cell := strconv.FormatInt(n, 10)
		out.Values = append(out.Values, []*string{&cell})
	}
	return out, err
}
func (table) Exec(context.Context, ...string) error { return nil }
func (table) Fill(context.Context, string, []string, io.Reader, ...string) (int64, error) {
	return 0, nil
}
func (table) Close() error { return nil }

func TestVerify(t *testing.T) {
	var acked, rows []int64
	for n := range int64(200000) {
		acked = append(acked, n)
		if n != 77 && n != 150000 {
			rows = append(rows, n)
		}
	}
	rows = append(rows, 200005, 200007)
	path := written(t, Header{Run: 5}, acked...)
	for _, limit := range []int{50000, 999} {
		v, err := Verify(context.Background(), table{rows, limit}, path)
		ok(t, err)
		if v.Acknowledged != 200000 || v.Lost != 2 || v.Extra != 2 || v.Found != 199998 || !slices.Equal(v.FirstLost, []int64{77, 150000}) {
			t.Errorf("limit %d: %+v", limit, v)
		}
	}
	v, err := Verify(context.Background(), table{nil, 10}, path)
	ok(t, err)
	if v.Lost != 200000 || len(v.FirstLost) != 10 {
		t.Errorf("an empty table: %+v", v)
	}
}

// A book cut at any place gives what was whole before it.
func TestTornTail(t *testing.T) {
	path := written(t, Header{Run: 9, Workload: "w"}, 10, 11, 12)
	whole, err := os.ReadFile(path)
	ok(t, err)
	for cut := headerSize; cut <= len(whole); cut++ {
		torn := append(bytes.Clone(whole[:cut]), make([]byte, 7)...) // and zeros of a file made longer
		n, err := readFrom(bytes.NewReader(torn))
		ok(t, err)
		if want := int64(cut-headerSize) / recordSize; n.Records != want || n.Damaged != 0 || n.Torn != int64(len(torn))-headerSize-want*recordSize {
			t.Fatalf("cut at %d: %+v", cut, n)
		}
	}
}

func TestDamage(t *testing.T) {
	path := written(t, Header{Run: 9}, 10, 11, 12)
	data, err := os.ReadFile(path)
	ok(t, err)
	data[headerSize+recordSize] ^= 1
	n, err := readFrom(bytes.NewReader(data))
	ok(t, err)
	if n.Damaged != 1 || n.Records != 3 || n.Acknowledged() != 2 {
		t.Errorf("%+v", n)
	}
}

func TestOtherBooksAreRefused(t *testing.T) {
	path := written(t, Header{Run: 9, Target: "a"}, 1)
	if _, err := Create(path, Header{}); err == nil {
		t.Error("a book was written over")
	}
	other := filepath.Join(t.TempDir(), "x")
	ok(t, os.WriteFile(other, []byte("hello"), 0o600))
	if _, err := Read(other); err == nil {
		t.Error("what is no book was read")
	}
	if _, err := Create(filepath.Join(t.TempDir(), "y"), Header{Target: strings.Repeat("x", 5000)}); err == nil {
		t.Error("a header too long was taken")
	}
}

func TestManyWorkers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book")
	b, err := Create(path, Header{})
	ok(t, err)
	var workers sync.WaitGroup
	for w := range int64(16) {
		workers.Go(func() {
			for i := range int64(20000) {
				b.Acknowledge(i*16 + w)
			}
		})
	}
	workers.Wait()
	ok(t, b.Close())
	n, err := Read(path)
	ok(t, err)
	if n.Records != 320000 || n.Acknowledged() != 320000 || n.Header.Run == 0 {
		t.Errorf("%d records of %d operations", n.Records, n.Acknowledged())
	}
}

func TestFillArgs(t *testing.T) {
	b := &Ledger{Header: Header{Run: 4}}
	var args [2]load.Arg
	if got := testing.AllocsPerRun(10, func() { b.Fill(args[:], 7) }); got != 0 || args[0].Num != 4 || args[1].Num != 7 {
		t.Errorf("%g allocations, %v", got, args)
	}
}

func FuzzReadFrom(f *testing.F) {
	head, err := Header{Run: 3, Workload: "w"}.encode()
	if err != nil {
		f.Fatal(err)
	}
	good := appendRecord(appendRecord(head, 3, 100, 0), 3, 7, 1)
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add(head[:200])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= headerSize {
			_, _ = parseHeader(data)
			_, _ = parseRecord(data[headerSize:], 3, 0)
		}
		n, err := readFrom(bytes.NewReader(data))
		if err != nil {
			return
		}
		if total := headerSize + n.Records*recordSize + n.Torn; total != int64(len(data)) || n.Acknowledged() > n.Records || n.Damaged > n.Records {
			t.Errorf("%+v of %d bytes", n, len(data))
		}
	})
}

func BenchmarkAcknowledge(b *testing.B) {
	book, err := Create(filepath.Join(b.TempDir(), "book"), Header{})
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(p *testing.PB) {
		for n := int64(0); p.Next(); n++ {
			book.Acknowledge(n)
		}
	})
	if err := book.Close(); err != nil {
		b.Fatal(err)
	}
}
