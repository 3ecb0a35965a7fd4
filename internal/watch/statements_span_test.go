package watch

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

var (
	spanned = stack.Ref{Kind: "mysql", Name: "3306"}
	morning = time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
)

// ran is a statement that ran so often by some moment, and what that took and looked at.
func ran(id string, calls, seconds, examined float64) series.Statement {
	return series.Statement{Of: spanned, ID: id, Text: "SELECT " + id, Calls: calls, Seconds: seconds, Examined: &examined}
}

// counts has the statements of a server counted at some minute of the morning, and tells for how long it has run.
func counts(minute int, uptime float64, all ...series.Statement) series.Batch {
	b := series.Batch{Source: "statements", Every: 10 * time.Second, At: morning.Add(time.Duration(minute) * time.Minute), Statements: all}
	b.Set(spanned, "uptime", uptime)
	return b
}

// twoSpans are the first ten minutes of the morning and those an hour later, of what was counted.
func twoSpans(batches ...series.Batch) (then, now *StatementSpan) {
	then, now = NewStatementSpan(morning, morning.Add(10*time.Minute)), NewStatementSpan(morning.Add(time.Hour), morning.Add(70*time.Minute))
	for _, b := range batches {
		status := series.Batch{Source: "status", Every: time.Second, At: b.At, Readings: b.Readings} // as it comes every second
		for _, span := range []*StatementSpan{then, now} {
			span.Batch(b)
			span.Batch(status)
		}
	}
	return then, now
}

// hourApart has one statement be called more often an hour later, another one be slower, and a third be new. What ran in between is of no
// span.
func hourApart(besides ...series.Statement) (then, now *StatementSpan) {
	all := func(s ...series.Statement) []series.Statement { return slices.Concat(besides, s) }
	return twoSpans(
		counts(0, 100, all(ran("often", 1000, 10, 0), ran("slow", 50, 5, 100))...),
		counts(5, 400, all(ran("often", 1050, 10.5, 0), ran("slow", 55, 5.5, 110))...),
		counts(10, 700, all(ran("often", 1100, 11, 0), ran("slow", 60, 6, 120))...),
		counts(30, 1900, all(ran("often", 9000, 900, 0), ran("slow", 900, 900, 900))...),
		counts(60, 3700, all(ran("often", 9000, 900, 0), ran("slow", 900, 900, 900), ran("new", 0, 0, 0))...),
		counts(70, 4300, all(ran("often", 9500, 905, 0), ran("slow", 910, 908, 920), ran("new", 2, 1, 1e6))...))
}

// Two spans of time are compared by what was counted within each: why a statement costs more, and which is new.
func TestStatementsOfTwoSpans(t *testing.T) {
	then, now := hourApart()
	for by, order := range map[Order]string{ByTime: "slow often new", ByGrowth: "slow often new", ByRows: "new slow often", ByBytes: "slow often new"} {
		got := ""
		for _, c := range now.Changes(spanned, then, by) {
			got += c.ID + " "
			want := map[string][4]float64{"often": {500, 5, 0, 4}, "slow": {10, 8, 7, 0}, "new": {2, 1, 0, 1}}[c.ID]
			if c.SlowerCalls == nil || c.MoreCalls == nil {
				t.Fatalf("%s: how it cost before is not known", c.ID)
			}
			for i, n := range []float64{c.Calls, c.Seconds, *c.SlowerCalls, *c.MoreCalls} {
				if math.Abs(n-want[i]) > 1e-9 {
					t.Errorf("%s: calls, seconds, slower and more: %v, %v, %v, %v, want %v", c.ID, c.Calls, c.Seconds, *c.SlowerCalls, *c.MoreCalls, want)
				}
			}
			if c.Over != 10*time.Minute || c.Text != "SELECT "+c.ID {
				t.Errorf("%+v", c)
			}
		}
		if got != order+" " {
			t.Errorf("by %s: %s, want %s", by, got, order)
		}
	}
}

// Of a statement that is not on a list that has room for no more, nobody knows what it cost.
func TestAStatementThatWasNotListed(t *testing.T) {
	var many []series.Statement
	for i := range series.MostStatements {
		many = append(many, ran(fmt.Sprint(i), 1, 1, 1))
	}
	then, now := hourApart(many...)
	for _, c := range now.Changes(spanned, then, ByTime) {
		if c.ID == "new" && c.MoreCalls != nil {
			t.Errorf("%+v", c)
		}
		if c.ID == "often" && c.MoreCalls == nil {
			t.Errorf("%+v", c)
		}
	}
}

