package backup

import (
	"fmt"
	"time"

	"plumb/internal/backup"
	"plumb/internal/cli/shell"
	"plumb/internal/stats"
	view "plumb/internal/view/backup"
)

// How often it is told how far a run is: to a person who watches, and to a log, where what ends sooner needs no line.
const (
	watched = 200 * time.Millisecond
	logged  = 5 * time.Minute
)

// course is how a run goes: how far it is, and how fast it got there.
type course struct {
	every time.Duration // between two lines
	told  time.Time     // the last, or when it began
	at    backup.Progress
	when  time.Time // it was there
	pace  stats.Pace
}

// moved notes how far it is, and gives the line that is due now; "" for none. Where it goes back another work begins, whose pace is
// another: what a server is told of the point comes before the data.
func (c *course) moved(p backup.Progress, now time.Time) string {
	did := (p.Bytes - p.Skipped) - (c.at.Bytes - c.at.Skipped)
	switch {
	case c.when.IsZero():
	case p.Bytes < c.at.Bytes || p.Total != c.at.Total:
		c.pace = stats.Pace{}
	case did > 0: // what was there already tells nothing
		c.pace.Add(float64(did), now.Sub(c.when).Seconds())
	}
	c.at, c.when = p, now
	if now.Sub(c.told) < c.every {
		return ""
	}
	c.told = now
	return view.Progress(p, c.pace.PerSecond(), c.pace.Left(float64(p.Total-p.Bytes)))
}

// doing says how far it is, and tells when it stands still, until wipe is called.
func (v *verbs) doing(quiet bool) func(backup.Progress) {
	at := new(standing)
	at.moved(backup.Progress{}, time.Now())
	return v.follow(at, quiet)
}

// follow does so of what may do something else before: then it stands still only when it has begun. A person sees one line that is
// rewritten, and a log gets one now and then.
func (v *verbs) follow(at *standing, quiet bool) func(backup.Progress) {
	v.rest()
	v.unattended = v.attend(at)
	c := &course{every: logged, told: time.Now()}
	tell := func(line string) { fmt.Fprintln(v.Err, line) }
	if shell.IsTerminal(v.Err) {
		c.every, c.told = watched, time.Time{}
		tell = func(line string) { shell.Rewrite(v.Err, line) }
	}
	return func(p backup.Progress) {
		now := time.Now()
		at.moved(p, now)
		if line := c.moved(p, now); line != "" && !quiet {
			tell(shell.OneLine(line))
		}
	}
}

// rest ends what tells that nothing moves.
func (v *verbs) rest() {
	if v.unattended != nil {
		v.unattended()
		v.unattended = nil
	}
}

func (v *verbs) wipe() {
	v.rest()
	v.Done()
}
