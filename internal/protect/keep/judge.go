package keep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Facts are what storage says about a point, in addition to what is written of it.
type Facts struct {
	Unread  string   // why its snapshots could not be looked at; "" when they were
	Unasked bool     // Unread is because nobody said how to look at them
	Gone    []string // its snapshots that are not there, or whose names belong to others now
	Moved   []string // its snapshots that are there under another name: "NAME is NEW NAME now"
	Ended   bool     // all of them are gone, as are those of its ready copy: nothing but the record is left
	Clones  []string // made of its snapshots, except its own ready copy
	Held    bool     // somebody holds one of its snapshots in the storage
	Kept    []string // further reasons why it stays
	Needs   []string // IDs of points that it is worth nothing without: they stay as long as it does
	Space   int64    // bytes that would be free without it; -1 when not known
}

// Lost says which snapshots of a point are gone, or have another name now; "" when none is known to be. A lost point is no point any
// more, whatever was once proven of it.
func (f Facts) Lost() string {
	why := slices.Clone(f.Moved)
	if len(f.Gone) > 0 {
		why = append(why, strings.Join(f.Gone, ", ")+" is gone or another now")
	}
	return strings.Join(why, "; ")
}

// Doubtful says why it is not known whether a point is lost: its storage did not answer, or could not be asked. It is "" when storage
// answered.
func (f Facts) Doubtful() string {
	if f.Unread == "" {
		return ""
	}
	return "its snapshots could not be looked at: " + f.Unread
}

// Unusable says why no copy of a point can be started now, as far as is known; "" when all its snapshots are there.
func (f Facts) Unusable() string { return cmp.Or(f.Lost(), f.Doubtful()) }

// Standing returns the points that are not lost.
func Standing(points []protect.Point, facts map[string]Facts) []protect.Point {
	return slices.DeleteFunc(slices.Clone(points), func(p protect.Point) bool { return facts[p.ID].Lost() != "" })
}

// Words are how a plan names what it judges. The zero value is for points.
type Words struct {
	Thing  string // "point"
	Remove string // what a person does with one by name: "destroy"
	Prove  string // how a newer one is proven
}

// Options of a judgement.
type Options struct {
	// AllRight is how many points of a server somebody agreed to lose; 0 when nobody did. More than a quarter are only removed if this is
	// their exact number.
	AllRight int
	Words    Words

	agreed []string // IDs of the points that somebody agreed to lose before: these may go, but no others with them
}

func (o Options) words() Words {
	if o.Words.Thing == "" {
		return Words{"point", "with plumb prune POINT destroy", "prove a newer one with a drill"}
	}
	return o.Words
}

// Plan is what is to become of the points of one server.
type Plan struct {
	Server   stack.Ref `json:"server"`
	Identity string    `json:"identity,omitempty"`
	Fates    []Fate    `json:"fates"` // oldest first
	Brakes   []Brake   `json:"safety_stops,omitempty"`

	words  Words
	rules  *Rules   // by which it was made; nil if somebody named what goes
	agreed []string // IDs of what goes, if somebody agreed to lose all of it
}

// Named tells whether somebody named what goes, so that no rules apply.
func (p Plan) Named() bool { return p.rules == nil }

// Fate is what is to become of one point, and why.
type Fate struct {
	Point protect.Point `json:"point"`
	Goes  bool          `json:"goes"`
	Why   []string      `json:"why"`   // never empty
	Space int64         `json:"space"` // bytes that only it keeps; -1 when not known

	counts bool // the rules count it
	facts  Facts
	births []birth // at least one
}

// Record tells whether the point goes and nothing but its record is left of it.
func (f Fate) Record() bool { return f.Goes && f.facts.Ended }

// Brake says why a plan is not carried out.
type Brake struct {
	Why  string `json:"why"`
	Hint string `json:"hint"`
}

// Going returns the fates of the points that go; none when there is a brake.
func (p Plan) Going() []Fate {
	if len(p.Brakes) > 0 {
		return nil
	}
	return p.going()
}

func (p Plan) going() (out []Fate) {
	for _, f := range p.Fates {
		if f.Goes {
			out = append(out, f)
		}
	}
	return out
}

// At is the moment a point is of: when its snapshots were taken, or when it was begun if that is not known.
func At(p protect.Point) time.Time {
	if p.Times.Snapshot.IsZero() {
		return p.Times.Began.UTC()
	}
	return p.Times.Snapshot.UTC()
}

