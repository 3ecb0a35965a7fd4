package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Seen is what a status is made of.
type Seen struct {
	Now     time.Time
	Policy  *Policy // nil when there is none; then nothing is unmet
	Servers []stack.Ref
	Unseen  string // why the servers could not be listed; "" when they were
	Points  []protect.Point
	Unread  string // why files of points could not be read; "" when all were
	Facts   map[string]keep.Facts
	Memory  Memory
	Backups Memory // of the runs of backups
	Foreign []Foreign
}

// Status says which points a host has, and what of its policy is not met.
type Status struct {
	At      time.Time      `json:"at"`
	Policy  string         `json:"policy,omitempty"` // its file; "" without one
	LastRun time.Time      `json:"last_run,omitzero"`
	Servers []ServerStatus `json:"servers"`
	Unmet   []Unmet        `json:"unmet,omitempty"` // of the host as a whole
	Foreign []Foreign      `json:"foreign,omitempty"`
}

// ServerStatus says which points one server has, and what of its rule is not met.
type ServerStatus struct {
	Server  stack.Ref   `json:"server"`
	Rule    *Rule       `json:"rule,omitempty"` // nil when no rule is about it
	Runs    bool        `json:"runs"`           // it was seen running; if the servers could not be listed, see Status.Unmet
	Points  int         `json:"points"`         // how many are whole, with their snapshots there
	Unasked int         `json:"unchecked"`      // how many others cannot be checked, as nobody said how to look for their snapshots
	Lost    string      `json:"lost,omitempty"` // the first point that does not count, and why
	Newest  *Aged       `json:"newest,omitempty"`
	Proven  *Aged       `json:"proven,omitempty"` // the newest that is proven
	Space   int64       `json:"space"`            // bytes: the least that removing all its points frees; -1 when not known
	Targets []Sent      `json:"targets,omitempty"`
	Backups []Sent      `json:"backups,omitempty"`
	Prune   []keep.Plan `json:"prune,omitempty"` // what the next prune would do; none without keep rules
	Unmet   []Unmet     `json:"unmet,omitempty"`
}

// Aged is a point and its age.
type Aged struct {
	ID  string        `json:"id"`
	At  time.Time     `json:"at"`
	Age time.Duration `json:"age_ns"`
}

// Sent says what was last sent to a target.
type Sent struct {
	To    string    `json:"to"`
	Point string    `json:"point,omitempty"` // "" when nothing is known to have been sent
	At    time.Time `json:"at,omitzero"`     // when it was sent
}

// Unmet is something that the policy asks for and that is missing, or not known to be there.
type Unmet struct {
	Why  string `json:"why"`
	Hint string `json:"hint,omitempty"`
}

// Met tells whether nothing is unmet.
func (s Status) Met() bool {
	return len(s.Unmet) == 0 && !slices.ContainsFunc(s.Servers, func(v ServerStatus) bool { return len(v.Unmet) > 0 })
}

// Assess makes the status of a host.
func Assess(in Seen) Status {
	s := Status{At: in.Now.UTC(), LastRun: in.Memory.Began, Foreign: in.Foreign}
	refs := slices.Clone(in.Servers)
	for _, p := range in.Points {
		refs = append(refs, p.Server.Ref)
	}
	if in.Policy != nil {
		s.Policy = in.Policy.File
		refs = append(refs, in.Policy.Named()...)
		s.runs(in)
	}
	if in.Unread != "" {
		s.Unmet = append(s.Unmet, Unmet{Why: "not all points could be read: " + in.Unread})
	}
	slices.SortFunc(refs, stack.Ref.Compare)
	for _, ref := range slices.Compact(refs) {
		s.Servers = append(s.Servers, assess(in, ref))
	}
	return s
}

// runs adds what is unmet if the policy is not run, or not often enough.
func (s *Status) runs(in Seen) {
	missing := func(hint, format string, args ...any) { s.Unmet = append(s.Unmet, unmet(hint, format, args...)) }
	if in.Unseen != "" {
		missing("run it as root", "the servers of this host are not known: %s", in.Unseen)
	}
	const install = "plumb protect run --emit systemd prints a timer"
	switch began := in.Memory.Began; {
	case began.IsZero():
		missing(install, "the policy was never run")
	case in.Now.Sub(began) > 3*in.Policy.Period()+slack(time.Hour):
		missing(install, "the policy was last run %s ago", units.Age(int64(in.Now.Sub(began).Seconds())))
	case in.Memory.Policy != in.Policy.File:
		missing("plumb protect run POLICY carries this one out; a host remembers one policy", "the last run was for another policy, %s", in.Memory.Policy)
	}
}

func unmet(hint, format string, args ...any) Unmet {
	return Unmet{Why: fmt.Sprintf(format, args...), Hint: hint}
}

// assess makes the status of one server.
func assess(in Seen, ref stack.Ref) ServerStatus {
	v := ServerStatus{Server: ref, Runs: slices.Contains(in.Servers, ref)}
	var points []protect.Point
	for _, p := range in.Points {
		if p.Server.Ref == ref {
			points = append(points, p)
		}
	}
	var fates []keep.Fate
	var whole, proven []protect.Point
	for _, p := range points {
		known, ok := in.Facts[p.ID]
		if !ok {
			known.Space = -1
		}
		fates = append(fates, keep.Fate{Point: p, Space: known.Space})
		if p.State != protect.Taken {
			continue
		}
		if known.Unasked {
			v.Unasked++
			continue
		}
		if why := known.Unusable(); why != "" {
			v.Lost = cmp.Or(v.Lost, fmt.Sprintf("point %s does not count: %s", p.ID, why)) // one is enough to say what is wrong
			continue
		}
		whole = append(whole, p)
		if p.Label == protect.Proven {
			proven = append(proven, p)
		}
	}
	v.Points = len(whole)
	v.Newest, v.Proven = aged(in.Now, newest(in.Now, whole)), aged(in.Now, newest(in.Now, proven))
	space, known := keep.Space(fates)
	if v.Space = space; !known {
		v.Space = -1
	}
	if in.Policy == nil {
		return v
	}
	if v.Rule = in.Policy.For(ref); v.Rule == nil {
		return v
	}
	if v.Rule.Keep != (keep.Rules{}) {
		v.Prune = keep.Judge(in.Now, points, in.Facts, v.Rule.Keep, keep.Options{})
	}
	v.judge(in, points)
	return v
}

