package watch_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

func TestASaturatedDeviceIsTheLimit(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(full)
	j := judge()
	got := m.run(j)
	if !slices.Equal(ids(got), []string{"device/saturated"}) {
		t.Fatalf("raised: %q", ids(got))
	}
	v := got.Verdicts[0]
	if v.Share == nil || v.Share.Value < 0.8 || v.Share.Low >= v.Share.Value || v.Share.High <= v.Share.Value || v.Share.High > 1 {
		t.Errorf("share %+v, want 0.83 with its interval", v.Share)
	}
	if since := v.Since.Sub(start); since < 60*time.Second || since > 75*time.Second {
		t.Errorf("since %s after the start, want soon after 60 s", since)
	}
	if !slices.Contains(v.Things, disk) || !strings.Contains(v.Say, "sda") || len(v.Evidence) == 0 {
		t.Errorf("%+v", v)
	}
	for _, a := range v.Against {
		if a.Holds == rule.Fires {
			t.Errorf("counter-evidence that is not so: %s", a.Says)
		}
	}
	if s := got.Servers[0]; s.Active == nil || *s.Active != 12 || !s.Up || s.Title != "MariaDB 10.11.14" {
		t.Errorf("server %+v", s)
	}
	if u := unknownOf(got, "slots/connections"); u == nil {
		t.Error("connections of a picture minutes old decided")
	}
}

// TestRaisedInTimeAndCleared follows a verdict over time.
func TestRaisedInTimeAndCleared(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(full)
	m.add(load{seconds: 90, reads: 300, each: 0.2, sessions: map[series.Class]float64{series.ClassCPU: 2}})
	j := judge()
	j.Picture(start, picture())
	var raised, cleared, brief, seen time.Duration
	for _, b := range m.batches {
		j.Batch(b)
		now := j.Moment(b.At)
		v := find(now, "device/saturated")
		is := v != nil
		if is && b.At.Sub(start) < 100*time.Second && !v.Until.IsZero() {
			t.Errorf("%s after the start it was last seen at %s, and holds", b.At.Sub(start), v.Until)
		}
		if is && !v.Until.IsZero() {
			seen = v.Until.Sub(start)
		}
		if raised == 0 && brief == 0 && len(now.Servers) > 0 && slices.Contains(now.Servers[0].Brief, "device/saturated") {
			brief = b.At.Sub(start)
		}
		switch at := b.At.Sub(start); {
		case is && raised == 0:
			raised = at
		case !is && raised > 0 && cleared == 0:
			cleared = at
		}
	}
	if raised < 70*time.Second || raised > 85*time.Second {
		t.Errorf("raised %s after the start; the incident began after 1m0s, and 25 s are allowed", raised)
	}
	if brief < time.Minute || brief >= raised {
		t.Errorf("seen as not lasting %s after the start, and raised after %s", brief, raised)
	}
	if cleared < 120*time.Second || cleared > 130*time.Second {
		t.Errorf("cleared %s after the start; it ended after 1m40s", cleared)
	}
	if seen < 90*time.Second || seen > 110*time.Second {
		t.Errorf("until it was cleared it was last seen %s after the start; it ended after 1m40s", seen)
	}
	got := j.Moment(j.Known())
	if len(got.Timeline) != 1 || got.Timeline[0].To.IsZero() || got.Timeline[0].Share == nil {
		t.Errorf("timeline %+v", got.Timeline)
	}
}

func TestHealthyLoadsRaiseNothing(t *testing.T) {
	for name, l := range map[string]load{
		"in memory":  {seconds: 60, reads: 10, each: 0.2, sessions: map[series.Class]float64{series.ClassCPU: 4}},
		"checkpoint": {seconds: 60, reads: 3000, each: 4, sessions: map[series.Class]float64{series.ClassCPU: 4}}, // the disk is full, and nobody waits
		"one wait":   {seconds: 60, reads: 300, each: 0.2, sessions: map[series.Class]float64{series.ClassCPU: 9, series.ClassLock: 1}},
	} {
		m := &made{}
		m.add(calm)
		m.add(l)
		j := judge()
		if got := m.run(j); len(got.Verdicts) != 0 {
			t.Errorf("%s: %q", name, ids(got))
		}
	}
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	m := &made{}
	m.add(load{seconds: 60, reads: 3000, each: 4, mute: true, psi: 0.8})
	j := judge()
	got := m.run(j)
	if len(got.Verdicts) != 0 {
		t.Errorf("raised without knowing: %q", ids(got))
	}
	if u := unknownOf(got, "lock/blocked"); u == nil || len(u.Missing) == 0 {
		t.Errorf("lock/blocked: %+v", u)
	}
	u := unknownOf(got, "device/saturated")
	if u == nil || !slices.ContainsFunc(u.Missing, func(m rule.Missing) bool {
		return m.Name == "response_ratio" && strings.Contains(m.Why, "not yet observed")
	}) {
		t.Errorf("a disk that was never seen unloaded: %+v", u)
	}
}

