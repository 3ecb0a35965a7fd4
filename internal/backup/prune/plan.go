package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// The least and the usual time between a decision and the end of what it is about. A run says every ten minutes that it
// lives, and goes on after an outage of two hours; what was killed may go on as long as this.
const (
	LeastGrace   = 24 * time.Hour
	DefaultGrace = 72 * time.Hour
)

// stay is how long a stone stays after the last object: longer than a process can stand still and then commit.
const stay = 30 * 24 * time.Hour

// apart is how far the clocks of the store and of this machine may be apart. Which is wrong nobody knows, and
// with the store's the age of everything would be.
const apart = 12 * time.Hour

// Pruner prunes the backups of a store.
type Pruner struct {
	backup.Vault
	Own  []note.Verifier // keys of this host, also those it gave up: a stone does no more than who can write it could do without
	Sign note.Signer     // nil to look only
	Host string
	Do   host.Doer // reads in Dir, where the key of this host is, which backups it began; nil where nobody asks
	Dir  string
	// Products are those whose logs are pruned: what no backup needs any more goes with the backups.
	Products []archive.Product
	Grace    time.Duration
	Lease    time.Duration // how long a lease counts that was not renewed; 0: 15 minutes
	Stay     time.Duration // how long a stone stays after the last object; 0: 30 days
	Now      func() time.Time
	Doing    func(objects, bytes int64) // told now and then how much has gone; may be nil
}

// Options of a plan.
type Options struct {
	Rules     keep.Rules
	Names     []string // IDs that go, and no other: then there are no rules
	Server    string   // of the backups of this one only; "" for all
	AllRight  int      // see keep.Options
	ShortLock bool     // that the store locks objects for less time than rules keep them is all right
	Adopt     bool     // what a twin made is this machine's own from now on
}

// Plan is what is to become of the backups of a store.
type Plan struct {
	At       time.Time     `json:"at"`       // by the clock of the store, or of this machine where nothing may be written
	Grace    time.Duration `json:"grace_ns"` // between the two steps
	Servers  []keep.Plan   `json:"servers"`
	Leaving  []Leaving     `json:"leaving"`           // those removed before, whose objects are still there
	Lost     []Lost        `json:"lost"`              // those that never ended
	Logs     []Log         `json:"logs"`              // archived, of each server
	Brakes   []keep.Brake  `json:"safety_stops"`      // why nothing at all goes
	Versions bool          `json:"versions"`          // the store keeps what is replaced or removed, as a version of before
	Unknown  string        `json:"unknown,omitempty"` // what could not be asked of the store
	Twins    []string      `json:"-"`                 // the IDs of those that this host signed, and did not make
}

// Leaving is a backup that a prune before has marked.
type Leaving struct {
	ID    string    `json:"id"`
	Bytes int64     `json:"bytes"`
	From  time.Time `json:"from"` // its objects go from then on
	By    string    `json:"by"`
	Why   string    `json:"why,omitempty"` // it stays all the same
}

// Lost is a backup that has no manifest.
type Lost struct {
	ID    string    `json:"id"`
	Bytes int64     `json:"bytes"`
	Heard time.Time `json:"last_seen"` // the last sign of life
	Goes  bool      `json:"goes"`
	Why   string    `json:"why,omitempty"`
}

// Going counts what goes by the rules.
func (p Plan) Going() (ids []string) {
	if len(p.Brakes) > 0 {
		return nil
	}
	for _, s := range p.Servers {
		for _, f := range s.Going() {
			ids = append(ids, f.Point.ID)
		}
	}
	return ids
}

// Pieces counts those of logs that go now, and those that do when the grace is over.
func (p Plan) Pieces() (now, then int) {
	for _, l := range p.Logs {
		if len(p.Brakes) == 0 {
			now, then = now+l.Goes.Pieces, then+l.Then.Pieces
		}
	}
	return now, then
}

// Stopped tells whether a brake holds.
func (p Plan) Stopped() bool {
	return len(p.Brakes) > 0 || slices.ContainsFunc(p.Servers, func(s keep.Plan) bool { return len(s.Brakes) > 0 })
}

// Empty tells whether there is nothing that could ever go.
func (p Plan) Empty() bool {
	return len(p.Servers)+len(p.Leaving)+len(p.Lost)+len(p.Logs)+len(p.Brakes) == 0
}

