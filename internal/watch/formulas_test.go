package watch

import (
	"math"
	"slices"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// The table of ρ and capacity is that of balls thrown at many bins.
func TestOccupancyOfARatio(t *testing.T) {
	for ratio, want := range map[float64]float64{1: 0, 1.05: 0.10, 1.27: 0.39, 1.58: 0.63, 1.93: 0.78, 2.31: 0.86, 3.16: 0.95, 5: 0.99} {
		if got := 1 - math.Exp(-occupancy(ratio)); math.Abs(got-want) > 0.015 {
			t.Errorf("ρ %v: %.3f of capacity, want %v", ratio, got, want)
		}
	}
}

// TestAnotherDiskUnderTheName: what was learned of one disk is not said of another that gets its name.
func TestAnotherDiskUnderTheName(t *testing.T) {
	at := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	d, sda := newDevices(), stack.Ref{Kind: "block", Name: "sda"}
	learn := func(ms float64) {
		for range 31 {
			d.learn(sda, at, func(name string) float64 {
				return map[string]float64{"reads": 100, "read_ms": 100 * ms, "read_bytes": 100 * 4096}[name]
			})
		}
	}
	plug := func(disk string) {
		var o stack.Observation
		o.New("block", "sda").Set("wwid", stack.Text(disk), "made")
		s := &stack.Stack{}
		s.Add("made", o)
		d.meet(s)
	}
	plug("naa.1")
	learn(1)
	d.best[sda] = &best{}
	plug("naa.2")
	if us, known := d.unloaded("sda", "read", 4096); known || d.best[sda] != nil {
		t.Errorf("another disk is said to take %v us, and to have done %v", us, d.best[sda])
	}
	learn(8)
	plug("naa.1")
	if us, _ := d.unloaded("sda", "read", 4096); us < 900 || us > 1100 {
		t.Errorf("the first takes %v us", us)
	}
}

func TestBaselinesDoNotCreep(t *testing.T) {
	at := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	b := &Baseline{Hour: at.Unix() / 3600}
	if _, ok := b.unloaded(); ok {
		t.Error("nothing was seen")
	}
	for i := range 100 {
		b.add(at.Add(time.Duration(i)*time.Second), 200)
	}
	r0, ok := b.unloaded()
	if !ok || math.Abs(r0-200) > 10 {
		t.Errorf("R0 %v, want 200 µs", r0)
	}
	for hour := 1; hour <= 3; hour++ {
		for i := range 100 {
			b.add(at.Add(time.Duration(hour)*time.Hour+time.Duration(i)*time.Second), 500)
		}
	}
	if again, _ := b.unloaded(); again != r0 {
		t.Errorf("R0 went to %v: a slower device hides itself", again)
	}
	if b.Growth < 2.3 || b.Growth > 2.7 {
		t.Errorf("growth %v, want 2.5", b.Growth)
	}
	b.add(at.Add(30*24*time.Hour), 200)
	if n := b.Times.count(); n > 10 {
		t.Errorf("after thirty days %v of the seconds still count", n)
	}
}

func TestChangesOfStatements(t *testing.T) {
	for _, c := range []struct {
		was, is      cost
		slower, more float64
	}{
		{cost{10, 10}, cost{20, 20}, 0, 10}, {cost{10, 10}, cost{10, 30}, 20, 0}, {cost{10, 10}, cost{20, 60}, 40, 10},
		{cost{0, 0}, cost{5, 5}, 0, 5}, {cost{5, 5}, cost{0, 0}, 0, -5},
	} {
		slower, more := split(c.was, c.is)
		if slower != c.slower || more != c.more {
			t.Errorf("%+v to %+v: %v slower, %v more", c.was, c.is, slower, more)
		}
		if c.was.seconds+slower+more != c.is.seconds {
			t.Errorf("%+v to %+v: the parts are not the whole", c.was, c.is)
		}
	}
}

// TestStatementsThatBeganAnew has one that grows, one that was reset, one that
// came into the list, and one that began.
func TestStatementsThatBeganAnew(t *testing.T) {
	db := stack.Ref{Kind: "mysql", Name: "3306"}
	at := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	j := &Judge{statements: map[stack.Ref]*statements{}}
	for i := 0; i <= 12; i++ {
		n := float64(i)
		b := series.Batch{At: at.Add(time.Duration(i) * 10 * time.Second)}
		b.Statements = []series.Statement{{Of: db, ID: "grows", Text: "SELECT ?", Calls: 100 + 10*n, Seconds: 10 + n}, {Of: db, ID: "reset", Calls: 1000 + n, Seconds: 50 + n}}
		if i == 12 {
			b.Statements[1] = series.Statement{Of: db, ID: "reset", Calls: 3, Seconds: 0.5}
			b.Statements = append(b.Statements, series.Statement{Of: db, ID: "came", Calls: 1e6, Seconds: 1e6},
				series.Statement{Of: db, ID: "began", Calls: 2, Seconds: 2, Since: b.At.Add(-5 * time.Second)})
		}
		j.takeStatements(b)
	}
	got := map[string]StatementChange{}
	for _, c := range j.statements[db].changes() {
		got[c.ID] = c
	}
	if c := got["grows"]; c.Calls != 60 || c.Seconds != 6 || c.Text != "SELECT ?" || c.MoreCalls == nil || *c.MoreCalls != 0 || *c.SlowerCalls != 0 {
		t.Errorf("grows: %+v", c)
	}
	if c := got["reset"]; c.Calls != 3 || c.Seconds != 0.5 {
		t.Errorf("reset: %+v", c)
	}
	if _, there := got["came"]; there || got["began"].Calls != 2 {
		t.Errorf("what came into the list: %+v", got)
	}
	if n := len(j.statements[db].looks); n > 14 {
		t.Errorf("%d looks are kept", n)
	}
}

// TestSinceWhenAStatementIsCounted: that decides what it cost between two looks, and a clock that was set back, as the hour between has
// gone by again or has not yet, makes no statement new.
func TestSinceWhenAStatementIsCounted(t *testing.T) {
	db := stack.Ref{Kind: "mysql", Name: "3306"}
	at := time.Date(2026, 11, 25, 3, 0, 0, 500e6, time.UTC)
	again, old := at.Add(30*time.Second), at.Add(-time.Hour)
	one := func(calls float64, since time.Time) *series.Statement {
		return &series.Statement{Of: db, ID: "one", Calls: calls, Seconds: calls, Since: since}
	}
	for name, c := range map[string]struct {
		was  *series.Statement // nil: not listed
		is   *series.Statement
		want float64 // calls; 0: not known
	}{
		"it began in the future":                       {one(1000, at.Add(time.Hour)), one(1005, at.Add(time.Hour)), 5},
		"it began when the time between came first":    {one(1000, again), one(1005, again), 5},
		"not listed before, and from the future":       {nil, one(1005, at.Add(time.Hour)), 0},
		"not listed before, and old":                   {nil, one(1005, old), 0},
		"not listed before, and new":                   {nil, one(7, again), 7},
		"new in the second of the first look":          {nil, one(7, at.Truncate(time.Second)), 7},
		"reset, and it has come further since":         {one(10, old), one(1000, again), 1000},
		"reset where nobody tells when":                {one(10, time.Time{}), one(3, time.Time{}), 3},
		"less is counted, and of the same time":        {one(1500, old), one(500, old), 0},
		"less is counted, of what is left that is old": {one(1500, old), one(500, old.Add(time.Minute)), 0},
	} {
		j := &Judge{statements: map[stack.Ref]*statements{}}
		for i, s := range []*series.Statement{c.was, c.is} {
			b := series.Batch{At: at.Add(time.Duration(i) * time.Minute), Statements: []series.Statement{{Of: db, ID: "other", Calls: 1}}}
			if s != nil {
				b.Statements = append(b.Statements, *s)
			}
			j.takeStatements(b)
		}
		got := 0.0
		for _, s := range j.statements[db].changes() {
			got += s.Calls
		}
		if got != c.want {
			t.Errorf("%s: %v calls, want %v", name, got, c.want)
		}
	}
}

// TestStatementsThatAreThrownOut: those that the server threw out take what they cost with them, so that all others
// together seem to cost less than they did. That is not known then, and the moment says so.
func TestStatementsThatAreThrownOut(t *testing.T) {
	db := stack.Ref{Kind: "postgres", Name: "5432"}
	at := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		forgotten, stays float64 // at the second look
		rest, gap        bool
	}{"none": {7, 1010, true, false}, "some": {8, 1010, false, true}, "one that is listed again": {7, 10, false, false}} {
		j := NewJudge(hosttest.Windows(t), nil)
		look := func(at time.Time, forgotten, stays, left float64) {
			b := series.Batch{At: at, Source: "postgres:5432 statements", Every: 10 * time.Second, Statements: []series.Statement{
				{Of: db, ID: "stays", Calls: stays, Seconds: stays / 10}, {Of: db, ID: series.UnlistedID, Rest: true, Calls: left, Seconds: left / 10}}}
			b.Set(db, "statements_forgotten", forgotten)
			j.takeStatements(b)
		}
		look(at, 7, 1000, 500)
		look(at.Add(time.Minute), c.forgotten, c.stays, 5000)
		rest := slices.ContainsFunc(j.statements[db].changes(), func(s StatementChange) bool { return s.Rest })
		if gaps := j.statementGaps(db); rest != c.rest || len(gaps) > 0 != c.gap {
			t.Errorf("%s thrown out: all others %v, %v", name, rest, gaps)
		}
	}
}

