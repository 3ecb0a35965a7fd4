package policy

import (
	"errors"
	"testing"
	"time"

	"plumb/internal/protect"
)

// TestUnjudgedIsTriedAgainLater: a drill that judged nothing may have taken an hour, and is not repeated at each run.
func TestUnjudgedIsTriedAgainLater(t *testing.T) {
	p := parse(t, "points: [{server: 'mysql:3306', every: 1w, drill: {every: 1w}}]")
	points := []protect.Point{point(now.Add(-time.Hour))}
	var m Memory
	m.note(Act{Kind: Prove, Server: db, Point: points[0].ID}, now, errors.New("the time limit of 1h ran out"))
	for after, want := range map[time.Duration]string{15 * time.Minute: "", 23 * time.Hour: "", 24 * time.Hour: "drill"} {
		if got := kinds(Due(Seen{Now: now.Add(after), Policy: p, Points: points, Memory: m}, Kinds())); got != want {
			t.Errorf("after %s there is due %q, want %q", after, got, want)
		}
	}
	newer := append(points, point(now.Add(time.Minute)))
	if got := kinds(Due(Seen{Now: now.Add(15 * time.Minute), Policy: p, Points: newer, Memory: m}, Kinds())); got != "drill" {
		t.Errorf("of a newer point there is due %q", got)
	}
}