// Plan says what would become of the backups. It only reads, so that ages are told by the clock of this machine.
func (p Pruner) Plan(ctx context.Context, o Options) (Plan, error) {
	p, locks, unknown, err := p.locked(ctx)
	if err != nil {
		return Plan{}, err
	}
	s, err := p.look(ctx, p.Now())
	if err != nil {
		return Plan{}, err
	}
	if s.newest.Modified.After(s.at) { // the store's clock is ahead of ours, and the one that counts
		s.at = s.newest.Modified
	}
	return p.judge(ctx, s, locks, unknown, o)
}

// found is what is judged.
type found struct {
	points []protect.Point
	facts  map[string]keep.Facts
	newest map[stack.Ref]*folder // of each server
	bad    []*folder             // what cannot be read, or is not believed
}

// judge decides.
func (p Pruner) judge(ctx context.Context, s survey, locks store.Locks, unknown string, o Options) (plan Plan, err error) {
	plan = Plan{At: s.at, Grace: p.Grace, Versions: locks.Versions, Unknown: unknown}
	all, err := p.gather(ctx, s, locks, &plan)
	if err != nil {
		return plan, err
	}
	if len(o.Names) > 0 {
		plan.Servers, err = named(all.points, all.facts, o)
	} else {
		p.keepBases(s, all)
		plan.Servers = keep.Judge(s.at, all.points, all.facts, o.Rules, keep.Options{AllRight: o.AllRight, Words: words})
	}
	if err != nil {
		return plan, err
	}
	if o.Server != "" { // only now: a backup of another server may need one of this
		plan.Servers = slices.DeleteFunc(plan.Servers, func(k keep.Plan) bool { return k.Server != serverRef(o.Server) })
	}
	lock, err := p.lockOf(ctx, all.newest, locks)
	if err != nil {
		return plan, err
	}
	plan.doubt(all.bad)
	p.twins(&plan, s, o)
	p.brake(&plan, s, o, lock)
	plan.Logs, err = p.judgeLogs(ctx, s, plan.Going())
	return plan, err
}

// gather tells what is a backup, what is on its way out, and what never was one.
func (p Pruner) gather(ctx context.Context, s survey, locks store.Locks, plan *Plan) (all found, err error) {
	all.facts, all.newest = map[string]keep.Facts{}, map[stack.Ref]*folder{}
	needed := s.needed(p.Grace)
	for _, id := range s.ids {
		f := s.folders[id]
		switch {
		case f.bad != nil && !s.dead(f, p.Grace):
			all.bad = append(all.bad, f)
		case f.m != nil:
			all.newest[serverRef(f.m.Of())] = f
			all.points = append(all.points, p.point(ctx, f))
			if all.facts[id], err = p.facts(ctx, s, f, needed, locks); err != nil {
				return all, err
			}
		case f.stone != nil:
			plan.Leaving = append(plan.Leaving, p.leaving(s, f, needed[id]))
		case f.objects > 0:
			plan.Lost = append(plan.Lost, p.lost(s, f, needed[id]))
		}
	}
	return all, nil
}

// lockOf tells for how long backups are locked: by the bucket itself, or as the newest of a server is, of whichever server that is the
// shortest.
func (p Pruner) lockOf(ctx context.Context, newest map[stack.Ref]*folder, locks store.Locks) (least time.Duration, err error) {
	if !locks.Can {
		return 0, nil
	}
	for _, f := range newest {
		until, err := p.until(ctx, f.id)
		if err != nil {
			return 0, err
		}
		if lock := max(locks.Always, until.Sub(f.m.Ended)); lock > 0 && (least == 0 || lock < least) {
			least = lock
		}
	}
	return least, nil
}

// doubt stops all while something cannot be read.
func (p *Plan) doubt(bad []*folder) {
	if len(bad) == 0 {
		return
	}
	more := ""
	if len(bad) > 1 {
		more = fmt.Sprintf(", and %d more", len(bad)-1)
	}
	p.stop("repair it, or remove that object by hand; if another host of yours signed it, give its key with --trust KEY",
		"%s cannot be read or is not trusted, and may need any of the others: %v%s", what(bad[0]), bad[0].bad, more)
}