// TestStatementsThatAreNotListed: others are listed at each look, so what is left of all falls and leaps. Here "in" has come
// into the list instead of "out", whose one call of 0.5 s is not listed any more.
func TestStatementsThatAreNotListed(t *testing.T) {
	db := stack.Ref{Kind: "mysql", Name: "3306"}
	at := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	j := &Judge{statements: map[stack.Ref]*statements{}}
	stays := func(calls, seconds float64) series.Statement {
		return series.Statement{Of: db, ID: "stays", Calls: calls, Seconds: seconds}
	}
	left := func(calls, seconds float64) series.Statement {
		return series.Statement{Of: db, ID: series.UnlistedID, Rest: true, Calls: calls, Seconds: seconds}
	}
	j.takeStatements(series.Batch{At: at, Statements: []series.Statement{stays(1000, 50), {Of: db, ID: "out", Calls: 5, Seconds: 49}, left(500, 100)}})
	j.takeStatements(series.Batch{At: at.Add(time.Minute), Statements: []series.Statement{stays(1010, 51), {Of: db, ID: "in", Calls: 400, Seconds: 52}, left(119, 102.5)}})
	got := map[string]StatementChange{}
	for _, c := range j.statements[db].changes() {
		got[c.ID] = c
	}
	if c := got[series.UnlistedID]; len(got) != 2 || c.Calls != 14 || c.Seconds != 5.5 || j.statements[db].forgot() {
		t.Errorf("got %+v", got)
	}
	j.takeStatements(series.Batch{At: at.Add(2 * time.Minute), Statements: []series.Statement{stays(1020, 52), {Of: db, ID: "in", Calls: 410, Seconds: 53}, left(9, 1)}})
	for _, c := range j.statements[db].changes() {
		if c.Rest {
			t.Errorf("of those that the server threw out: %+v", c)
		}
	}
}