// TestMuteSessionsAreNoShares: where most sessions do not say what they do, the
// kernel's word counts for files, and locks are not known.
func TestMuteSessionsAreNoShares(t *testing.T) {
	m := &made{}
	m.add(calm)
	quiet := full
	quiet.sessions = map[series.Class]float64{series.ClassUnknown: 12}
	m.add(quiet)
	j := judge()
	got := m.run(j)
	v := find(got, "device/saturated")
	if v == nil || v.Share != nil {
		t.Errorf("device/saturated: %+v", v)
	}
	if unknownOf(got, "lock/blocked") == nil {
		t.Errorf("lock/blocked is known: %+v", got.Servers[0])
	}
}

func TestTheRootOfLocksIsNamed(t *testing.T) {
	list := []series.Session{
		{Of: db, ID: 7, User: "app", Client: "web1", For: 40 * time.Second, InTx: 41 * time.Second},
		{Of: db, ID: 8, Active: true, Class: series.ClassLock, BlockedBy: []int64{7}},
		{Of: db, ID: 9, Active: true, Class: series.ClassLock, BlockedBy: []int64{8}},
	}
	m := &made{}
	m.add(calm)
	m.add(load{seconds: 40, reads: 10, each: 0.2, sessions: map[series.Class]float64{series.ClassLock: 2}, list: list})
	j := judge()
	got := m.run(j)
	v := find(got, "lock/blocked")
	if v == nil || !strings.Contains(v.Say, "session 7 of app@web1, idle in a transaction for 40 s; 2 sessions wait for it") {
		t.Fatalf("%+v", got.Verdicts)
	}
	if got.Verdicts[0].ID != "lock/blocked" {
		t.Errorf("first is %s", got.Verdicts[0].ID)
	}
}

// TestWhoHoldsTheLocksIsNotTold: that sessions wait is said all the same, and nobody is named; that none waits is no reason to
// say that it is not known.
func TestWhoHoldsTheLocksIsNotTold(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(load{seconds: 40, reads: 10, each: 0.2, sessions: map[series.Class]float64{series.ClassLock: 2}, list: []series.Session{{Of: db, ID: 8, Active: true, Class: series.ClassLock}}})
	v := find(m.run(judge()), "lock/blocked")
	if v == nil || strings.Contains(v.Say, "root") || strings.Contains(v.Say, "not there") || !strings.Contains(v.Say, "waiting for locks") {
		t.Fatalf("%+v", v)
	}
	if v.Against[0].Holds != rule.Unknown {
		t.Errorf("what nobody knows of the root is said to be %v: %s", v.Against[0].Holds, v.Against[0].Says)
	}
}

// TestTheLatchIsNamed: the one that most sessions wait for. That sessions wait for none is no reason to name one.
func TestTheLatchIsNamed(t *testing.T) {
	list := []series.Session{
		{Of: db, ID: 7, Active: true, Class: series.ClassLatch, Wait: "LWLock:WALInsert"},
		{Of: db, ID: 8, Active: true, Class: series.ClassLatch, Wait: "LWLock:SubtransSLRU"},
		{Of: db, ID: 9, Active: true, Class: series.ClassLatch, Wait: "LWLock:SubtransSLRU"},
		{Of: db, ID: 10, Active: true, Class: series.ClassLock, Wait: "Lock:tuple"},
	}
	for class, want := range map[series.Class]bool{series.ClassLatch: true, series.ClassCPU: false} {
		m := &made{}
		m.add(calm)
		m.add(load{seconds: 40, reads: 10, each: 0.2, sessions: map[series.Class]float64{class: 8}, list: list})
		v := find(m.run(judge()), "lock/latch")
		if v != nil != want || want && !strings.Contains(v.Say, "Most sessions wait for LWLock:SubtransSLRU.") {
			t.Errorf("%s: %+v", class, v)
		}
	}
}

