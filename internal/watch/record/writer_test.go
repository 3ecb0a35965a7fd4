package record

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// made gives batches as a host has them: sources of 1 s and 10 s with counters,
// gauges and fractions, sessions, statements, a gap now and then. They are made
// up of a seed.
type maker struct {
	*rand.Rand
	counters []float64
	at       time.Time
}

var sunday = time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)

func newMaker(seed uint64, perSource int) *maker {
	return &maker{rand.New(rand.NewPCG(seed, 1)), make([]float64, 10*perSource), sunday}
}

// second gives the batches of the next second.
func (m *maker) second() (batches []series.Batch) {
	per := len(m.counters) / 10
	for source := range 10 {
		b := series.Batch{Source: fmt.Sprintf("source %d", source), Every: time.Second,
			At: m.at.Add(time.Duration(m.IntN(20)) * time.Millisecond), Took: time.Duration(500+m.IntN(400)) * time.Microsecond}
		for i := range per {
			of, c := stack.Ref{Kind: "block", Name: fmt.Sprintf("sd%c", 'a'+i%5)}, &m.counters[source*per+i]
			switch i % 10 {
			case 0, 1, 2: // busy counters
				*c += float64(m.IntN(300))
			case 3: // bytes
				*c += float64(m.IntN(100)) * 16384
			case 4: // a gauge
				*c = float64(m.IntN(50))
			case 5: // a share
				*c = float64(m.IntN(10000)) / 10000
			case 6: // rare
				if m.IntN(50) == 0 {
					*c++
				}
			}
			b.Set(of, fmt.Sprintf("value_%d", i), *c)
		}
		if source == 3 && m.IntN(10) == 0 {
			b.Readings = b.Readings[:per/2]
			b.Gap(stack.Ref{Kind: "block", Name: "sda"}, "it was late", "")
		}
		batches = append(batches, b)
	}
	batches[1].Sessions = m.sessions()
	if m.at.Second()%10 == 0 {
		batches = append(batches, m.statements())
	}
	m.at = m.at.Add(time.Second)
	return batches
}

func (m *maker) sessions() (list []series.Session) {
	for i := range m.IntN(8) {
		s := series.Session{Of: stack.Ref{Kind: "mysql", Name: "3306"}, ID: int64(100 + i), User: "app", Client: "10.0.0.7", Database: "shop", Active: true,
			Class: series.Classes[m.IntN(len(series.Classes))], Wait: "wait/io/table/sql/handler", For: time.Duration(m.IntN(5000)) * time.Millisecond, Statement: fmt.Sprint("digest", i), Text: "SELECT * FROM `orders` WHERE `id` = ?"}
		if i == 3 {
			s.BlockedBy = []int64{100}
		}
		list = append(list, s)
	}
	return list
}

func (m *maker) statements() series.Batch {
	b := series.Batch{Source: "mysql:3306 digests", Every: 10 * time.Second, At: m.at, Took: 4 * time.Millisecond}
	for i := range 300 {
		n := float64(m.at.Unix() / int64(1+i)) // the first often, the last rarely
		examined := 12 * n
		b.Statements = append(b.Statements, series.Statement{Of: stack.Ref{Kind: "mysql", Name: "3306"}, Database: "shop", ID: fmt.Sprintf("%064d", i),
			Text: fmt.Sprintf("SELECT `c%d` FROM `orders` WHERE `id` = ?", i), Calls: n, Seconds: float64(m.IntN(1000)*0) + n*0.000171, Examined: &examined})
	}
	return b
}

func (m *maker) picture() *stack.Stack {
	s := &stack.Stack{}
	host := stack.NewThing("host", "db1")
	host.Set("cores", stack.Int(2), "/proc/cpuinfo")
	host.Set("uptime", stack.Int(int64(m.at.Minute())), "/proc/uptime")
	host.Link("kernel")
	s.Things = append(s.Things, host)
	return s
}

// feed gives a writer some minutes, and tells what a reader must give back.
func feed(w *Writer, m *maker, minutes int) (items []Item) {
	for i := range minutes * 60 {
		if i%40 == 0 {
			s := m.picture()
			w.Picture(m.at, s)
			items = append(items, Item{At: m.at, Picture: s})
		}
		for _, b := range m.second() {
			w.Batch(b)
			items = append(items, Item{At: b.At, Batch: &b})
		}
		calm(w)
	}
	return items
}

// calm waits for the writer: a test gives minutes faster than they go by.
func calm(w *Writer) {
	for w.behind() {
		time.Sleep(100 * time.Microsecond)
	}
}

func opened(t *testing.T, o Options) *Writer {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return sunday }
	}
	if o.Room == nil {
		o.Room = func() (int64, int64, error) { return 50, 100, nil }
	}
	w, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w
}

func closed(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string, from, to time.Time) (items []Item) {
	t.Helper()
	r, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Each(t.Context(), from, to, func(i Item) error { items = append(items, i); return nil }); err != nil {
		t.Fatal(err)
	}
	return items
}

var (
	ever  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	later = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
)

