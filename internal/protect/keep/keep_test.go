package keep

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/stack"
)

// made makes a point for tests: the n-th of its pool.
func made(n int, at time.Time, label protect.Label) protect.Point {
	return protect.Point{ID: fmt.Sprintf("%s-%04x", at.UTC().Format("20060102T150405Z"), n), State: protect.Taken, Label: label,
		Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}, Times: protect.Times{Snapshot: at},
		Members: []protect.Member{{Volume: protect.Volume{Storage: "zfs", Name: "tank/db", Pool: "tank"}, GUID: strconv.Itoa(n), Birth: strconv.Itoa(1000 + n)}}}
}

var noon = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

func hourly(n int) (all []protect.Point) {
	for i := range n {
		all = append(all, made(i, noon.Add(time.Duration(i-n+1)*time.Hour), protect.Crash))
	}
	return all
}

func one(t *testing.T, plans []Plan) Plan {
	t.Helper()
	if len(plans) != 1 {
		t.Fatalf("%d plans", len(plans))
	}
	return plans[0]
}

func TestBrakes(t *testing.T) {
	tests := map[string]struct {
		change func(all []protect.Point) (now time.Time, keep string, agreed int)
		want   string // in the brake; "" for none
		goes   int
	}{
		"a few go":         {func(all []protect.Point) (time.Time, string, int) { return noon, "last=9", 0 }, "", 3},
		"a quarter":        {func(all []protect.Point) (time.Time, string, int) { return noon, "last=8", 0 }, "quarter", 0},
		"agreed":           {func(all []protect.Point) (time.Time, string, int) { return noon, "last=8", 4 }, "", 4},
		"agreed to others": {func(all []protect.Point) (time.Time, string, int) { return noon, "last=8", 5 }, "quarter", 0},
		"of the future": {func(all []protect.Point) (time.Time, string, int) {
			all[11].Times.Snapshot = noon.AddDate(1, 0, 0)
			return noon, "last=9", 3
		}, "future", 0},
		"now is a year back":  {func(all []protect.Point) (time.Time, string, int) { return noon.AddDate(-1, 0, 0), "last=9", 3 }, "future", 0},
		"now is a year ahead": {func(all []protect.Point) (time.Time, string, int) { return noon.AddDate(1, 0, 1), "last=9", 0 }, "year", 0},
		"order": {func(all []protect.Point) (time.Time, string, int) {
			all[5].Times.Snapshot = all[5].Times.Snapshot.Add(-2 * time.Hour)
			return noon, "last=9", 3
		}, "was made before", 0},
		"a second back is no jump": {func(all []protect.Point) (time.Time, string, int) {
			all[5].Times.Snapshot = all[4].Times.Snapshot.Add(-time.Second)
			return noon, "last=9", 0
		}, "", 3},
		"no battery": {func(all []protect.Point) (time.Time, string, int) {
			all[0].Times.Snapshot = time.Unix(100, 0)
			return noon, "last=9", 3
		}, "older than Plumb", 0},
		"the last proven": {func(all []protect.Point) (time.Time, string, int) {
			all[1].Label = protect.Proven
			return noon, "last=9", 3
		}, "last proven", 0},
		"the last proven is kept": {func(all []protect.Point) (time.Time, string, int) {
			all[1].Label = protect.Proven
			return noon, "last=9,verified=1", 0
		}, "", 2},
		"a newer one is proven": {func(all []protect.Point) (time.Time, string, int) {
			all[1].Label, all[9].Label = protect.Proven, protect.Proven
			return noon, "last=9", 0
		}, "", 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := hourly(12)
			now, keep, agreed := test.change(all)
			rules, err := Parse(keep)
			if err != nil {
				t.Fatal(err)
			}
			p := one(t, Judge(now, all, nil, rules, Options{AllRight: agreed}))
			if len(p.Going()) != test.goes || (test.want == "") != (len(p.Brakes) == 0) {
				t.Fatalf("%d go, brakes %+v", len(p.Going()), p.Brakes)
			}
			if test.want != "" && !slices.ContainsFunc(p.Brakes, func(b Brake) bool { return strings.Contains(b.Why, test.want) && b.Hint != "" }) {
				t.Errorf("brakes %+v", p.Brakes)
			}
		})
	}
	for left, goes := range map[int]int{1: 2, 2: 1, 3: 0} {
		if p := one(t, Judge(noon, hourly(3), nil, Rules{Last: left}, Options{})); len(p.Going()) != goes {
			t.Errorf("two of three may go: %+v", p)
		}
	}
	if p := one(t, Judge(noon, hourly(4), nil, Rules{Last: 1}, Options{})); len(p.Going()) != 0 {
		t.Errorf("three of four may not: %+v", p)
	}
}

