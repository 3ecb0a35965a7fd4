package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
)

// TestLostPointsDoNotCount: of a point whose snapshots are gone, or on a disk that does not answer, no copy can be started now.
func TestLostPointsDoNotCount(t *testing.T) {
	p := parse(t, "points: [{server: 'mysql:3306', every: 1h, drill: {every: 1d}}]")
	good := Seen{Now: now, Policy: p, Servers: []stack.Ref{db}, Points: []protect.Point{proven(point(now.Add(-time.Hour)), now)}, Memory: Memory{Policy: p.File, Began: now}}
	for name, test := range map[string]struct {
		known keep.Facts
		more  []protect.Point
		want  string
	}{
		"pool lost":                {keep.Facts{Unread: "the pool tank is not imported"}, nil, "does not count: its snapshots could not be looked at: the pool tank is not imported"},
		"proof gone with its pool": {keep.Facts{Unread: "timed out"}, []protect.Point{point(now)}, "no point of it is proven"},
		"snapshot gone":            {keep.Facts{Gone: []string{"tank/db@plumb-1"}}, nil, "tank/db@plumb-1 is gone or another now\nthere is no point of it"},
	} {
		in := good
		in.Points = append(slices.Clone(good.Points), test.more...)
		in.know(test.known)
		s := Assess(in)
		var why []string
		for _, u := range s.Servers[0].Unmet {
			why = append(why, u.Why)
		}
		if s.Met() || !strings.Contains(strings.Join(why, "\n"), test.want) {
			t.Errorf("%s: %q, want %q", name, why, test.want)
		}
	}
	in := good
	in.know(keep.Facts{Unread: "plumb was not told with which command", Unasked: true, Space: -1})
	if s := Assess(in); s.Met() || s.Servers[0].Newest != nil || s.Servers[0].Points != 0 || s.Servers[0].Unasked != 1 || s.Servers[0].Lost != "" {
		t.Errorf("of a command that was not named: %+v", s)
	}
	in.Points = append(slices.Clone(in.Points), proven(point(now), now))
	if s := Assess(in); !s.Met() || s.Servers[0].Points != 1 || s.Servers[0].Unasked != 1 {
		t.Errorf("and one that is there: %+v", s)
	}
	in.Points = in.Points[:1]
	in.Policy = nil
	in.know(keep.Facts{Unread: "timed out"})
	if s := Assess(in); !s.Met() || s.Servers[0].Newest != nil || s.Servers[0].Proven != nil || s.Servers[0].Points != 0 || !strings.Contains(s.Servers[0].Lost, "timed out") {
		t.Errorf("without a policy: %+v", s)
	}
}

// know sets what is known of the first point's snapshots.
func (in *Seen) know(f keep.Facts) { in.Facts = map[string]keep.Facts{in.Points[0].ID: f} }

// TestLostPointsAreDue: what is lost puts no point off, and makes a prune due when only its record is left. Of what is not
// known nothing is due.
func TestLostPointsAreDue(t *testing.T) {
	p := parse(t, "points: [{server: 'mysql:3306', every: 1h, keep: last=2, drill: {every: 1d}}]")
	old, last := proven(point(now.Add(-49*time.Minute)), now), proven(point(now.Add(-time.Minute)), now)
	for name, test := range map[string]struct {
		known keep.Facts // of the last
		want  string
	}{
		"there":            {keep.Facts{}, ""},
		"does not answer":  {keep.Facts{Unread: "timed out"}, ""},
		"a part is gone":   {keep.Facts{Gone: []string{"tank/db@plumb-1"}}, "snapshot"},
		"only its record":  {keep.Facts{Gone: []string{"tank/db@plumb-1"}, Ended: true}, "snapshot prune"},
		"under a new name": {keep.Facts{Moved: []string{"tank/db@plumb-1 is tank/db2@plumb-1 now"}}, "snapshot"},
	} {
		at := now.Add(15 * time.Minute) // at which the older one is an hour old
		acts := Due(Seen{Now: at, Policy: p, Points: []protect.Point{old, last}, Facts: map[string]keep.Facts{last.ID: test.known}}, Kinds())
		if got := kinds(acts); got != test.want {
			t.Errorf("%s: due is %q, want %q", name, got, test.want)
		}
	}
}
