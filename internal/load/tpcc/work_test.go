package tpcc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/load"
)

// recorder is a session that answers every question with one row and notes
// what it was asked.
type recorder struct {
	texts    []string // prepared
	asked    []string // since the last operation; only when noting
	noting   bool
	count    int
	fail     string // statements with this in them fail to be retried
	nothing  string // statements with this in them give no rows
	rows     int    // of the last answer, not yet read
	question bool
	last     string
}

func (r *recorder) Prepare(query string) (int, error) {
	r.texts = append(r.texts, query)
	return len(r.texts) - 1, nil
}

func (r *recorder) Run(statement int, args []load.Arg) error {
	text := r.texts[statement]
	if n := strings.Count(text, "?"); n != len(args) {
		return fmt.Errorf("%d arguments for %s", len(args), text)
	}
	if r.noting {
		var b strings.Builder
		b.WriteString(text)
		for _, a := range args {
			fmt.Fprintf(&b, " [%d%s]", a.Num, a.Str)
		}
		return r.answer(text, b.String())
	}
	return r.answer(text, "")
}

func (r *recorder) Text(query []byte) error {
	if !r.noting {
		r.question, r.rows = bytes.HasPrefix(query, []byte("SELECT")), 15
		r.last = ""
		r.count++
		return nil
	}
	return r.answer(string(query), string(query))
}

func (r *recorder) answer(text, shown string) error {
	r.count++
	r.last = text
	if shown != "" {
		r.asked = append(r.asked, shown)
	}
	if r.fail != "" && strings.Contains(text, r.fail) {
		return &load.Failure{Class: load.Retry, Code: "1213"}
	}
	r.question, r.rows = strings.HasPrefix(text, "SELECT"), 1
	switch {
	case r.nothing != "" && strings.Contains(text, r.nothing):
		r.rows = 0
	case strings.Contains(text, "FROM item WHERE") || strings.Contains(text, "c_last = "):
		r.rows = 15
	}
	return nil
}

func (r *recorder) Affected() int64 { return 1 }
func (r *recorder) HadRows() bool   { return r.question }
func (r *recorder) Next() bool      { r.rows--; return r.rows >= 0 }
func (r *recorder) Int(int) int64   { return int64(15 - r.rows) }
func (r *recorder) Close() error    { return nil }

var bad, price = []byte("BC"), []byte("12.34")

func (r *recorder) Bytes(column int) []byte {
	if strings.Contains(r.last, "c_credit,") && (column == 0 || column == 9) {
		return bad
	}
	return price
}

// server gives recorders.
type server struct {
	load.Server
	engine string
}

func (s server) Engine() string { return s.engine }

// recorded makes a work on a recorder. Its 15 items are those that it has.
func recorded(t *testing.T, c Config) (*work, *recorder) {
	t.Helper()
	if c.Server == nil {
		c.Server = server{engine: "mysql"}
	}
	c.size = size{items: 15, customers: 30, orders: 30, undelivered: 10}
	r := &recorder{noting: true}
	w := newWork(r, &orderEntry{c: c, draw: newDrawer(c, 1)})
	if err := w.prepare(); err != nil {
		t.Fatal(err)
	}
	if len(r.texts) != c.statements() {
		t.Errorf("%d statements prepared, announced %d", len(r.texts), c.statements())
	}
	return w, r
}

// do does operation n and gives what was asked.
func do(t *testing.T, w *work, r *recorder, n int64) ([]string, load.Tally) {
	t.Helper()
	var tally load.Tally
	r.asked = nil
	if err := w.Do(n, &tally); err != nil {
		t.Fatal(err)
	}
	if got := tally.Reads + tally.Writes + tally.Other; got != int64(len(r.asked)) {
		t.Errorf("%d statements counted, %d sent", got, len(r.asked))
	}
	return r.asked, tally
}

// The number of statements is what it is said to be.
func TestStatementCounts(t *testing.T) {
	w, r := recorded(t, Config{Warehouses: 3, Run: 4})
	for n := range int64(3000) {
		asked, tally := do(t, w, r, n)
		want := 0
		switch p := w.p; p.kind {
		case opNewOrder:
			want = 9 + 2*p.count
			if p.rollback {
				want -= 2
			}
		case opPayment:
			want = 10 + int(oneIf(p.byName())) // bad credit always
		case opOrderStatus:
			want = 5
		case opDelivery:
			want = 2 + 6*districts
		case opStockLevel:
			want = 4
		}
		if len(asked) != want || asked[0] != "BEGIN" {
			t.Fatalf("%s: %d statements, want %d: %q", opNames[w.p.kind], len(asked), want, asked)
		}
		if end := asked[len(asked)-1]; tally.RolledBack != w.p.rollback || (end == "ROLLBACK") != w.p.rollback || tally.Skipped {
			t.Fatalf("%s ended with %s: %+v", opNames[w.p.kind], end, tally)
		}
	}
}

// sysbench-tpcc sends some 28.5 statements a transaction, of these numbers.
func TestCompatCounts(t *testing.T) {
	w, r := recorded(t, Config{Warehouses: 3, Run: 4, Compat: true})
	const transactions = 20_000
	all := 0
	for n := range int64(transactions) {
		asked, _ := do(t, w, r, n)
		want := len(asked)
		switch p := w.p; p.kind {
		case opNewOrder:
			want = 7 + 4*p.count
		case opPayment:
			want = 10 + 2*int(oneIf(p.byName()))
		case opOrderStatus:
			want = 5 + int(oneIf(p.byName()))
		case opDelivery:
			want = 72
		case opStockLevel:
			want = 4
		}
		if len(asked) != want && !w.p.rollback {
			t.Fatalf("%s: %d statements, want %d: %q", opNames[w.p.kind], len(asked), want, asked)
		}
		all += len(asked)
	}
	near(t, "statements a transaction", float64(all)/transactions, 28.5+0.435*0.9, 0.4) // all credit is bad here
}