// Judge makes a plan for each server. A server that was created anew under its old name
// counts as another. facts are by point ID; a point without is judged by its record alone.
func Judge(now time.Time, points []protect.Point, facts map[string]Facts, rules Rules, o Options) []Plan {
	plans := group(points, facts)
	for i := range plans {
		plans[i].Fates = inOrder(plans[i].Fates)
		for j := range plans[i].Fates {
			plans[i].Fates[j].first()
		}
		plans[i].rules = &rules
		plans[i].apply(rules)
	}
	chain(plans)
	for i := range plans {
		plans[i].end(now, o)
	}
	return plans
}

// Stopped is an error with all brakes of a plan; nil when it has none.
func (p Plan) Stopped() error {
	if len(p.Brakes) == 0 {
		return nil
	}
	var why, help []string
	for _, b := range p.Brakes {
		why, help = append(why, b.Why), append(help, b.Hint)
	}
	return hint.With(fmt.Errorf("nothing of %s is pruned: %s", p.Server, strings.Join(why, "; ")), strings.Join(help, "; "))
}

// Again judges a point of the plan once more, with all points of its server as they are now, and is an error if the point must not go any
// more: meanwhile other points may have gone or failed a drill, or the clock was set. A point that somebody named always goes.
func (p Plan) Again(now time.Time, id string, points []protect.Point, facts map[string]Facts) error {
	if p.Named() {
		return nil
	}
	for _, anew := range Judge(now, points, facts, *p.rules, Options{Words: p.words, agreed: p.agreed}) {
		i := slices.IndexFunc(anew.Fates, func(f Fate) bool { return f.Point.ID == id })
		switch {
		case i < 0:
		case !anew.Fates[i].Goes:
			return fmt.Errorf("it was to be removed when that was decided, but stays now: %s", strings.Join(anew.Fates[i].Why, "; "))
		default:
			return anew.Stopped()
		}
	}
	return nil
}

// endsProven tells whether proven points go and none stays.
func (p Plan) endsProven() (ends bool) {
	for _, f := range p.Fates {
		switch proven := f.counts && f.Point.Label == protect.Proven; {
		case proven && !f.Goes:
			return false
		case proven:
			ends = true
		}
	}
	return ends
}

// Named makes plans by which exactly those points go whose ID is in goes. No rules apply.
func Named(points []protect.Point, facts map[string]Facts, goes map[string]bool, w Words) []Plan {
	plans := group(points, facts)
	for i := range plans {
		plans[i].words = w
		plans[i].Fates = inOrder(plans[i].Fates)
		for j := range plans[i].Fates {
			f := &plans[i].Fates[j]
			f.Goes, f.Why = goes[f.Point.ID], []string{"it was not named"}
			if f.Goes {
				f.Why = []string{"it was named"}
			}
		}
	}
	return plans
}

// group makes a plan for each server, in which nothing is decided yet.
func group(points []protect.Point, facts map[string]Facts) []Plan {
	var plans []Plan
	for _, p := range points {
		i := slices.IndexFunc(plans, func(a Plan) bool { return a.Server == p.Server.Ref && a.Identity == p.Server.Identity })
		if i < 0 {
			i, plans = len(plans), append(plans, Plan{Server: p.Server.Ref, Identity: p.Server.Identity})
		}
		known, ok := facts[p.ID]
		if !ok {
			known.Space = -1
		}
		plans[i].Fates = append(plans[i].Fates, Fate{Point: p, Space: known.Space, facts: known})
	}
	slices.SortFunc(plans, func(a, b Plan) int {
		if c := a.Server.Compare(b.Server); c != 0 {
			return c
		}
		return strings.Compare(a.Identity, b.Identity)
	})
	return plans
}

// chain keeps the points that others which stay need, and those that these need in turn, of any server.
func chain(plans []Plan) {
	all := map[string]*Fate{}
	var stay []*Fate
	for i := range plans {
		for j := range plans[i].Fates {
			f := &plans[i].Fates[j]
			if all[f.Point.ID] = f; len(f.Why) > 0 && !f.Goes {
				stay = append(stay, f)
			}
		}
	}
	for ; len(stay) > 0; stay = stay[1:] {
		for _, id := range stay[0].facts.Needs {
			if f := all[id]; f != nil && len(f.Why) == 0 {
				f.keep(stay[0].Point.ID + ", which stays, needs it")
				stay = append(stay, f)
			}
		}
	}
}

