// Package backups reads what Plumb wrote down of the backups of this host: how old they are, whether one was proven, and
// what would be lost together with what. It asks no store.
//
// Where no backup was ever made with Plumb there is nothing of this kind, and so no rule about it: how
// else a host is backed up cannot be seen from here.
package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/known"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Kind of the things: one for each server, or for what a command gives, named like it.
const Kind = "backups"

// Probe reads what is known of backups. It sees which servers run, and what is mounted.
type Probe struct {
	State string // where backups are written down; "" for the usual directory
}

// Name implements observe.Probe.
func (Probe) Name() string { return "backups" }

// Cost implements observe.Probe. Each place is a file, and the files are looked at that had keys.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Once: observe.Requests{Files: 2}, Each: map[string]observe.Requests{"backups.places": {Files: 1 + known.MostKeys}}}
}

// Collect implements observe.Probe.
func (p Probe) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (obs stack.Observation, err error) {
	state := p.State
	if state == "" {
		state = backup.Directory
	}
	all, err := known.All(ctx, h, state)
	if errors.Is(err, host.ErrNotOnTape) { // of a Plumb that did not look
		return obs, nil
	}
	if err != nil { // the others are there; without those that could not be read nothing is right
		return obs, fmt.Errorf("read what is known of backups in %s: %w", known.Directory(state), err)
	}
	l := look{h: h, seen: seen, now: h.About().Taken, source: known.Directory(state)}
	for _, place := range all {
		l.places = append(l.places, l.place(ctx, place))
	}
	for _, name := range names(all) {
		l.tell(obs.New(Kind, name), name)
	}
	return obs, nil
}