func TestRecordingIsReadBackExactly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	want := feed(w, newMaker(1, 30), 4)
	closed(t, w)
	got := read(t, dir, ever, later)
	if d := differs(want, got); d != "" {
		t.Fatalf("what is read differs from what was written:\n%.2000s", d)
	}
	// A part of it: the picture before, and exactly what is in it.
	from, to := sunday.Add(70*time.Second), sunday.Add(95*time.Second)
	var part []Item
	for i, it := range want {
		if it.At.Before(from) && it.Picture != nil {
			part = []Item{want[i]}
		}
		if !it.At.Before(from) && it.At.Before(to) {
			part = append(part, it)
		}
	}
	if d := differs(part, read(t, dir, from, to)); d != "" {
		t.Fatalf("a part differs:\n%.2000s", d)
	}
	for _, name := range []string{"", File, File + "-wal", File + "-shm", "lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: others can read it", name, info.Mode())
		}
	}
}

func TestRecordingGoesOnAndNotesThePause(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m := newMaker(2, 10)
	w := opened(t, Options{Dir: dir})
	want := feed(w, m, 2)
	closed(t, w)
	m.at = m.at.Add(10 * time.Minute)
	w = opened(t, Options{Dir: dir, Now: func() time.Time { return m.at }})
	second := feed(w, m, 2)
	closed(t, w)
	got := read(t, dir, ever, later)
	lost := got[len(want)]
	if lost.Lost == nil || lost.Lost.Until.Sub(lost.Lost.Since) < 10*time.Minute || !strings.Contains(lost.Lost.Why, "did not run") {
		t.Fatalf("the pause is %+v", lost)
	}
	got = append(got[:len(want):len(want)], got[len(want)+1:]...)
	if d := differs(append(want, second...), got); d != "" {
		t.Fatalf("%.2000s", d)
	}
}

// A clock that is set back begins a new block, and nothing is out of the order in which it came.
func TestClockThatIsSetBackKeepsTheOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	m := newMaker(3, 10)
	w := opened(t, Options{Dir: dir})
	want := feed(w, m, 2)
	m.at = m.at.Add(-5 * time.Minute)
	want = append(want, feed(w, m, 3)...)
	closed(t, w)
	if d := differs(want, read(t, dir, ever, later)); d != "" {
		t.Fatalf("%.2000s", d)
	}
}

// TestVerdictThatWasNotEnded: of a run that was killed it held to the last that is recorded, and where the clock was
// set back before that, not to before it began.
func TestVerdictThatWasNotEnded(t *testing.T) {
	for began, want := range map[time.Duration]time.Duration{0: 59 * time.Second, time.Hour: 0} {
		dir := filepath.Join(t.TempDir(), "watch")
		w := opened(t, Options{Dir: dir})
		from := sunday.Add(began)
		w.Spans([]watch.Span{{ID: "device/saturated", Server: stack.Ref{Kind: "mysql", Name: "3306"}, From: from}})
		feed(w, newMaker(1, 1), 1)
		closed(t, w)
		closed(t, opened(t, Options{Dir: dir}))
		r, err := OpenReader(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		spans, _, err := r.Spans(t.Context(), ever, later)
		if err = errors.Join(err, r.Close()); err != nil || len(spans) != 1 {
			t.Fatalf("%v, %v", spans, err)
		}
		if held := spans[0].To.Sub(from).Truncate(time.Second); held != want {
			t.Errorf("one that began %s later held for %s, want %s", began, held, want)
		}
	}
}

func TestConclusionsAreKeptAndGoOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	span := watch.Span{ID: "device/saturated", Server: stack.Ref{Kind: "mysql", Name: "3306"}, Things: []stack.Ref{{Kind: "block", Name: "sda"}}, Title: "the disk", From: sunday}
	known := []watch.Baseline{{Device: "sda", Op: "read", Times: watch.Times{Bins: map[int]float64{90: 31}}}}
	w.Spans([]watch.Span{span})
	feed(w, newMaker(1, 1), 1)
	span.To = sunday.Add(30 * time.Second)
	w.Spans([]watch.Span{span})
	w.Learned(sunday.Add(30*time.Second), known)
	feed(w, newMaker(1, 1), 1)
	closed(t, w)
	w = opened(t, Options{Dir: dir, Now: func() time.Time { return sunday.Add(time.Hour) }})
	if d := cmp.Diff(known, w.Before()); d != "" {
		t.Errorf("the next run learns anew: %s", d)
	}
	r, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spans, lost, err := r.Spans(t.Context(), sunday, later)
	if d := cmp.Diff([]watch.Span{span}, spans); d != "" || len(lost) > 0 || err != nil {
		t.Errorf("%s %v %v", d, lost, err)
	}
	if spans, lost, err = r.Spans(t.Context(), sunday.Add(time.Minute), later); len(spans)+len(lost) != 0 || err != nil {
		t.Errorf("after its end it still held: %v %v %v", spans, lost, err)
	}
	all, at, err := r.Learned(t.Context(), later)
	if err != nil || !at.Equal(sunday.Add(30*time.Second)) || len(all) != 1 {
		t.Errorf("learned %v until %s, %v", all, at, err)
	}
}