func aged(now time.Time, p *protect.Point) *Aged {
	if p == nil {
		return nil
	}
	return &Aged{ID: p.ID, At: keep.At(*p), Age: max(0, now.Sub(keep.At(*p)))}
}

// late is how old something may become that is wanted at an interval: half as old again, since it takes some time to make, and one that
// is missed is no reason for an alarm yet.
func late(every time.Duration) time.Duration { return every + every/2 + slack(time.Hour) }

// judge adds what of the rule is unmet.
func (v *ServerStatus) judge(in Seen, points []protect.Point) {
	if !v.Runs && in.Unseen == "" {
		v.missing("start it; if it is gone for good, take it out of the policy and destroy its points by name (plumb prune POINT)", "it is not running, so no points of it are taken")
	}
	for _, p := range points {
		if keep.At(p).Sub(in.Now) > ahead {
			v.missing("set the clock right, or destroy that point by name (plumb prune POINT)", "point %s is dated in the future: a clock was wrong", p.ID)
			break
		}
	}
	if v.Lost != "" {
		v.missing("plumb prune POINT destroys what is left of one; with --forget it drops one whose storage is gone for good", "%s", v.Lost)
	}
	v.taken()
	v.sent(in)
	v.backups(in)
	v.failures(in)
}

func (v *ServerStatus) missing(hint, format string, args ...any) {
	v.Unmet = append(v.Unmet, unmet(hint, format, args...))
}

func old(age time.Duration) string { return units.Age(int64(age.Seconds())) }

// runHint says what to do when something due was not done.
const runHint = "plumb protect run takes, proves and sends what is due: check whether its timer runs, and what it logged"

// taken adds what is unmet because points are not taken or proven often enough.
func (v *ServerStatus) taken() {
	switch {
	case v.Rule.Every == 0:
	case v.Newest == nil:
		v.missing(runHint, "there is no point of it")
	case v.Newest.Age > late(v.Rule.Every):
		v.missing(runHint, "its newest point is %s old, but one is required every %s", old(v.Newest.Age), short(v.Rule.Every))
	}
	switch d := v.Rule.Drill; {
	case d == nil:
	case v.Proven == nil:
		v.missing("plumb snapshot --drill proves one", "no point of it is proven to start")
	case v.Proven.Age > late(d.Every)+v.Rule.Every:
		v.missing("plumb drill proves one", "its newest proven point is %s old, but one is required every %s", old(v.Proven.Age), short(d.Every))
	}
}

// sent says what was last sent to each target of points, and adds what of that is unmet.
func (v *ServerStatus) sent(in Seen) {
	for _, t := range v.Rule.Replicate {
		last, _ := in.Memory.Last(Replicate, v.Server, t.To)
		v.Targets = append(v.Targets, Sent{To: t.To, Point: last.Point, At: last.OK})
		switch age := in.Now.Sub(last.OK); {
		case last.OK.IsZero():
			v.missing(runHint, "nothing was sent to %s yet", t.To)
		case age > late(max(t.Every, v.Rule.Every)):
			v.missing(runHint, "%s was last sent a point %s ago", t.To, old(age))
		}
	}
}

// backups does the same for backups.
func (v *ServerStatus) backups(in Seen) {
	const backupHint = "plumb protect run --backups backs up what is due"
	for _, s := range v.Rule.Backup {
		last, _ := in.Backups.Last(Backup, v.Server, s.Target())
		v.Backups = append(v.Backups, Sent{To: s.Target(), Point: last.Point, At: last.OK})
		switch age := in.Now.Sub(last.OK); {
		case last.OK.IsZero():
			v.missing(backupHint, "nothing was backed up to %s yet", s.Target())
		case age > late(max(s.Every, v.Rule.Every)):
			v.missing(backupHint, "the newest backup in %s is %s old", s.Target(), old(age))
		}
	}
}

// failures adds the acts that failed when they were last done, and the brakes that stop pruning.
func (v *ServerStatus) failures(in Seen) {
	braked := slices.ContainsFunc(v.Prune, func(p keep.Plan) bool { return len(p.Brakes) > 0 }) // said below
	for _, l := range slices.Concat(in.Memory.Lasts, in.Backups.Lasts) {
		if l.Server == v.Server && l.Fails() && asked(in.Policy, l) && !(braked && l.Kind == Prune) {
			v.missing(l.Hint, "%s: %s", failing(l), l.Why)
		}
	}
	for _, plan := range v.Prune {
		for _, b := range plan.Brakes {
			v.missing(b.Hint, "nothing is pruned: %s", b.Why)
		}
	}
}

func failing(l Last) string {
	what := string(l.Kind)
	if l.Target != "" {
		what += " to " + l.Target
	}
	if l.Times > 1 {
		return fmt.Sprintf("%s failed %d times since %s", what, l.Times, units.Moment(l.Since))
	}
	return fmt.Sprintf("%s failed at %s", what, units.Moment(l.Failed))
}