// Each peculiarity of the statements shows.
func TestCompatStatements(t *testing.T) {
	w, r := recorded(t, Config{Warehouses: 3, Run: 4, Compat: true, Sets: 3})
	for n := range int64(2000) {
		asked, _ := do(t, w, r, n)
		all, p := strings.Join(asked, "\n"), w.p
		for _, not := range []string{"s_ytd", "s_order_cnt", "s_remote_cnt", "c_payment_cnt", "?", "#"} { // quirkCounters
			if strings.Contains(all, not) {
				t.Fatalf("%s in %s", not, all)
			}
		}
		for _, q := range asked[1 : len(asked)-1] {
			if !strings.Contains(q, fmt.Sprintf("%d ", p.set)) {
				t.Fatalf("not of set %d: %s", p.set, q)
			}
		}
		switch p.kind {
		case opOrderStatus:
			want := fmt.Sprintf("ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %[2]d", p.warehouse, p.district) // quirkDistrictAsOrder
			if !strings.Contains(all, want) {
				t.Fatalf("no %s in %s", want, all)
			}
		case opPayment:
			if !strings.Contains(all, fmt.Sprintf("w_ytd = w_ytd + %d WHERE", p.amount/100)) {
				t.Fatal(all)
			}
		}
	}
}

// Retries roll back first, and then nothing of the failed attempt is noted.
func TestRetry(t *testing.T) {
	w, r := recorded(t, Config{Warehouses: 3, Run: 4})
	var tally load.Tally
	r.fail = "COMMIT"
	n := int64(0)
	for kindOf(4, n) != opNewOrder {
		n++
	}
	err := w.Do(n, &tally)
	if f, is := err.(*load.Failure); !is || f.Class != load.Retry || r.asked[len(r.asked)-1] != "ROLLBACK" || tally.Notes != [8]int64{} || tally.RolledBack {
		t.Errorf("%v, %+v, %q", err, tally, r.asked)
	}
	r.fail = ""
	if err := w.Do(n, &tally); err != nil || tally.Notes[noteLines] != int64(w.p.count) {
		t.Errorf("%v, %+v", err, tally)
	}
}

// A delivery that finds nothing anywhere is skipped; what must be there and
// is not is an error that says so.
func TestNothingThere(t *testing.T) {
	for _, compat := range []bool{false, true} {
		w, r := recorded(t, Config{Warehouses: 3, Run: 4, Compat: compat})
		r.nothing = "SELECT no_o_id"
		for n := range int64(200) {
			if _, tally := do(t, w, r, n); tally.Skipped != (w.p.kind == opDelivery) || tally.Skipped && tally.Notes[noteSkipped] != 10 {
				t.Fatalf("%s: %+v", opNames[w.p.kind], tally)
			}
		}
		r.nothing = "FROM district"
		var tally load.Tally
		for n := int64(0); ; n++ {
			err := w.Do(n, &tally)
			if w.p.kind != opNewOrder {
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "there is no district [") {
				t.Error(err)
			}
			break
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for _, compat := range []bool{false, true} {
		w, r := recorded(t, Config{Warehouses: 3, Run: 4, Compat: compat})
		r.nothing = "FROM item WHERE i_id IN (never"
		r.noting = false
		n := int64(0)
		var tally load.Tally
		for ; n < 200; n++ {
			_ = w.Do(n, &tally)
		}
		if got := testing.AllocsPerRun(500, func() { n++; tally = load.Tally{}; _ = w.Do(n, &tally) }); got != 0 {
			t.Errorf("compat %v: %v allocations an operation", compat, got)
		}
	}
}

func TestThinking(t *testing.T) {
	k := keyed{&orderEntry{c: Config{Run: 4}}}
	var sums [kinds]time.Duration
	var counts [kinds]int64
	for n := range int64(many) {
		kind := kindOf(4, n)
		keying, thinking := k.Think(n)
		if keying != keyingTimes[kind] || thinking < 0 || thinking > longestThought*thinkingTimes[kind] {
			t.Fatalf("%s: %s, %s", opNames[kind], keying, thinking)
		}
		sums[kind] += thinking
		counts[kind]++
	}
	for kind := range opPurge {
		near(t, opNames[kind], float64(sums[kind])/float64(counts[kind])/float64(thinkingTimes[kind]), 1, 0.05)
	}
	var _ load.Thinker = k
	if _, is := load.Workload(k.orderEntry).(load.Thinker); is {
		t.Error("it thinks without keying")
	}
}

func TestRunnable(t *testing.T) {
	s := server{engine: "postgres"}
	for _, c := range []Config{{Server: s}, {Server: s, Warehouses: 1, Keying: true, Compat: true}, {Server: s, Warehouses: 1, Purge: true},
		{Server: s, Warehouses: 2, Keying: true, Sessions: 8}} {
		if _, err := New(context.Background(), c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

func FuzzCents(f *testing.F) {
	for _, s := range []string{"12.34", "100.00", "0.1", "7", "", "-1", "99999999999999999999.99"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n := centsOf([]byte(s)); n < 0 {
			t.Errorf("%s: %d", s, n)
		}
	})
}

func TestCents(t *testing.T) {
	for text, want := range map[string]int64{"12.34": 1234, "0.1500": 15, "7": 700, "7.5": 750, "": 0} {
		if got := centsOf([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
