package point

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/units"
)

// A lock on everything that waits holds up all who come after it, and it waits for what runs: for commits
// until they are durable, and, of FLUSH TABLES WITH READ LOCK, for statements too, of which one may wait for
// a row of somebody whom the lock itself stops. So nobody waits long with it. A try that is not granted soon is
// ended by the server, or by a second session where the server counts in seconds; everything is given
// back, those who were held up go on, and it is tried again. Where commits have taken longer than a try for
// half of the time that there is, tries grow longer, and the last may take a second.
const (
	firstTry   = 8 * time.Millisecond
	rungs      = 10           // of the time that there is
	lowRungs   = 5            // a try of each that comes after these may take twice as long as one of the rung before
	longTry    = lockWait / 2 // the longest try but for the last
	breath     = 2            // times as long as a try took, others are left alone after it
	longBreath = lockWait / 5 // at most
	lockWait   = time.Second  // the last try; and lock_wait_timeout, for when nobody is left to end one
	answerTime = 200 * time.Millisecond

	// A second before the limit a server that is asked to end a statement has done so also when it is busy.
	setStatement = "SET STATEMENT max_statement_time = "
	forStatement = " FOR "
)

// limited has MariaDB end a statement.
func limited(s string, after time.Duration) string {
	return setStatement + strconv.FormatFloat(after.Round(time.Millisecond).Seconds(), 'f', -1, 64) + forStatement + s
}

// longest tells how long a lock is waited for in the first try. Those that hold up nobody who
// writes rows may take as long as the server needs to close its tables.
func longest(s string) time.Duration {
	if s == stageCommit || s == stageDDL || s == readLock {
		return firstTry
	}
	return lockWait
}

// ladder tells how long tries may wait.
type ladder struct {
	late  time.Time     // the time is up
	half  time.Time     // until then a good moment is waited for
	first time.Time     // of the tries
	step  time.Duration // from one rung to the next
	on    int           // the rung that was last looked from; -1 before the first
}

func newLadder(late time.Time, limit time.Duration) ladder {
	return ladder{late: late, half: late.Add(-limit / 2), on: -1}
}

// rung gives the one that has been reached: the first until something is tried.
func (l *ladder) rung() int {
	if l.first.IsZero() {
		return 0
	}
	return int(time.Since(l.first) / l.step)
}

// climbed tells whether it is another one than when this was last asked.
func (l *ladder) climbed() bool {
	was := l.on
	l.on = l.rung()
	return l.on != was
}

// patience tells how long the try that comes now may wait, and whether it is the last, as the time is up after it.
func (l *ladder) patience() (most time.Duration, last bool) {
	if l.first.IsZero() {
		l.first, l.step = time.Now(), max(time.Until(l.late)/rungs, 1)
	}
	left := time.Until(l.late) - answerTime
	most = min(firstTry<<max(0, min(l.rung(), rungs)-lowRungs+1), longTry)
	if left < lockWait+most+min(breath*most, longBreath) {
		return min(left, lockWait), true
	}
	return most, false
}

// take takes the locks, again and again until they are granted or the time is up.
func (q *quiet) take(ctx context.Context, take, looks []string, limit time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	late, _ := within.Deadline()
	l, all := newLadder(late, limit), slices.Contains(take, readLock)
	for {
		var err error
		if l.climbed() {
			err = q.clear(within, looks, all)
		}
		if err == nil {
			err = q.lull(within, l.half)
		}
		most, last := l.patience()
		if err == nil {
			if err = q.try(within, take, most); err == nil {
				return nil
			}
		}
		if back := q.giveBack(ctx); !isTimeout(err) || back != nil || ctx.Err() != nil {
			return q.gaveUp(ctx, within, limit, errors.Join(err, back))
		}
		q.failed.Tries, q.failed.Longest = q.failed.Tries+1, max(q.failed.Longest, time.Since(q.since))
		if !last {
			if await.Pause(within, min(breath*most, longBreath)) != nil {
				last = true
			}
		}
		if last {
			return q.gaveUp(ctx, within, limit, q.blamed(ctx, looks))
		}
	}
}

// lull waits for a moment in which no transaction waits for a row of another, and no statement runs that
// may take long. FLUSH TABLES WITH READ LOCK waits for both, and stops the one whose row is waited for, if he
// has not come to his COMMIT: a circle that the server does not see, and that lasts until the try is given up.
func (q *quiet) lull(ctx context.Context, until time.Time) error {
	for q.lulls != nil && time.Now().Before(until) { // this wait stops nobody, and one for the lock does
		if some, err := q.stir(ctx); err != nil || !some {
			return err
		}
		if err := await.Pause(ctx, lullPause); err != nil {
			return err
		}
	}
	return nil // with many writers there may be none: then it is left to luck
}