// TestAChain: what waits for the log waits for the disk below it.
func TestAChain(t *testing.T) {
	m := &made{}
	m.add(calm)
	l := full
	l.sessions = map[series.Class]float64{series.ClassRead: 5, series.ClassLog: 6, series.ClassCPU: 1}
	m.add(l)
	j := judge()
	got := m.run(j)
	if !slices.Equal(ids(got), []string{"device/saturated", "log/flush"}) {
		t.Fatalf("raised: %q", ids(got))
	}
	if !slices.Equal(got.Verdicts[0].Effects, []string{"log/flush"}) || !slices.Equal(got.Verdicts[1].Causes, []string{"device/saturated"}) {
		t.Errorf("%+v", got.Verdicts)
	}
}

// TestTheSameFeedGivesTheSameBytes delivers what came within a second in another
// order.
func TestTheSameFeedGivesTheSameBytes(t *testing.T) {
	var want string
	for i := range 4 {
		m := &made{}
		m.add(calm)
		m.add(full)
		m.add(load{seconds: 20, reads: 300, each: 0.2, sessions: map[series.Class]float64{series.ClassCPU: 2}})
		if i > 0 {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			for k := 0; k+3 <= len(m.batches); k += 3 {
				part := m.batches[k : k+3]
				r.Shuffle(3, func(a, b int) { part[a], part[b] = part[b], part[a] })
			}
		}
		j := judge()
		text, err := json.Marshal(m.run(j))
		if err != nil {
			t.Fatal(err)
		}
		base, err := json.Marshal(j.Baselines())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text) + string(base); want == "" {
			want = got
		} else if got != want {
			t.Fatalf("delivery %d gives other bytes:\n%s\n%s", i, got, want)
		}
	}
}

func TestTheClockGoesBack(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(full)
	m.at = m.at.Add(-time.Hour)
	m.add(full)
	j := judge()
	if got := m.run(j); !slices.Equal(ids(got), []string{"device/saturated"}) {
		t.Errorf("raised: %q", ids(got))
	}
	if known := j.Known(); known.After(m.at) {
		t.Errorf("known until %s, and it is %s", known, m.at)
	}
}

// TestVerdictOverWhichTheClockWentBack: what was raised goes on under the new time, and neither of the two spans ends
// before it begins.
func TestVerdictOverWhichTheClockWentBack(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(full)
	back := m.at.Add(-time.Hour)
	m.at = back
	m.add(full)
	m.add(calm)
	j := judge()
	j.Picture(start, picture())
	for _, b := range m.batches {
		j.Batch(b)
		if known := j.Known(); b.At.Sub(known).Abs() < time.Minute {
			if v := find(j.Moment(known), "device/saturated"); v != nil && v.Since.After(known) {
				t.Fatalf("at %s it holds since %s", known, v.Since)
			}
		}
	}
	var spans []watch.Span
	for _, s := range j.Moment(j.Known()).Timeline {
		if s.ID == "device/saturated" {
			spans = append(spans, s)
		}
		if s.To.Before(s.From) && !s.To.IsZero() {
			t.Errorf("%s held from %s to %s", s.ID, s.From, s.To)
		}
	}
	if len(spans) != 2 || spans[0].From.Before(back) || spans[0].From.After(back.Add(2*time.Second)) || spans[1].To.Before(start) {
		t.Errorf("it held %+v", spans)
	}
}

// TestStatementsAfterTheClockWentBack: one that runs ten times a second runs as often whatever the clock is set to.
func TestStatementsAfterTheClockWentBack(t *testing.T) {
	j, calls := judge(), 0.0
	j.Picture(start, picture())
	told := 0
	at := start
	for look := range 20 {
		if at = at.Add(10 * time.Second); look == 10 {
			at = at.Add(-45 * time.Second)
		}
		calls += 100
		b := series.Batch{Source: "mysql:3306 statements", Every: 10 * time.Second, At: at, Statements: []series.Statement{{Of: db, ID: "1", Text: "SELECT ?", Calls: calls, Seconds: calls / 1000}}}
		b.Set(db, "uptime", float64(10*look))
		j.Batch(b)
		for _, s := range j.Moment(at).Servers {
			for _, c := range s.Statements {
				if told++; c.Calls/c.Over.Seconds() != 10 {
					t.Errorf("look %d: %v calls in %s", look, c.Calls, c.Over)
				}
			}
		}
	}
	if told < 15 {
		t.Errorf("told %d times what it costs", told)
	}
}

