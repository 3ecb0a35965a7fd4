package archive

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger is what the writers know of the commits that were acknowledged.
type ledger struct {
	mu      sync.Mutex
	commits []commit
}

type commit struct {
	writer, n     int
	began, at     time.Time // at: it was acknowledged
	before, after uint64    // of PostgreSQL: where the log was before it, and after it
	gtid          string    // of MariaDB
}

func (l *ledger) note(c commit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, c)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.commits)
}

// rows are what a restored server has: of which writer the how manieth.
type rows map[string]bool

func rowsOf(text string) rows {
	all := rows{}
	for word := range strings.SplitSeq(text, " ") {
		all[word] = true
	}
	return all
}

func (r rows) has(c commit) bool { return r[fmt.Sprintf("%d-%d", c.writer, c.n)] }

// agrees compares a restored server with the ledger, at a moment: what was surely committed before it is there, and what
// surely comes behind it is not.
func (l *ledger) agrees(t *testing.T, moment string, there rows, side func(c commit) (before, behind bool)) {
	t.Helper()
	for _, c := range l.commits {
		before, behind := side(c)
		if is := there.has(c); before && !is || behind && is {
			t.Errorf("at %s, that the commit %+v is there is %t", moment, c, is)
		}
	}
}

// agreesAt does so at a time: the clocks are those of one machine.
func (l *ledger) agreesAt(t *testing.T, at time.Time, there rows) {
	t.Helper()
	l.agrees(t, at.String(), there, func(c commit) (before, behind bool) { return c.at.Before(at), c.began.After(at) })
}

// lost tells how old what is not there was when the server died.
func (l *ledger) lost(t *testing.T, there rows, died time.Time) {
	t.Helper()
	lost, rpo := 0, time.Duration(0)
	for _, c := range l.commits {
		if !there.has(c) {
			lost++
			rpo = max(rpo, died.Sub(c.at))
		}
	}
	t.Logf("of %d commits %d are not there, that were acknowledged %s before the server died at the most", len(l.commits), lost, rpo)
	if rpo > time.Minute {
		t.Errorf("what was committed %s before the end is lost", rpo)
	}
}