// twins stops all while another machine with the key of this one backs up here too: for the rules the backups of both are of one server,
// and of those of one day one stays. Who names backups by their IDs is not stopped.
func (p Pruner) twins(plan *Plan, s survey, o Options) {
	var newest manifest.Manifest
	for _, id := range s.ids {
		if f := s.folders[id]; f.twin {
			plan.Twins, newest = append(plan.Twins, id), *f.m
		}
	}
	if n := len(plan.Twins); n > 0 && !o.Adopt && len(o.Names) == 0 {
		plan.stop(backup.OnTheCopy(p.Dir)+"; then, or if this machine was only reset to an earlier state, --adopt prunes those backups as its own from now on", "%v", backup.Twin(newest, n))
	}
}

var words = keep.Words{Thing: "backup", Remove: "remove", Prove: "prove a newer one (plumb verify --restore)"}

func what(f *folder) string {
	if f.head == nil {
		return manifest.ClaimName(f.id)
	}
	return manifest.Name(f.id)
}

func (p *Plan) stop(hint, format string, args ...any) {
	p.Brakes = append(p.Brakes, keep.Brake{Why: fmt.Sprintf(format, args...), Hint: hint})
}

// point tells rules what they ask of a backup.
func (p Pruner) point(ctx context.Context, f *folder) protect.Point {
	pt := protect.Point{ID: f.id, State: protect.Taken, Server: protect.Server{Ref: serverRef(f.m.Of()), Identity: f.m.Facts["identity"]}, Times: protect.Times{Snapshot: f.m.Taken()}}
	if at := f.head.Modified; pt.Times.Snapshot.After(at) { // the clock of the host was ahead: it cannot be newer than its manifest
		pt.Times.Snapshot = at
	}
	if !f.proven {
		return pt
	}
	if proof, _, err := p.Proof(ctx, f.id); err == nil { // one that cannot be read proves nothing
		pt.Drill = &protect.Drill{OK: proof.OK, At: proof.At, Why: proof.Why}
		if proof.OK {
			pt.Label = protect.Proven
		}
	}
	return pt
}

func serverRef(name string) stack.Ref {
	ref, err := stack.ParseRef(name)
	if err != nil {
		ref = stack.Ref{Kind: "server", Name: name}
	}
	return ref
}

// facts are what keeps a backup besides the rules.
func (p Pruner) facts(ctx context.Context, s survey, f *folder, needed map[string]string, locks store.Locks) (k keep.Facts, err error) {
	k = keep.Facts{Space: f.bytes, Needs: f.m.Bases()}
	for _, id := range k.Needs {
		if base := s.folders[id]; base == nil || base.m == nil && (base.held == nil || base.stone.Going) {
			k.Gone = append(k.Gone, "backup "+id+", which it needs,")
		}
	}
	for _, owner := range f.holders {
		k.Kept = append(k.Kept, "held by "+owner)
	}
	if by := needed[f.id]; strings.HasPrefix(by, "a backup that") {
		k.Kept = append(k.Kept, by+" builds on it")
	}
	if locks.Can {
		until, err := p.until(ctx, f.id)
		if err != nil {
			return k, err
		}
		if until.After(s.at) {
			k.Kept = append(k.Kept, "the store keeps it locked until "+units.Moment(until))
		}
	}
	return k, nil
}

// locked asks the store what it keeps by itself. What it locks, whoever writes it, can come back for as long.
func (p Pruner) locked(ctx context.Context) (_ Pruner, locks store.Locks, unknown string, err error) {
	if l, is := store.AsLocker(p.Store); is {
		locks, err = l.Locks(ctx)
	}
	if errors.Is(err, store.ErrDenied) { // what is locked is refused when it is to go
		unknown, err = "whether the store locks objects is not known: "+err.Error(), nil
	}
	p.Grace = max(p.Grace, locks.Always)
	return p, locks, unknown, err
}

// until tells how long the store keeps a backup: its manifest was written last, and is kept for as long as the rest or
// longer.
func (p Pruner) until(ctx context.Context, id string) (time.Time, error) {
	return p.lockedUntil(ctx, manifest.Name(id))
}