// TestStatementsOfAServerThatWasStarted: of one whose counts outlast a restart, or of another one that has its name
// now and counted more, what it counted before is no change.
func TestStatementsOfAServerThatWasStarted(t *testing.T) {
	for _, statusFirst := range []bool{true, false} {
		j, told := judge(), 0
		j.Picture(start, picture())
		for look := range 20 {
			at, calls, uptime := start.Add(time.Duration(10*look)*time.Second), float64(100*look), float64(1000+10*look)
			if look >= 10 {
				calls, uptime = calls+1e6, float64(10*(look-10)+5)
			}
			status := series.Batch{Source: "mysql:3306 status", Every: 10 * time.Second, At: at}
			status.Set(db, "uptime", uptime)
			statements := series.Batch{Source: "mysql:3306 statements", Every: 10 * time.Second, At: at.Add(10 * time.Millisecond),
				Statements: []series.Statement{{Of: db, ID: "1", Text: "SELECT ?", Calls: calls, Seconds: calls / 1000}}}
			if !statusFirst {
				status.At = at.Add(20 * time.Millisecond)
			}
			j.Batch(status)
			j.Batch(statements)
			for _, s := range j.Moment(at).Servers {
				for _, c := range s.Statements {
					if told++; c.Calls/c.Over.Seconds() != 10 {
						t.Errorf("status first %v, look %d: %v calls in %s", statusFirst, look, c.Calls, c.Over)
					}
				}
			}
		}
		if told < 12 {
			t.Errorf("told %d times what it costs", told)
		}
	}
}

// TestWhatWasLearnedIsKept gives a new judge what another one knew of the disk.
func TestWhatWasLearnedIsKept(t *testing.T) {
	m := &made{}
	m.add(calm)
	first := judge()
	m.run(first)
	if len(first.Baselines()) == 0 {
		t.Fatal("nothing was learned")
	}
	text, err := json.Marshal(first.Baselines())
	if err != nil {
		t.Fatal(err)
	}
	var back []watch.Baseline
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	loaded := &made{}
	loaded.add(full)
	second := judge()
	second.Learned(back)
	if got := loaded.run(second); !slices.Equal(ids(got), []string{"device/saturated"}) {
		t.Errorf("raised: %q", ids(got))
	}
}

func TestAServerThatWentIsNotJudged(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(full)
	j := judge()
	m.run(j)
	gone := picture()
	gone.Things = slices.DeleteFunc(gone.Things, func(t *stack.Thing) bool { return t.Ref == db })
	j.Picture(m.at, gone)
	n := len(m.batches)
	m.add(load{seconds: 70, reads: 1, each: 0.1, mute: true})
	for _, b := range m.batches[n:] {
		if b.Source != "mysql:3306 sessions" {
			j.Batch(b)
		}
	}
	got := j.Moment(j.Known())
	if len(got.Servers) != 0 || len(got.Verdicts) != 0 {
		t.Errorf("servers %d, verdicts %q", len(got.Servers), ids(got))
	}
}

func TestLimitsOfGroups(t *testing.T) {
	limit := stack.Ref{Kind: "cgroup_device", Name: "/db@sda"}
	m := &made{}
	m.add(calm)
	n := len(m.batches)
	m.add(load{seconds: 40, reads: 500, each: 0.2, sessions: map[series.Class]float64{series.ClassRead: 4}, psi: 0.9})
	reads := 0.0
	for i := n; i < len(m.batches); i++ {
		if m.batches[i].Source == "kernel" {
			reads += 498
			m.batches[i].Set(limit, "reads", reads)
			m.batches[i].Set(limit, "read_iops_limit", 500)
			m.batches[i].Set(group, "cpu_usage_us", reads)
		}
	}
	j := judge()
	got := m.run(j)
	v := find(got, "limit/cgroup")
	if v == nil || !strings.Contains(v.Title, "500 reads a second") || got.Verdicts[0].ID != "limit/cgroup" {
		t.Fatalf("raised: %q; unknown %+v", ids(got), unknownOf(got, "limit/cgroup"))
	}
}