// What was counted before a restart, or before the clock was set back, is of another time.
func TestASpanThatIsCut(t *testing.T) {
	one := func(n float64) series.Statement { return ran("a", n, n, n) }
	for name, c := range map[string]struct {
		batches []series.Batch
		known   bool
		calls   float64
	}{
		"whole":          {[]series.Batch{counts(0, 10, one(1)), counts(10, 610, one(7))}, true, 6},
		"one look":       {[]series.Batch{counts(0, 10, one(1))}, false, 0},
		"restarted":      {[]series.Batch{counts(0, 900, one(50)), counts(5, 10, one(1)), counts(10, 310, one(4))}, true, 3},
		"restarted late": {[]series.Batch{counts(0, 900, one(50)), counts(9, 1440, one(60)), counts(10, 5, one(1))}, false, 0},
		"clock set back": {[]series.Batch{counts(6, 10, one(1)), counts(2, 20, one(3)), counts(9, 440, one(8))}, true, 5},
		"nothing":        {nil, false, 0},
	} {
		then, now := twoSpans(append(c.batches, counts(60, 7000, one(100)), counts(70, 7600, one(110)))...)
		if then.Knows(spanned) != c.known {
			t.Errorf("%s: known %v", name, then.Knows(spanned))
		}
		all := now.Changes(spanned, then, ByTime)
		if (len(all) == 1) != c.known {
			t.Errorf("%s: %+v", name, all)
		}
		if was, ok := then.between(spanned); ok {
			if d, _ := was.of(" a"); d.Calls != c.calls {
				t.Errorf("%s: %v calls before, want %v", name, d.Calls, c.calls)
			}
		}
	}
}

// What is first in any order is listed, and not hidden in the line of all others because other statements take more time.
func TestNoOrderLosesItsFirst(t *testing.T) {
	var all []StatementChange
	for i := range 200 {
		examined := 1000.0
		if i == 150 {
			examined = 5e9
		}
		all = append(all, StatementChange{Statement: series.Statement{Of: spanned, ID: fmt.Sprint(i), Calls: 1, Seconds: float64(200 - i), Examined: &examined}})
	}
	got := rest(all)
	if n := len(got); n != mostStatements+2 || got[n-2].ID != "150" || got[n-1].ID != restID || got[n-1].Calls != 200-mostStatements-1 {
		t.Errorf("%d lines, at the end %+v", n, got[max(0, n-2):])
	}
}

// The statements of a moment are listed in an order that is asked for; those that are one line stay behind them.
func TestStatementsOfAMomentAreListed(t *testing.T) {
	rows := func(n float64) *float64 { return &n }
	listed := func(id string, seconds float64, examined *float64) StatementChange {
		return StatementChange{Statement: series.Statement{Of: spanned, ID: id, Text: "SELECT " + id, Seconds: seconds, Examined: examined}}
	}
	own := StatementChange{Statement: series.Statement{Of: spanned, ID: "own", Text: series.OwnMark + "what Plumb itself asks", Seconds: 7}}
	m := Moment{Servers: []Server{{Statements: []StatementChange{listed("a", 9, rows(1)), listed("b", 3, rows(50)), listed("c", 2, nil), listed(restID, 8, nil), own}}}}
	order := func() (ids string) {
		for _, s := range m.Servers[0].Statements {
			ids += s.ID + " "
		}
		return ids
	}
	if m.List(ByTime); order() != "a b c rest own " || m.By != "" {
		t.Errorf("by time: %s, %q", order(), m.By)
	}
	for _, by := range AllOrders {
		all := m.Servers[0].Statements
		sorted := slices.Clone(all)
		by.Sort(sorted)
		for i, place := range by.Places(all) {
			if sorted[place].ID != all[i].ID {
				t.Errorf("by %s the place of %s is %d, where %s stands", by, all[i].ID, place, sorted[place].ID)
			}
		}
	}
	if m.List(ByRows); order() != "b a c rest own " || m.By != ByRows {
		t.Errorf("by rows: %s, %q", order(), m.By)
	}
}