func TestWhatKeepsAPoint(t *testing.T) {
	all := hourly(20)
	all[0].Holds = []protect.Hold{{Owner: "replicate tank2/copy"}}
	all[5].State = protect.Destroying
	all[6].State = protect.Taking
	facts := map[string]Facts{all[1].ID: {Clones: []string{"tank/dev"}}, all[2].ID: {Kept: []string{"a backup to tank/db builds on it"}}, all[3].ID: {Held: true},
		all[4].ID: {Gone: []string{"tank/db@x"}}, all[7].ID: {Unread: "the pool is suspended"}, all[19].ID: {Gone: []string{"tank/db@y"}}}
	p := one(t, Judge(noon, all, facts, Rules{Last: 10}, Options{}))
	why := map[int]string{0: "held by replicate tank2/copy", 1: "tank/dev", 2: "a backup to tank/db", 3: "in the storage", 4: "cannot be started", 6: "being taken", 7: "suspended",
		18: "last 1 of 10", 19: "cannot be started"}
	for i, f := range p.Fates {
		if want := why[i]; want != "" && (f.Goes || !strings.Contains(strings.Join(f.Why, "; "), want)) {
			t.Errorf("point %d: %+v", i, f)
		}
	}
	if !p.Fates[5].Goes || !p.Fates[8].Goes || len(p.Going()) != 2 {
		t.Errorf("going: %+v, brakes %+v", p.Going(), p.Brakes)
	}
}

// TestRecordsOfWhatEnded: of a point of which nothing is there only the record goes, which counts nowhere. One that somebody holds
// stays, and one of which it is not known.
func TestRecordsOfWhatEnded(t *testing.T) {
	all := hourly(6)
	all[1].Holds = []protect.Hold{{Owner: "audit"}}
	facts := map[string]Facts{}
	for i, p := range all[:5] {
		facts[p.ID] = Facts{Gone: []string{p.ID}, Ended: i < 3}
	}
	facts[all[3].ID] = Facts{Unread: "the pool is not imported"}
	p := one(t, Judge(noon, all, facts, Rules{Last: 1}, Options{}))
	for i, want := range []string{"only its record goes", "held by audit", "only its record goes", "not imported", "cannot be started", "last 1 of 1"} {
		if f := p.Fates[i]; !strings.Contains(f.Why[0], want) || f.Goes != (i == 0 || i == 2) || f.Record() != f.Goes {
			t.Errorf("point %d: %+v", i, f)
		}
	}
	if len(p.Brakes) > 0 || len(p.Going()) != 2 {
		t.Errorf("brakes %+v", p.Brakes)
	}
}

func TestAPeriodKeepsItsBest(t *testing.T) {
	all := hourly(13) // 0:00 to noon of one day
	all[2].Label = protect.Proven
	all[12].Drill = &protect.Drill{}
	p := one(t, Judge(noon, all, nil, Rules{Days: 1}, Options{AllRight: 11}))
	if len(p.Going()) != 11 || p.Fates[2].Goes || p.Fates[12].Goes {
		t.Errorf("kept the proven one and the newest? %+v %+v", p.Fates, p.Brakes)
	}
	all[2].Label = protect.Crash
	p = one(t, Judge(noon, all, nil, Rules{Days: 1}, Options{AllRight: 11}))
	if len(p.Going()) != 11 || p.Fates[11].Goes {
		t.Errorf("not the newest of those whose drill did not fail: %+v %+v", p.Fates, p.Brakes)
	}
}

