package watch_test

import (
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// counting feeds a judge with what a server counts of its checkpoints: one is
// requested each so many seconds, of which none when it is 0, and a second's log
// is so many bytes with so many whole pages.
func counting(j *watch.Judge, from time.Time, seconds, each int, pages float64) (to time.Time) {
	for i := range seconds {
		at := from.Add(time.Duration(i) * time.Second)
		var b series.Batch
		b.Source, b.Every, b.At = "pg status", time.Second, at
		b.Set(pg, "uptime", float64(i+1))
		b.Set(pg, "wal_bytes", 1e9+float64(at.Unix()-start.Unix())*5e6)
		b.Set(pg, "sessions_active", 2)
		b.Set(pg, "sessions_cpu", 2)
		j.Batch(b)
		if i%10 != 0 {
			continue
		}
		done := 0.0
		if each > 0 {
			done = float64(i / each)
		}
		var io series.Batch
		io.Source, io.Every, io.At = "pg io", 10*time.Second, at
		for name, v := range map[string]float64{"checkpoints_requested": 40 + done, "checkpoints_timed": 7, "checkpoint_write_ms": 100 * done, "checkpoint_sync_ms": done, "wal_fpi": pages * float64(i)} {
			io.Set(pg, name, v)
		}
		j.Batch(io)
	}
	return from.Add(time.Duration(seconds) * time.Second)
}

var pg = stack.Ref{Kind: "postgres", Name: "5432"}

func withCheckpoints() (*watch.Judge, *stack.Stack) {
	j, s := judge(), &stack.Stack{}
	var o stack.Observation
	o.New("host", "host").Set("cpus", stack.Int(4), "test")
	db := o.New("postgres", "5432")
	db.Set("version", stack.Text("15.4"), "test")
	db.Set("replication_role", stack.Text("primary"), "test")
	s.Add("test", o)
	j.Picture(start, s)
	return j, s
}

// outcomeOf tells what is said of log/checkpoint: raised, quiet or unknown.
func outcomeOf(t *testing.T, j *watch.Judge) string {
	t.Helper()
	m := j.Moment(j.Known())
	for _, v := range m.Verdicts {
		if v.ID == "log/checkpoint" {
			return "raised"
		}
	}
	for _, u := range m.Servers[0].Unknown {
		if u.ID == "log/checkpoint" {
			return "unknown"
		}
	}
	return "quiet"
}

func TestCheckpointsAreCountedOverMinutes(t *testing.T) {
	for name, c := range map[string]struct {
		seconds, each int
		pages         float64
		want          string
	}{
		"each_forty_seconds":     {200, 40, 400, "raised"},
		"each_two_minutes":       {310, 120, 400, "raised"},
		"soon":                   {50, 12, 400, "raised"},
		"none_for_half_a_minute": {30, 0, 0, "unknown"},
		"none_for_minutes":       {200, 0, 400, "quiet"},
		"few_whole_pages":        {200, 40, 50, "quiet"},
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := withCheckpoints()
			counting(j, start, c.seconds, c.each, c.pages)
			if got := outcomeOf(t, j); got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}

// TestRestartpointsAreNoCheckpoints: a standby of 13 to 16 counts them as such, and writes no log that could be too small.
func TestRestartpointsAreNoCheckpoints(t *testing.T) {
	j, s := withCheckpoints()
	s.Find(pg).Set("replication_role", stack.Text("standby"), "test")
	j.Picture(start, s)
	counting(j, start, 200, 40, 400)
	if got := outcomeOf(t, j); got != "quiet" {
		t.Errorf("it is %s, want quiet", got)
	}
}

// TestCheckpointsEnd: what is over is not said for five more minutes, and a
// server that began anew is not compared with the one before.
func TestCheckpointsEnd(t *testing.T) {
	j, _ := withCheckpoints()
	to := counting(j, start, 200, 20, 400)
	if got := outcomeOf(t, j); got != "raised" {
		t.Fatalf("it is %s, want raised", got)
	}
	to = counting(j, to, 30, 0, 0) // started again: all counters fell
	if got := outcomeOf(t, j); got == "quiet" {
		t.Error("half a minute after a restart nobody can say that no checkpoint is requested")
	}
	counting(j, to, 190, 0, 400)
	if got := outcomeOf(t, j); got != "quiet" {
		t.Errorf("three minutes later it is %s, want quiet", got)
	}
}
