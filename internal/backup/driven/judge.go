package driven

import (
	"fmt"
	"time"

	"plumb/internal/units"
)

// Pace says how often backups of each type are made.
type Pace struct {
	Full time.Duration // a full one, when the last is so old
	Diff time.Duration // a differential one
}

// slack is by how much a backup may be early: a timer that comes every day finds the last one some minutes short of a day old.
const slack = time.Hour

// Next tells which type of backup is made now. One that is damaged is nothing to build on, and neither is one of the future.
func Next(now time.Time, all []Taken, p Pace) Type {
	var full, diff time.Time
	for _, b := range all {
		if b.Ended.After(now.Add(slack)) {
			continue
		}
		switch {
		case b.Damaged:
		case b.Type == Full:
			full, diff = b.Ended, b.Ended
		case b.Type == Diff && !full.IsZero():
			diff = b.Ended
		}
	}
	switch {
	case full.IsZero() || now.Sub(full) >= p.Full-slack:
		return Full
	case now.Sub(diff) >= p.Diff-slack:
		return Diff
	}
	return Incr
}

// Fault is something that is wrong with a set.
type Fault struct {
	Why  string `json:"why"`
	Hint string `json:"hint,omitempty"`
}

// Judge says what is wrong with what a tool has. Every is how old the newest backup may be; 0: nobody said.
func Judge(now time.Time, f Found, every time.Duration) (all []Fault) {
	wrong := func(hint, format string, args ...any) { all = append(all, Fault{fmt.Sprintf(format, args...), hint}) }
	if f.Wrong != "" {
		wrong("", "%s", f.Wrong)
	}
	last := f.Last()
	switch {
	case last == nil:
		if f.Wrong == "" {
			wrong("", "there is no backup")
		}
		return all
	case last.Ended.After(now.Add(slack)):
		wrong("set the clock right", "the newest backup, %s, is dated in the future", last.Label)
	case every > 0 && now.Sub(last.Ended) > every+every/2+slack:
		wrong("", "the newest backup is %s old, but one is required every %s", units.Age(int64(now.Sub(last.Ended).Seconds())), units.Short(every))
	}
	if last.Damaged {
		wrong("look for the damage before the older backups expire", "pages of the server were damaged when %s was made", last.Label)
	}
	if f.Plain {
		wrong("", "the backups in the store are not encrypted")
	}
	for _, h := range f.Holes {
		wrong("make a backup: what comes after the gap can only be reached from a backup that begins there", "the archived log has a gap: %s", h)
	}
	if proven := lastProven(f.Backups); proven == nil {
		help := "plumb verify --restore proves one"
		if !f.Provable {
			help = "restore one elsewhere: Plumb cannot do that for this tool"
		}
		wrong(help, "as far as Plumb knows, no server was started on any of them")
	} else if last.Failed.After(proven.Proven) {
		wrong("plumb verify --restore tries it again, and says why", "no server started on %s when it was tried last", last.Label)
	}
	return all
}

// lastProven is the backup on which a server was started last; nil when none was.
func lastProven(all []Taken) (p *Taken) {
	for i, b := range all {
		if !b.Proven.IsZero() && (p == nil || b.Proven.After(p.Proven)) {
			p = &all[i]
		}
	}
	return p
}