// TestRetention generates cases and asks what must hold of any plan, without deciding
// itself which points stay.
func TestRetention(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 500
	}
	zones := []string{"UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Kiritimati"}
	var locations []*time.Location
	for _, z := range zones {
		l, err := time.LoadLocation(z)
		if err != nil {
			t.Skipf("no time zones on this machine: %v", err)
		}
		locations = append(locations, l)
	}
	met := map[string]int{}
	for seed := range n {
		c := generate(rand.New(rand.NewPCG(uint64(seed), 19)), locations)
		met[c.kind]++
		if why := c.check(met); why != "" {
			t.Fatalf("seed %d (%s, %d points, %s, all right %d): %s", seed, c.kind, len(c.points), c.rules, c.o.AllRight, why)
		}
	}
	for _, kind := range []string{"true clock", "a year ahead", "a year back", "now a year back", "now a year ahead", "braked", "destroyed", "held", "proven went"} {
		if met[kind] < n/200 {
			t.Errorf("%q was met only %d times in %d cases", kind, met[kind], n)
		}
	}
	t.Logf("%v", met)
}

type generated struct {
	kind   string
	now    time.Time
	points []protect.Point // of one server by birth, and some of another
	own    []protect.Point // by birth
	facts  map[string]Facts
	rules  Rules
	o      Options
	rnd    *rand.Rand
	jumps  bool // the clock was wrong so that it must be noticed when anything would go
}

func generate(r *rand.Rand, zones []*time.Location) *generated {
	c := &generated{rnd: r, kind: "true clock", facts: map[string]Facts{}}
	count := r.IntN(60)
	if r.IntN(20) == 0 {
		count = r.IntN(501)
	}
	// Around the days on which clocks are put forward and back.
	now := []time.Time{time.Date(2027, 3, 28, 1, 30, 0, 0, time.UTC), time.Date(2027, 10, 31, 1, 30, 0, 0, time.UTC), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC)}[r.IntN(4)]
	step := []time.Duration{time.Second, 7 * time.Minute, time.Hour, 5 * time.Hour, 24 * time.Hour}[r.IntN(5)]
	if count > 300 {
		step = min(step, time.Hour)
	}
	at := now.Add(-time.Duration(count) * step)
	c.now = now
	for i := range count {
		p := made(i, at.In(zones[r.IntN(len(zones))]), protect.Crash)
		if r.IntN(5) > 0 { // else two of one time
			at = at.Add(time.Duration(r.Int64N(int64(step) + 1)))
		}
		switch r.IntN(6) {
		case 0:
			p.Label, p.Drill = protect.Proven, &protect.Drill{OK: true}
		case 1:
			p.Drill = &protect.Drill{Why: "it did not start"}
		}
		if r.IntN(30) == 0 {
			p.Holds = []protect.Hold{{Owner: "someone"}}
		}
		switch r.IntN(40) {
		case 0:
			c.facts[p.ID] = Facts{Clones: []string{"tank/dev"}}
		case 1:
			c.facts[p.ID] = Facts{Kept: []string{"something builds on it"}}
		case 2:
			c.facts[p.ID] = Facts{Held: true}
		case 3:
			c.facts[p.ID] = Facts{Unread: "no answer"}
		}
		c.own = append(c.own, p)
	}
	c.breakClock()
	for _, x := range []struct {
		count *int
		most  int
	}{{&c.rules.Last, 10}, {&c.rules.Hours, 30}, {&c.rules.Days, 10}, {&c.rules.Weeks, 5}, {&c.rules.Months, 5}, {&c.rules.Years, 3}, {&c.rules.Verified, 4}} {
		if r.IntN(2) == 0 {
			*x.count = 1 + r.IntN(x.most)
		}
	}
	c.points = slices.Clone(c.own)
	for i := range r.IntN(5) {
		other := made(i, now.Add(-time.Duration(i)*time.Hour), protect.Crash)
		other.ID, other.Server.Ref.Name = "other-"+other.ID, "3307"
		c.points = append(c.points, other)
	}
	// A person who agrees has seen the number.
	if r.IntN(2) == 0 {
		c.o.AllRight = len(c.plan().going())
	}
	r.Shuffle(len(c.points), func(i, j int) { c.points[i], c.points[j] = c.points[j], c.points[i] })
	return c
}