// lockedUntil tells how long the store keeps an object.
func (p Pruner) lockedUntil(ctx context.Context, name string) (time.Time, error) {
	l, is := store.AsLocker(p.Store)
	if !is {
		return time.Time{}, nil
	}
	until, err := l.Until(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil // just removed
	}
	return until, err
}

func (p Pruner) leaving(s survey, f *folder, neededBy string) Leaving {
	l := Leaving{ID: f.id, Bytes: f.bytes, By: f.stone.By, From: f.head.Modified.Add(p.Grace)}
	switch {
	case !f.own:
		l.Why = f.stone.By + " has marked it, and removes it"
	case f.stone.Going:
		l.From = f.head.Modified
	case neededBy != "":
		l.Why = neededBy + " needs it: it is taken back"
	}
	return l
}

func (p Pruner) lost(s survey, f *folder, neededBy string) Lost {
	l := Lost{ID: f.id, Bytes: f.bytes, Heard: f.newest, Goes: s.dead(f, p.Grace)}
	switch {
	case neededBy != "":
		l.Goes, l.Why = false, neededBy+" needs it, and its manifest is gone"
	case !l.Goes:
		l.Why = "it is being made, or was killed and can continue until " + units.Moment(f.newest.Add(p.Grace))
	}
	return l
}

// brake says why nothing at all had better go.
func (p Pruner) brake(plan *Plan, s survey, o Options, lock time.Duration) {
	if d := s.at.Sub(p.Now()).Abs(); d > apart {
		plan.stop("correct the clock that is wrong", "the clocks of the store and of this machine differ by %s: here it is %s, there %s",
			units.Span(d), units.Moment(p.Now()), units.Moment(s.at))
	}
	if s.newest.Modified.After(s.at.Add(slack)) {
		plan.stop("find out which clock is wrong: the age of everything depends on it", "a clock jumped: by the store's own clock %s is from the future", s.newest.Name)
	}
	for _, id := range s.ids {
		f := s.folders[id]
		for _, base := range bases(f) {
			if b := s.folders[base]; b != nil && b.m != nil && b.m.Began.After(f.m.Began.Add(slack)) {
				plan.stop("correct the clock, or remove the backups with a wrong time by ID", "a clock jumped: backup %s needs %s, but has the earlier time", id, base)
			}
		}
	}
	reach := o.Rules.Reach()
	if lock > 0 && lock < reach && !o.ShortLock {
		plan.stop("lock objects for as long, or keep backups for less; if it is intended, give --short-lock",
			"the rules keep backups for %s, but the store locks objects only for %s: after that anybody with the login can remove them", units.Age(int64(reach.Seconds())), units.Age(int64(lock.Seconds())))
	}
}

func bases(f *folder) []string {
	if f.m == nil {
		return nil
	}
	return f.m.Bases()
}

// named has those go that a person names, if nothing that stays needs them.
func named(points []protect.Point, facts map[string]keep.Facts, o Options) ([]keep.Plan, error) {
	goes := map[string]bool{}
	for _, name := range o.Names {
		var fit []string
		for _, pt := range points {
			if strings.HasPrefix(pt.ID, name) {
				fit = append(fit, pt.ID)
			}
		}
		if len(fit) != 1 {
			return nil, hint.With(fmt.Errorf("%d backups are called %s", len(fit), name), "plumb backup list shows them; those that are being removed are not among them")
		}
		goes[fit[0]] = true
	}
	for id := range goes {
		if k := facts[id].Kept; len(k) > 0 {
			return nil, fmt.Errorf("backup %s cannot be removed: %s", id, strings.Join(k, "; "))
		}
	}
	left := map[stack.Ref]int{}
	for _, pt := range points {
		if goes[pt.ID] {
			left[pt.Server.Ref] += 0
			continue
		}
		left[pt.Server.Ref]++
		for _, id := range facts[pt.ID].Needs {
			if goes[id] {
				return nil, hint.With(fmt.Errorf("backup %s cannot be removed: %s needs it", id, pt.ID), "name that one too")
			}
		}
	}
	for ref, n := range left {
		if n == 0 {
			return nil, hint.With(fmt.Errorf("those are all backups of %s, and the last one is never removed", ref), "if that is what you want, remove the prefix in the store by hand")
		}
	}
	return keep.Named(points, facts, goes, words), nil
}
