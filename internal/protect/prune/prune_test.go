package prune

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
)

// shelf is a storage of which some snapshots are gone.
type shelf struct {
	protect.Storage
	gone []string
	dead string // a snapshot of which nothing is learned
	half string // one of which a part is gone
	size int64  // of each

	lostIn string // a pool of which all are gone
}

func (shelf) Name() string { return "shelf" }

func (s shelf) State(_ context.Context, _ host.Reader, m protect.Member) (protect.MemberState, error) {
	if m.Snapshot == s.dead {
		return protect.MemberState{}, errors.New("the disk does not answer")
	}
	st := protect.MemberState{Gone: slices.Contains(s.gone, m.Snapshot) || s.lostIn != "" && m.Pool == s.lostIn, Space: s.size}
	if m.Snapshot == s.half {
		st.Lacks = []string{"snap-2"}
	}
	return st, nil
}

func (shelf) Destroy(context.Context, host.Streamer, []protect.Member) error { return nil }

func pruner(t *testing.T, on shelf, points ...protect.Point) Pruner {
	t.Helper()
	k := &protect.Keeper{Do: deaf{LiveDoer: hosttest.LiveDoer(t)}, Storages: []protect.Storage{on}, Store: protect.Store{Dir: t.TempDir()}, Now: func() time.Time { return noon }}
	for _, p := range points {
		if err := k.Store.Put(t.Context(), k.Do, p); err != nil {
			t.Fatal(err)
		}
	}
	return Pruner{Keeper: k}
}

// deaf is this machine, without servers.
type deaf struct{ *host.LiveDoer }

func (deaf) Hold(context.Context, host.Target) (host.Held, error) { return nil, errors.New("not here") }

var noon = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

func proven(hour int) protect.Point {
	at := noon.Add(time.Duration(hour) * time.Hour)
	id := at.Format("20060102T150405Z") + "-0000"
	return protect.Point{ID: id, State: protect.Taken, Label: protect.Proven, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}},
		Times: protect.Times{Snapshot: at}, Members: []protect.Member{{Volume: protect.Volume{Storage: "shelf", Name: "data"}, Snapshot: id}}}
}