func names(all []known.Place) (names []string) {
	for _, p := range all {
		for _, s := range p.Servers {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// place is one, and how it is now.
type place struct {
	known.Place
	site       string       // what is lost with it; "" when that is not known
	filesystem *stack.Thing // of a directory of this machine
	keys       []string     // that are still there
	unseen     bool         // whether the keys are there could not be seen
}

// look is one look at all that is known.
type look struct {
	h      host.Reader
	seen   *stack.Stack
	now    time.Time
	source string
	places []place
}

// place looks what became of a place since it was written to. What was mounted then and is not now can be anywhere.
func (l *look) place(ctx context.Context, of known.Place) place {
	p := place{Place: of, site: of.Lies.Where()}
	if p.site == known.Here {
		m, is := known.Holds(ctx, l.h, of.Lies.Directory)
		if !is || m.Point != of.Lies.Mount || m.Type != of.Lies.Type {
			p.site = ""
		} else {
			p.filesystem = l.filesystem(m)
		}
	}
	for _, file := range of.Keys {
		_, err := l.h.Stat(ctx, file)
		switch {
		case err == nil:
			p.keys = append(p.keys, file)
		case !errors.Is(err, fs.ErrNotExist):
			p.unseen = true
		}
	}
	return p
}

func (l *look) filesystem(m observe.Mount) *stack.Thing {
	for _, t := range l.seen.OfKind("filesystem") {
		if id, is := t.Int("mount_id"); is && uint64(id) == m.ID {
			return t
		}
	}
	return nil
}

// behind is how much older than the newest backup the newest in a place may be for the place to count as one that
// has a copy: a copy that is made every week does.
const behind = 8 * 24 * time.Hour

// tell says what is known of one server's backups.
func (l *look) tell(t *stack.Thing, name string) {
	t.Set("server", stack.Text(name), l.source)
	if ref, err := stack.ParseRef(name); err == nil && ref.Kind != "command" {
		t.Set("server_runs", stack.Bool(l.seen.Find(ref) != nil), "this check")
	} else {
		t.SetAbsent("server_runs", l.source)
	}
	of := map[int]known.Server{} // by place
	var newest time.Time
	for i, p := range l.places {
		if n := slices.IndexFunc(p.Servers, func(s known.Server) bool { return s.Name == name }); n >= 0 {
			of[i] = p.Servers[n]
			newest = later(newest, p.Servers[n].Newest)
		}
	}
	var copies []place
	var logs []string
	for i, p := range l.places {
		if end := of[i].Newest; !end.IsZero() && !end.Before(newest.Add(-behind)) {
			copies = append(copies, p)
			if l.now.Sub(p.Listed) < behind {
				logs = append(logs, of[i].Log)
			}
		}
	}
	l.log(t, logs)
	l.times(t, of)
	t.Set("places", stack.Int(int64(len(copies))), l.source)
	l.where(t, copies)
	l.keys(t, copies)
}

// log says whether the log behind the newest base is archived in one of the places that were listed lately.
func (l *look) log(t *stack.Thing, in []string) {
	switch {
	case slices.Contains(in, known.LogArchived):
		t.Set("log_archived", stack.Bool(true), l.source)
	case slices.Contains(in, known.LogMissing):
		t.Set("log_archived", stack.Bool(false), l.source)
	default:
		t.SetAbsent("log_archived", l.source)
	}
}

// times says how old they are, and what came of starting a server.
func (l *look) times(t *stack.Thing, of map[int]known.Server) {
	var first, newest, restored, failed time.Time
	var ends []time.Time
	why, provable := "", false
	for _, s := range of {
		if first.IsZero() || s.First.Before(first) {
			first = s.First
		}
		newest, restored = later(newest, s.Newest), later(restored, s.Restored)
		if s.Failed.After(failed) {
			failed, why = s.Failed, s.Why
		}
		ends, provable = append(ends, s.Ends...), provable || s.Provable
	}
	l.age(t, "first_age", first)
	l.age(t, "newest_age", newest)
	l.age(t, "proven_age", restored)
	t.Set("provable", stack.Bool(provable), l.source)
	if usual, known := known.Usual(ends); known {
		t.Set("usual_distance", stack.Int(int64(usual.Seconds())), l.source)
	} else {
		t.SetAbsent("usual_distance", l.source)
	}
	if failed.After(restored) {
		t.Set("failed", stack.Text(strings.Join(strings.Fields(why), " ")), l.source)
	} else {
		t.SetAbsent("failed", l.source)
	}
}

// age sets how long ago something was. Of what never was there is none, and one of the future says nothing.
func (l *look) age(t *stack.Thing, fact string, at time.Time) {
	if age := l.now.Sub(at); !at.IsZero() && age >= 0 {
		t.Set(fact, stack.Int(int64(age.Seconds())), l.source)
		return
	}
	t.SetAbsent(fact, l.source)
}

// where says what is lost together with all copies. Of what is not known it says nothing, unless the rest decides.
func (l *look) where(t *stack.Thing, copies []place) {
	t.Link("kept")
	sites, logins := map[string]bool{}, map[string]bool{}
	unknown, unmarked, bucket := false, false, true
	for _, p := range copies {
		sites[p.site] = true
		unknown = unknown || p.site == ""
		logins[p.Lies.Login] = true
		unmarked = unmarked || p.Lies.Login == ""
		bucket = bucket && p.Lies.Directory == ""
		if p.filesystem != nil {
			t.Link("kept", p.filesystem.Ref)
		}
	}
	delete(sites, "")
	delete(logins, "")
	l.site(t, copies, sites, unknown)
	switch {
	case len(copies) < 2 || !bucket:
		t.SetAbsent("one_login", l.source)
	case len(logins) > 1 || !unmarked:
		t.Set("one_login", stack.Bool(len(logins) == 1), l.source)
	}
}

func (l *look) site(t *stack.Thing, copies []place, sites map[string]bool, unknown bool) {
	switch {
	case len(copies) == 0:
		t.Absent(l.source, "sites", "site", "here")
		return
	case len(copies) == 1:
		t.Set("sites", stack.Int(1), l.source)
		t.Set("site", stack.Text(copies[0].name()), l.source)
	case len(sites) > 1 || !unknown:
		t.Set("sites", stack.Int(int64(len(sites))), l.source)
		if len(sites) == 1 {
			t.Set("site", stack.Text(copies[0].name()), l.source)
		} else {
			t.SetAbsent("site", l.source)
		}
	}
	if apart := len(sites) > 1 || len(sites) == 1 && !sites[known.Here]; apart || !unknown {
		t.Set("here", stack.Bool(!apart), l.source)
	}
}

func (p place) name() string {
	if p.site != "" {
		return p.site
	}
	return p.URL
}

// keys says which files here open all copies, when all who can open them have their keys here.
func (l *look) keys(t *stack.Thing, copies []place) {
	var files []string
	for _, p := range copies {
		switch {
		case len(p.Keys) == 0 || len(p.keys) == 0 && !p.unseen: // somebody else can open it
			t.Set("keys_here", stack.List([]string{}), l.source)
			return
		case p.unseen:
			return
		}
		files = append(files, p.keys...)
	}
	slices.Sort(files)
	t.Set("keys_here", stack.List(slices.Compact(files)), l.source)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
