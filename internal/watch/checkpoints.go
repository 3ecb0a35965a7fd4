package watch

import (
	"fmt"
	"slices"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Checkpoints come minutes apart, so that a window of seconds says nothing about them. They are counted over the last
// minutes, or since watching began.
const (
	lately        = 5 * time.Minute
	latelyPeriod  = 9 * time.Second // between two looks that are kept
	enoughLately  = 2 * time.Minute // after which it is known that none came
	leastComing   = 2               // requested checkpoints: one can be somebody's own
	pageOfImage   = 8192            // bytes of a page that is written whole into the log
	requestedName = "checkpoints_requested"
)

// checkpointCounters are what is looked at, as they are read.
var checkpointCounters = []string{requestedName, "checkpoints_timed", "checkpoint_write_ms", "checkpoint_sync_ms", "wal_fpi"}

// aboutLately are the facts that are told of them.
var aboutLately = []string{"checkpoints_requested_lately", "checkpoints_timed_lately", "checkpoint_requested_ago", "checkpoint_busy_lately", "wal_images_lately"}

// checkpoints are what one server counted of its checkpoints, oldest first.
type checkpoints struct {
	looks     []checkpointLook
	log       float64   // bytes of log as of the newest reading of it
	requested time.Time // when one more was last seen; zero: never
}

type checkpointLook struct {
	at  time.Time
	log float64
	of  map[string]float64
}

// takeCheckpoints keeps what a batch says of checkpoints. If a counter falls the server was restarted, and what was seen
// before is dropped.
func (j *Judge) takeCheckpoints(b series.Batch) {
	found := map[stack.Ref]map[string]float64{}
	for _, r := range b.Readings {
		switch {
		case r.Name == "wal_bytes":
			j.checkpointsOf(r.Of).takeLog(r.Value)
		case slices.Contains(checkpointCounters, r.Name):
			if found[r.Of] == nil {
				found[r.Of] = map[string]float64{}
			}
			found[r.Of][r.Name] = r.Value
		}
	}
	for of, counts := range found {
		if _, told := counts[requestedName]; told {
			j.checkpointsOf(of).take(b.At, counts)
		}
	}
}

func (j *Judge) checkpointsOf(of stack.Ref) *checkpoints {
	if j.checkpoints[of] == nil {
		j.checkpoints[of] = &checkpoints{}
	}
	return j.checkpoints[of]
}

// takeLog notes how much log was written. Another source reads that, so it may come only after the first look.
func (c *checkpoints) takeLog(written float64) {
	c.log = written
	if n := len(c.looks); n > 0 && c.looks[n-1].log == 0 {
		c.looks[n-1].log = written
	}
}

func (c *checkpoints) take(at time.Time, counts map[string]float64) {
	now := checkpointLook{at, c.log, counts}
	if n := len(c.looks); n > 0 {
		last := c.looks[n-1]
		for name, v := range last.of {
			if counts[name] < v {
				*c = checkpoints{log: c.log}
				break
			}
		}
		if len(c.looks) > 0 && counts[requestedName] > last.of[requestedName] {
			c.requested = at
		}
	}
	if n := len(c.looks); n > 1 && c.looks[n-1].at.Sub(c.looks[n-2].at) < latelyPeriod {
		c.looks = c.looks[:n-1]
	}
	c.looks = append(c.looks, now)
	c.looks = slices.DeleteFunc(c.looks, func(l checkpointLook) bool { return l.at.Before(at.Add(-lately)) })
}

// coming sets the facts about the checkpoints of the last minutes. A short time can show that there were some, and not that
// there were none.
func (j *Judge) coming(w *judged, db *stack.Thing) {
	c := j.checkpoints[db.Ref]
	if c == nil || len(c.looks) == 0 {
		return
	}
	first, last := c.looks[0], c.looks[len(c.looks)-1]
	over := last.at.Sub(first.at)
	grown := func(name string) (float64, bool) {
		a, ok := first.of[name]
		b, ok2 := last.of[name]
		return b - a, ok && ok2
	}
	requested, _ := grown(requestedName)
	if over <= 0 || w.to.Sub(last.at) > time.Minute || over < enoughLately && requested < leastComing {
		gap(w.stack, db.Ref, fmt.Sprintf("checkpoints are minutes apart, but were only watched for %s", units.Span(over.Round(time.Second))),
			"look for "+units.Span(enoughLately)+" or longer", aboutLately...)
		return
	}
	j.set(db, "checkpoints_requested_lately", requested)
	if timed, ok := grown("checkpoints_timed"); ok {
		j.set(db, "checkpoints_timed_lately", timed)
	}
	if !c.requested.IsZero() {
		j.set(db, "checkpoint_requested_ago", w.to.Sub(c.requested).Seconds())
	} else {
		db.SetAbsent("checkpoint_requested_ago", "checkpoints counted")
	}
	write, ok := grown("checkpoint_write_ms")
	sync, ok2 := grown("checkpoint_sync_ms")
	if ok && ok2 {
		j.set(db, "checkpoint_busy_lately", (write+sync)/1000/over.Seconds())
	}
	if images, ok := grown("wal_fpi"); ok && last.log > first.log && first.log > 0 {
		j.set(db, "wal_images_lately", min(1, images*pageOfImage/(last.log-first.log)))
	}
}