// breakClock has some points, or this moment, dated by a clock a year off.
func (c *generated) breakClock() {
	if len(c.own) < 4 {
		return
	}
	at := 1 + c.rnd.IntN(len(c.own)-2)
	move := func(kind string, from, to, years int) {
		c.kind, c.jumps = kind, true
		for i := from; i < to; i++ {
			c.own[i].Times.Snapshot = c.own[i].Times.Snapshot.AddDate(years, 0, 1)
		}
	}
	switch c.rnd.IntN(12) {
	case 0:
		move("a year ahead", at, min(len(c.own), at+1+c.rnd.IntN(5)), 1)
	case 1:
		move("a year back", at, at+1, -1)
	case 2:
		c.kind, c.jumps, c.now = "now a year back", true, c.now.AddDate(-1, 0, 0)
	case 3:
		c.kind, c.now = "now a year ahead", c.now.AddDate(1, 0, 400)
	}
}

func (c *generated) plan() Plan {
	for _, p := range Judge(c.now, c.points, c.facts, c.rules, c.o) {
		if p.Server.Name == "3306" {
			return p
		}
	}
	return Plan{}
}

func (c *generated) check(met map[string]int) string {
	p := c.plan()
	if len(p.Fates) != len(c.own) {
		return fmt.Sprintf("%d points became %d", len(c.own), len(p.Fates))
	}
	goes := map[string]bool{}
	reasons := 0
	for i, f := range p.Fates {
		if c.kind == "true clock" && f.Point.ID != c.own[i].ID {
			return "not in order of birth: " + f.Point.ID
		}
		if len(f.Why) == 0 || slices.Contains(f.Why, "") {
			return "no reason for " + f.Point.ID
		}
		goes[f.Point.ID] = f.Goes
		known := c.facts[f.Point.ID]
		kept := len(f.Point.Holds) > 0 || len(known.Clones)+len(known.Kept) > 0 || known.Held || known.Unread != ""
		if kept {
			met["held"]++
			reasons++
		}
		if f.Goes && kept {
			return f.Point.ID + " is held, cloned, built on or unread, and goes"
		}
	}
	if why := c.checkBrakes(p, goes, met); why != "" {
		return why
	}
	if why := c.checkRules(goes, reasons); why != "" {
		return why
	}
	return c.checkSame(p, goes)
}

// counted gives the points that rules count, newest first.
func (c *generated) counted() (out []protect.Point) {
	for i := len(c.own) - 1; i >= 0; i-- {
		if c.facts[c.own[i].ID].Unread == "" {
			out = append(out, c.own[i])
		}
	}
	return out
}

func (c *generated) checkBrakes(p Plan, goes map[string]bool, met map[string]int) string {
	n, proven, left := 0, 0, 0
	counted := c.counted()
	for _, q := range counted {
		if goes[q.ID] {
			n++
		}
		if q.Label == protect.Proven && goes[q.ID] {
			proven++
		} else if q.Label == protect.Proven {
			left++
		}
	}
	if len(p.Brakes) > 0 {
		met["braked"]++
		if len(p.Going()) > 0 {
			return "a braked plan destroys"
		}
		if !c.jumps && c.kind == "true clock" && n <= 2 && (proven == 0 || left > 0) {
			return fmt.Sprintf("braked for nothing: %+v", p.Brakes)
		}
		return ""
	}
	if len(p.Going()) != n {
		return "what goes does not"
	}
	if n > 0 {
		met["destroyed"]++
	}
	if proven > 0 {
		met["proven went"]++
		if left == 0 {
			return "no proven point is left"
		}
	}
	if 4*n > len(counted) && n > 2 && c.o.AllRight != n {
		return fmt.Sprintf("%d of %d go and nobody agreed", n, len(counted))
	}
	if c.jumps && n > 0 && len(counted) == len(c.own) { // a jump among points that nobody could look at is not seen
		return "the clock jumped and points go"
	}
	if c.kind == "now a year ahead" && n > 0 && c.o.AllRight != n {
		return "the clock may be a year ahead and points go"
	}
	return ""
}