// end decides that what nothing keeps goes, and whether there is a brake.
func (p *Plan) end(now time.Time, o Options) {
	p.words = o.words()
	for i := range p.Fates {
		if f := &p.Fates[i]; len(f.Why) == 0 {
			f.Goes, f.Why = true, []string{"no rule keeps it"}
			if f.facts.Ended {
				f.Why = []string{"only its record goes: all of its snapshots are gone"}
			}
		}
	}
	p.brake(now, o)
}

// first decides about points that rules do not count, and finds what keeps a point whatever the rules say.
func (f *Fate) first() {
	switch {
	case f.Point.State == protect.Destroying:
		f.Goes, f.Why = true, []string{"its destruction began before and was not finished"}
		return
	case f.Point.State != protect.Taken:
		f.Why = []string{"it is being taken, or a killed run left it: the next snapshot finishes it"}
		return
	case f.facts.Unread != "":
		f.Why = []string{f.facts.Doubtful()}
		return
	case f.facts.Lost() != "" && !f.facts.Ended:
		f.Why = []string{"it cannot be started, and is not counted: " + f.facts.Lost()}
		return
	}
	f.counts = !f.facts.Ended
	for _, h := range f.Point.Holds {
		f.keep("held by " + h.Owner)
	}
	for _, clone := range f.facts.Clones {
		f.keep("the clone " + clone + " was made of it")
	}
	if f.facts.Held {
		f.keep("somebody holds its snapshots in the storage")
	}
	for _, why := range f.facts.Kept {
		f.keep(why)
	}
}

func (f *Fate) keep(why string) { f.Why = append(f.Why, why) }

// apply lets each rule keep its points.
func (p *Plan) apply(rules Rules) {
	var all, proven []*Fate // newest first
	for i := len(p.Fates) - 1; i >= 0; i-- {
		f := &p.Fates[i]
		if !f.counts {
			continue
		}
		all = append(all, f)
		if f.Point.Label == protect.Proven {
			proven = append(proven, f)
		}
	}
	if len(all) > 0 && rules.Last == 0 {
		all[0].keep("the newest is never pruned")
	}
	keepFirst(all, rules.Last, "last")
	for _, unit := range periods() {
		keepPeriods(all, *unit.count(&rules), unit)
	}
	keepFirst(proven, rules.Verified, "verified")
}

func keepFirst(all []*Fate, n int, name string) {
	for i, f := range all[:min(n, len(all))] {
		f.keep(fmt.Sprintf("%s %d of %d", name, i+1, n))
	}
}

// keepPeriods keeps the best point of each of the newest n periods that have any.
func keepPeriods(all []*Fate, n int, unit period) {
	best := map[time.Time]*Fate{}
	var starts []time.Time
	for _, f := range all {
		start := unit.start(At(f.Point))
		had := best[start]
		if had == nil {
			starts = append(starts, start)
		}
		if had == nil || worth(f.Point) > worth(had.Point) {
			best[start] = f
		}
	}
	slices.SortFunc(starts, func(a, b time.Time) int { return b.Compare(a) })
	for i, start := range starts[:min(n, len(starts))] {
		best[start].keep(fmt.Sprintf("%s %d of %d", unit.one, i+1, n))
	}
}

// worth ranks the points of one period: proven ones before those that nobody tried, and these before those whose drill failed.
func worth(p protect.Point) int {
	switch {
	case p.Label == protect.Proven:
		return 2
	case p.Drill != nil && !p.Drill.OK:
		return 0
	}
	return 1
}

// Space adds up the bytes that each point alone keeps, and tells whether they are known of all. Removing the points frees at least as
// much; blocks that several of them share are not counted.
func Space(fates []Fate) (bytes int64, known bool) {
	known = true
	for _, f := range fates {
		if f.Space < 0 {
			known = false
			continue
		}
		bytes += f.Space
	}
	return bytes, known
}

// Summary says in one line what would go by the plan.
func (p Plan) Summary() string {
	n := len(p.going())
	thing := cmp.Or(p.words.Thing, "point")
	text := fmt.Sprintf("%s of %s would go", units.Count(n, thing), p.Server)
	switch {
	case len(p.Brakes) > 0:
		text += ", but none does: " + p.Brakes[0].Why
	case n == 0:
		text = fmt.Sprintf("no %s of %s would go", thing, p.Server)
	}
	return text
}