// TestLastThatIsProven: another point proves nothing when its snapshots are gone or cannot be read.
func TestLastThatIsProven(t *testing.T) {
	old, late := proven(-5), proven(-1)
	for name, c := range map[string]struct {
		on   shelf
		last bool
	}{
		"the other is there":         {shelf{}, false},
		"the other is gone":          {shelf{gone: []string{old.ID}}, true},
		"the other does not answer":  {shelf{dead: old.ID}, true},
		"this one is gone, and last": {shelf{gone: []string{old.ID, late.ID}}, true},
	} {
		p := pruner(t, c.on, old, late)
		plans, err := p.Plan(t.Context(), p.Keeper.Do, Options{Point: late.ID})
		if err != nil {
			t.Fatal(err)
		}
		if why := strings.Join(plans[0].Fates[0].Why, "; "); strings.Contains(why, "it is the last") != c.last {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// TestRulesPassLostPointsOver: neither last=1 nor verified=1 is met by a point that is gone.
func TestRulesPassLostPointsOver(t *testing.T) {
	all := []protect.Point{proven(-5), proven(-4), proven(-1)}
	p := pruner(t, shelf{gone: []string{all[2].ID}}, all...)
	plans, err := p.Plan(t.Context(), p.Keeper.Do, Options{Rules: keep.Rules{Last: 1, Verified: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if f := plans[0].Fates; !f[0].Goes || f[1].Goes || !f[2].Record() || !strings.Contains(f[2].Why[0], "all of its snapshots are gone") {
		t.Errorf("%+v", f)
	}
}

// TestJudgedAgain: what goes by a plan stays when what it was to leave failed a drill, or is gone, before its turn.
func TestJudgedAgain(t *testing.T) {
	old, late := proven(-5), proven(-1)
	failed := late
	failed.Label = protect.Crash
	for what, c := range map[string]struct {
		rules keep.Rules
		now   protect.Point // the newer one
		gone  string
		want  string
	}{
		"a rule keeps it":        {keep.Rules{Last: 1, Verified: 1}, failed, "", "verified 1 of 1"},
		"it is the last proven":  {keep.Rules{Last: 1}, failed, "", "the last proven point"},
		"the other is gone":      {keep.Rules{Last: 1}, late, late.ID, "last 1 of 1"},
		"nobody knows the other": {keep.Rules{Verified: 1}, late, "?" + late.ID, "stays now"},
	} {
		p := pruner(t, shelf{}, old, late)
		plans, err := p.Plan(t.Context(), p.Keeper.Do, Options{Rules: c.rules})
		if err != nil || len(plans) != 1 || len(plans[0].Going()) != 1 {
			t.Fatalf("%s: %+v, %v", what, plans, err)
		}
		if err := p.Keeper.Store.Put(t.Context(), p.Keeper.Do, c.now); err != nil {
			t.Fatal(err)
		}
		on := shelf{gone: []string{c.gone}}
		if dead, unknown := strings.CutPrefix(c.gone, "?"); unknown {
			on = shelf{dead: dead}
		}
		p.Keeper.Storages = []protect.Storage{on}
		done, err := p.Carry(t.Context(), plans[0])
		if err == nil || len(done) != 1 || done[0].Gone || !strings.Contains(done[0].Why, c.want) {
			t.Errorf("%s: %+v, %v; want %q", what, done, err, c.want)
		}
	}
}

// TestBrakedAgain: what makes a plan that nothing is pruned makes it so until the last point has gone. What a person agreed to goes on,
// and nothing else with it.
func TestBrakedAgain(t *testing.T) {
	for what, c := range map[string]struct {
		last, agreed int
		held         int                                        // of the oldest
		later        func(t *testing.T, p Pruner, all []string) // when the plan was made
		goes         int
		want         string // why not; "" for none
	}{
		"nothing happens": {last: 15, goes: 5},
		"the clock was set back": {last: 15, later: func(_ *testing.T, p Pruner, _ []string) {
			p.Keeper.Now = func() time.Time { return noon.AddDate(-1, 0, 0) }
		}, want: "a clock jumped"},
		"others are let go":          {last: 10, held: 5, later: released, want: "10 points of 20 would go, which is more than a quarter"},
		"agreed":                     {last: 10, agreed: 10, goes: 10},
		"agreed, and one is held":    {last: 10, agreed: 10, later: func(t *testing.T, p Pruner, all []string) { must(t, p.Keeper.Hold(t.Context(), all[3], "somebody")) }, goes: 9, want: "held by somebody"},
		"agreed, but not to so many": {last: 10, held: 5, agreed: 5, later: released, want: "10 points of 20 would go"},
	} {
		t.Run(what, func(t *testing.T) {
			var all []protect.Point
			var ids []string
			for i := range 20 {
				pt := proven(i - 20)
				if i < c.held {
					pt.Holds = []protect.Hold{{Owner: "somebody"}}
				}
				all, ids = append(all, pt), append(ids, pt.ID)
			}
			p := pruner(t, shelf{}, all...)
			p.Keeper.Books = t.TempDir()
			plans, err := p.Plan(t.Context(), p.Keeper.Do, Options{Rules: keep.Rules{Last: c.last}, AllRight: c.agreed})
			must(t, err)
			if c.later != nil {
				c.later(t, p, ids)
			}
			done, err := p.Carry(t.Context(), plans[0])
			gone := 0
			for _, o := range done {
				if o.Gone {
					gone++
				} else if c.want == "" || !strings.Contains(o.Why, c.want) {
					t.Errorf("%s stays: %s; want %q", o.Point, o.Why, c.want)
				}
			}
			if gone != c.goes || len(done) != len(plans[0].Going()) || (err == nil) != (c.want == "") {
				t.Errorf("%d of %d went, and %d were to; %v", gone, len(done), c.goes, err)
			}
		})
	}
}

// released lets go what was held.
func released(t *testing.T, p Pruner, all []string) {
	for _, id := range all[:5] {
		must(t, p.Keeper.Release(t.Context(), id, "somebody"))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMountedTwice: a snapshot of what the server has mounted in two places is one.
func TestMountedTwice(t *testing.T) {
	twice := proven(-1)
	twice.Members = append(twice.Members, twice.Members[0])
	twice.Members[1].Mountpoint = "/srv/log"
	p := pruner(t, shelf{size: 512}, twice)
	if f := p.Facts(t.Context(), p.Keeper.Do, []protect.Point{twice})[twice.ID]; f.Space != 512 {
		t.Errorf("it keeps 512 bytes, and %d are told", f.Space)
	}
	p = pruner(t, shelf{gone: []string{twice.ID}}, twice)
	if f := p.Facts(t.Context(), p.Keeper.Do, []protect.Point{twice})[twice.ID]; f.Lost() != twice.ID+" is gone or another now" || !f.Ended {
		t.Errorf("%+v", f)
	}
}

// TestOneNameInTwoPools: two filesystems can each have a snapshot of one name and path, as two of btrfs whose data lie in their top: both are the point's.
func TestOneNameInTwoPools(t *testing.T) {
	both := proven(-1)
	both.Members = append(both.Members, both.Members[0])
	both.Members[0].Pool, both.Members[1].Pool, both.Members[1].Mountpoint = "uuid-a", "uuid-b", "/srv/log"
	if n := len(both.Snapshots()); n != 2 {
		t.Errorf("it has %d snapshots", n)
	}
	p := pruner(t, shelf{size: 512}, both)
	if f := p.Facts(t.Context(), p.Keeper.Do, []protect.Point{both})[both.ID]; f.Space != 1024 {
		t.Errorf("it keeps 1024 bytes, and %d are told", f.Space)
	}
	p = pruner(t, shelf{lostIn: "uuid-b"}, both)
	if f := p.Facts(t.Context(), p.Keeper.Do, []protect.Point{both})[both.ID]; f.Lost() == "" || f.Ended {
		t.Errorf("one of two is gone, and it is told: %+v", f)
	}
}

// TestPartsThatAreGone: a point of which a part of one snapshot is gone is counted by no rule, and stays until it is named: something of it is there.
func TestPartsThatAreGone(t *testing.T) {
	old, half := proven(-5), proven(-1)
	p := pruner(t, shelf{half: half.ID}, old, half)
	plans, err := p.Plan(t.Context(), p.Keeper.Do, Options{Rules: keep.Rules{Last: 1, Verified: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if f := plans[0].Fates; f[0].Goes || f[1].Goes || f[1].Record() || !strings.Contains(f[1].Why[0], "cannot be started, and is not counted: snap-2 is gone") {
		t.Errorf("%+v", f)
	}
	if plans, err = p.Plan(t.Context(), p.Keeper.Do, Options{Point: half.ID}); err != nil || !plans[0].Fates[0].Goes {
		t.Errorf("by its name: %+v, %v", plans, err)
	}
}

// TestRecordsOfWhatIsGone: by rules a point goes with nothing but its record when all of it is gone, and still is when it goes; never
// when that is not known, nor when a part of it is there.
func TestRecordsOfWhatIsGone(t *testing.T) {
	half := proven(-4)
	half.Members = append(half.Members, protect.Member{Volume: half.Members[0].Volume, Snapshot: "log"})
	ready := proven(-3)
	ready.Ready = []protect.Member{{Volume: ready.Members[0].Volume, Snapshot: "ready"}}
	all := []protect.Point{proven(-6), proven(-5), half, ready, proven(-2), proven(-1)}
	var gone []string
	for _, p := range all[:5] {
		gone = append(gone, p.ID)
	}
	p := pruner(t, shelf{gone: gone, dead: all[4].ID}, all...)
	p.Keeper.Books = t.TempDir()
	plans, err := p.Plan(t.Context(), p.Keeper.Do, Options{Rules: keep.Rules{Last: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range plans[0].Fates {
		if f.Goes != (i < 2) || f.Record() != f.Goes {
			t.Errorf("point %d: %+v", i, f)
		}
	}
	p.Keeper.Storages = []protect.Storage{shelf{gone: gone[1:], dead: all[4].ID}} // the first came back, as a dataset got its name again
	done, err := p.Carry(t.Context(), plans[0])
	if err == nil || len(done) != 2 || done[0].Gone || !done[1].Gone || !done[1].Ended || !strings.Contains(done[0].Why, "but are there now") {
		t.Errorf("%+v, %v", done, err)
	}
	left, err := p.Keeper.Store.List(t.Context(), p.Keeper.Do)
	if err != nil || len(left) != 5 || left[0].ID != all[0].ID || left[0].State != protect.Taken || left[1].ID != half.ID {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// TestStandingAsksWhomItKnows: of a point on a storage that nobody named nothing is known.
func TestStandingAsksWhomItKnows(t *testing.T) {
	here, away := proven(-2), proven(-1)
	away.Members[0].Storage = "cloud"
	facts := FactsBy(t.Context(), hosttest.Map{}, []protect.Storage{shelf{gone: []string{here.ID}}}, []protect.Point{here, away})
	if !facts[away.ID].Unasked || facts[away.ID].Unusable() == "" || facts[here.ID].Lost() == "" {
		t.Errorf("%+v", facts)
	}
	if left := keep.Standing([]protect.Point{here, away}, facts); len(left) != 1 || left[0].ID != away.ID {
		t.Errorf("standing: %+v", left)
	}
}