// stir tells whether there is somebody to be waited for.
func (q *quiet) stir(ctx context.Context) (bool, error) {
	for _, look := range q.lulls {
		rows, err := q.h.Query(ctx, look)
		if errors.Is(err, host.ErrDenied) {
			continue // a try is short
		}
		if err != nil {
			return false, err
		}
		if len(rows.Values) == 1 && host.Text(rows.Values[0], len(rows.Values[0])-1) != "0" {
			return true, nil
		}
	}
	return false, nil
}

// try takes the locks once, and waits no longer than most for each that stops writers.
func (q *quiet) try(ctx context.Context, take []string, most time.Duration) error {
	late, _ := ctx.Deadline()
	q.since = time.Now()
	for _, s := range take {
		if s == flushLogs {
			if err := q.h.Exec(ctx, s); err != nil {
				return err
			}
			continue
		}
		limit := min(lockWait, time.Until(late)-answerTime)
		if longest(s) < lockWait {
			limit = min(limit, most)
		}
		if limit <= 0 {
			return overdue{errors.New("the time is up")}
		}
		if err := q.within(ctx, s, limit); err != nil {
			return err
		}
		if s == stageStart { // which stops nobody
			q.since = time.Now()
		}
	}
	return nil
}

// overdue is a lock that was not granted in time.
type overdue struct{ error }

// isTimeout tells whether a lock was not granted in time, and nothing else is wrong.
func isTimeout(err error) bool {
	_, ours := errors.AsType[overdue](err)
	return ours || strings.Contains(err.Error(), "Error 1205") || strings.Contains(err.Error(), "Lock wait timeout")
}

// wasEnded tells whether a statement was ended because it took too long: by the server itself
// (ER_STATEMENT_TIMEOUT), or by KILL QUERY (ER_QUERY_INTERRUPTED).
func wasEnded(err error) bool {
	return strings.Contains(err.Error(), "Error 1969") || strings.Contains(err.Error(), "Error 1317")
}

// within runs a statement that takes a lock, and has it ended after a time.
func (q *quiet) within(ctx context.Context, s string, limit time.Duration) error {
	var err error
	if q.ender == nil {
		err = q.h.Exec(ctx, limited(s, limit))
	} else {
		err = q.orEnd(ctx, s, limit)
	}
	if err != nil && wasEnded(err) { // it wraps a deadline, and that is not ours
		err = overdue{fmt.Errorf("%s was not granted within %s: %v", s, units.Span(limit), err)}
	}
	return err
}

// orEnd has the second session end a statement.
func (q *quiet) orEnd(ctx context.Context, s string, limit time.Duration) error {
	ended := make(chan error, 1)
	end := time.AfterFunc(limit, func() { ended <- q.ender.Exec(ctx, fmt.Sprintf("KILL QUERY %d", q.h.ID())) })
	err := q.h.Exec(ctx, s)
	if end.Stop() {
		return err
	}
	unsent := <-ended // it is waited for, so that it ends no later statement
	switch {
	case err == nil: // the lock was granted just before
		_ = q.h.Exec(ctx, "DO 0") // if anything is still ended, this is
		return nil
	case unsent != nil: // the next try could last a second too
		return fmt.Errorf("end a wait for the lock: %w", unsent)
	}
	return err
}

// openEnder logs in a second time, before anything is held. It must be the same server: elsewhere
// the number of our session is that of somebody else.
func (q *quiet) openEnder(ctx context.Context, itself string) error {
	second, err := q.h.Beside(ctx)
	if err != nil {
		return fmt.Errorf("log in a second time, to end a wait for the lock: %w", err)
	}
	q.ender = second
	return isServer(ctx, second, itself)
}

func (q *quiet) closeEnder() error {
	if q.ender == nil {
		return nil
	}
	return q.ender.Close()
}

// blamed tells who may have held up a lock that was not granted.
func (q *quiet) blamed(ctx context.Context, looks []string) error {
	ctx, cancel := context.WithTimeout(ctx, letGo)
	defer cancel()
	name, err := q.inTheWay(ctx, looks, true)
	if name == "" {
		name = "the lock was waited for " + units.Count(q.failed.Tries, "time") + " in vain, and nobody has run a statement for a second: commits or short statements take longer than a try, a session holds LOCK TABLES, or another backup goes on"
	}
	return errors.Join(waited{errors.New(name)}, err)
}

// waited is who was in the way until the time was up.
type waited struct{ error }
