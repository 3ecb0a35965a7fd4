package backup

import (
	"fmt"
	"time"

	"plumb/internal/backup"
	"plumb/internal/cli/shell"
	"plumb/internal/stats"
	view "plumb/internal/view/backup"
)

// How often progress is shown: to a person who watches, and in a log, where a run that ends sooner needs no line.
const (
	watched = 200 * time.Millisecond
	logged  = 5 * time.Minute
)

// course is the progress of a run, and how fast it goes.
type course struct {
	every time.Duration // time between two lines
	told  time.Time     // the last, or when it began
	at    backup.Progress
	when  time.Time // it was there
	pace  stats.Pace
}

// moved notes how far the run is, and returns the line that is due now; "" for none. If the run goes back, another part of it begins,
// which has a pace of its own: a server is first sent the description of the point, and then the data.
func (c *course) moved(p backup.Progress, now time.Time) string {
	did := (p.Bytes - p.Skipped) - (c.at.Bytes - c.at.Skipped)
	switch {
	case c.when.IsZero():
	case p.Bytes < c.at.Bytes || p.Total != c.at.Total:
		c.pace = stats.Pace{}
	case did > 0: // nothing that was there before says how fast it goes
		c.pace.Add(float64(did), now.Sub(c.when).Seconds())
	}
	c.at, c.when = p, now
	if now.Sub(c.told) < c.every {
		return ""
	}
	c.told = now
	return view.Progress(p, c.pace.PerSecond(), c.pace.Left(float64(p.Total-p.Bytes)))
}

// doing shows progress, and warns when nothing moves, until wipe is called.
func (v *verbs) doing(quiet bool) func(backup.Progress) {
	at := new(standing)
	at.moved(backup.Progress{}, time.Now())
	return v.follow(at, quiet)
}

// follow is doing for a run that may do something else first: it warns only once something has moved. A person sees one line that is
// rewritten; a log gets a line now and then.
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

// rest stops the watch for a run in which nothing moves.
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