// names of periods, told by the calendar and not by arithmetic.
func names() map[string]func(time.Time) string {
	return map[string]func(time.Time) string{
		"h": func(t time.Time) string { return t.Format("2006-01-02 15") },
		"d": func(t time.Time) string { return t.Format("2006-01-02") },
		"w": func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprintf("%04d %02d", y, w) },
		"m": func(t time.Time) string { return t.Format("2006-01") },
		"y": func(t time.Time) string { return t.Format("2006") },
	}
}

func (c *generated) checkRules(goes map[string]bool, held int) string {
	counted := c.counted()
	kept := 0
	for i, q := range counted {
		if goes[q.ID] && (i == 0 || i < c.rules.Last) {
			return fmt.Sprintf("newest %d goes", i+1)
		}
		if !goes[q.ID] {
			kept++
		}
	}
	seen := 0
	for _, q := range counted {
		if q.Label != protect.Proven {
			continue
		}
		if seen++; seen <= c.rules.Verified && goes[q.ID] {
			return fmt.Sprintf("proven %d goes", seen)
		}
	}
	for unit, n := range map[string]int{"h": c.rules.Hours, "d": c.rules.Days, "w": c.rules.Weeks, "m": c.rules.Months, "y": c.rules.Years} {
		has, hasProven, stays, staysProven := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, q := range counted {
			name := names()[unit](q.Times.Snapshot.UTC())
			has[name] = true
			stays[name] = stays[name] || !goes[q.ID]
			if q.Label == protect.Proven {
				hasProven[name] = true
				staysProven[name] = staysProven[name] || !goes[q.ID]
			}
		}
		var all []string
		for name := range has {
			all = append(all, name)
		}
		slices.Sort(all)
		slices.Reverse(all)
		for _, name := range all[:min(n, len(all))] {
			if !stays[name] || hasProven[name] && !staysProven[name] {
				return fmt.Sprintf("nothing, or nothing proven, is left of %s %s", unit, name)
			}
		}
	}
	r := c.rules
	if most := 1 + r.Last + r.Hours + r.Days + r.Weeks + r.Months + r.Years + r.Verified + held; kept > most {
		return fmt.Sprintf("%d stay, and no more than %d can have a reason", kept, most)
	}
	return ""
}

// checkSame asks for plans that must come to the same.
func (c *generated) checkSame(p Plan, goes map[string]bool) string {
	again := *c
	again.points = slices.Clone(c.points)
	for i := range again.points {
		again.points[i].Times.Snapshot = again.points[i].Times.Snapshot.In(time.FixedZone("here", -11*3600-1800))
	}
	slices.Reverse(again.points)
	if q := again.plan(); !sameFates(p, q) || !reflect.DeepEqual(p.Brakes, q.Brakes) {
		return "another zone or order of files gives another plan"
	}
	again.points = slices.DeleteFunc(slices.Clone(c.points), func(q protect.Point) bool { return goes[q.ID] && q.Server.Ref.Name == "3306" })
	again.o.AllRight = 0
	if q := again.plan(); len(q.going()) > 0 {
		return fmt.Sprintf("a second run destroys %s", q.going()[0].Point.ID)
	}
	again.points = slices.DeleteFunc(slices.Clone(c.points), func(q protect.Point) bool { return q.Server.Ref.Name != "3306" })
	again.o = c.o
	if q := again.plan(); !sameFates(p, q) {
		return "points of another server change the plan"
	}
	return ""
}

func sameFates(a, b Plan) bool {
	return slices.EqualFunc(a.Fates, b.Fates, func(x, y Fate) bool {
		return x.Point.ID == y.Point.ID && x.Goes == y.Goes && slices.Equal(x.Why, y.Why)
	})
}
