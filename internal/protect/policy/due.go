package policy

import (
	"slices"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
)

// Kind is what an act does.
type Kind string

// Kinds of acts, in the order in which they are done.
const (
	Take      Kind = "snapshot"
	Prove     Kind = "drill"
	Replicate Kind = "replicate"
	Prune     Kind = "prune"
	Backup    Kind = "backup"
)

// Kinds lists them in the order in which they are done: a point is taken before it is
// proven, and sent before an older one goes.
func Kinds() []Kind { return []Kind{Take, Prove, Replicate, Prune} }

// Long lists those that take hours. They have runs of their own, so that no point is late because of them.
func Long() []Kind { return []Kind{Backup} }

// Act is one thing that is due.
type Act struct {
	Kind   Kind      `json:"kind"`
	Server stack.Ref `json:"server"`
	Point  string    `json:"point,omitempty"`  // ID of the point to prove or send
	Target string    `json:"target,omitempty"` // where to send it
	Rule   *Rule     `json:"-"`
}

// slack is how much earlier than asked something is due. Without it a timer that fires every 15
// minutes could find that an hour lacks a second, and wait for another 15 minutes.
func slack(every time.Duration) time.Duration { return min(every/10, 5*time.Minute) }

// ahead is by how much a point's time may be later than now. A later time comes from a clock that was
// wrong, and is no reason to put anything off.
const ahead = 5 * time.Minute

// Due returns the acts of some kinds that are due, in the order of kinds. A point whose snapshots are gone counts for pruning only. One
// whose storage does not answer counts for everything, as it may be there.
func Due(in Seen, kinds []Kind) (acts []Act) {
	for _, ref := range in.Policy.Servers(in.Servers) {
		d := due{now: in.Now, rule: in.Policy.For(ref), act: Act{Server: ref}, memory: in.Memory, facts: in.Facts}
		d.act.Rule = d.rule
		for _, pt := range in.Points {
			if pt.Server.Ref == ref {
				d.all = append(d.all, pt)
			}
		}
		d.points = keep.Standing(d.all, in.Facts)
		acts = append(acts, d.acts()...)
	}
	acts = slices.DeleteFunc(acts, func(a Act) bool { return !slices.Contains(kinds, a.Kind) })
	slices.SortStableFunc(acts, func(a, b Act) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) })
	return acts
}

// Servers returns the servers the policy is about: the running ones that have a rule, and all that rules name.
func (p *Policy) Servers(running []stack.Ref) (refs []stack.Ref) {
	refs = p.Named()
	for _, ref := range running {
		if !slices.Contains(refs, ref) && p.For(ref) != nil {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, stack.Ref.Compare)
	return refs
}

// due finds what is due for one server.
type due struct {
	now    time.Time
	rule   *Rule
	act    Act
	memory Memory
	facts  map[string]keep.Facts
	all    []protect.Point // of the server
	points []protect.Point // those of them whose snapshots are not gone
}

func (d due) acts() (acts []Act) {
	newest := newest(d.now, d.points)
	if d.rule.Every > 0 && (newest == nil || d.passed(keep.At(*newest), d.rule.Every)) {
		acts = append(acts, d.of(Take, "", ""))
	}
	if newest != nil && d.rule.Drill != nil && d.passed(lastProof(d.now, d.points), d.rule.Drill.Every) && d.untried(*newest) {
		acts = append(acts, d.of(Prove, newest.ID, ""))
	}
	for _, t := range d.rule.Replicate {
		last, _ := d.memory.Last(Replicate, d.act.Server, t.To)
		if newest != nil && newest.ID != last.Point && d.passed(last.OK, t.Every) {
			acts = append(acts, d.of(Replicate, newest.ID, t.To))
		}
	}
	for _, b := range d.rule.Backup {
		last, _ := d.memory.Last(Backup, d.act.Server, b.Target())
		switch {
		case !d.passed(last.OK, b.Every):
		case b.With != "":
			acts = append(acts, d.of(Backup, "", b.Target()))
		case newest != nil && newest.ID != last.Point:
			acts = append(acts, d.of(Backup, newest.ID, b.Target()))
		}
	}
	if d.rule.Keep != (keep.Rules{}) && d.prunes() {
		acts = append(acts, d.of(Prune, "", ""))
	}
	return acts
}

func (d due) of(kind Kind, point, target string) Act {
	a := d.act
	a.Kind, a.Point, a.Target = kind, point, target
	return a
}

// untried tells whether a point was not drilled yet, or so long ago that it is due again. After a drill that came to no result, which can
// take as long as any, a day is long enough.
func (d due) untried(p protect.Point) bool {
	every := d.rule.Drill.Every
	if last, _ := d.memory.Last(Prove, d.act.Server, ""); last.Failed.After(keep.At(p)) && !d.passed(last.Failed, min(every, 24*time.Hour)) {
		return false
	}
	return p.Drill == nil || d.passed(p.Drill.At, every)
}

// passed tells whether something that was done at a time, zero for never, is due again. It also is
// if the time is in the future, as the clock was wrong then or is wrong now.
func (d due) passed(at time.Time, every time.Duration) bool {
	age := d.now.Sub(at)
	return at.IsZero() || age < -ahead || age >= every-slack(every)
}

// prunes tells whether a prune would remove anything, or be stopped by a brake.
func (d due) prunes() bool {
	for _, plan := range keep.Judge(d.now, d.all, d.facts, d.rule.Keep, keep.Options{}) {
		if len(plan.Brakes) > 0 || len(plan.Going()) > 0 {
			return true
		}
	}
	return false
}

// newest returns the newest whole point that is not in the future; nil when there is none.
func newest(now time.Time, points []protect.Point) (found *protect.Point) {
	for i, p := range points {
		if p.State == protect.Taken && keep.At(p).Sub(now) <= ahead && (found == nil || keep.At(p).After(keep.At(*found))) {
			found = &points[i]
		}
	}
	return found
}

// lastProof is when any of the points was last proven; zero for never.
func lastProof(now time.Time, points []protect.Point) (at time.Time) {
	for _, p := range points {
		if p.State == protect.Taken && p.Drill != nil && p.Drill.Short() == "" && p.Drill.At.Sub(now) <= ahead && p.Drill.At.After(at) {
			at = p.Drill.At
		}
	}
	return at
}
