package metrics

import (
	"slices"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
)

// aboutPoints adds the age and the proof of points in time, the newest of each
// server first.
func (e *Exporter) aboutPoints(fs *families) {
	e.aboutPolicy(fs)
	if !e.fresh(e.counted, latePicture) {
		return
	}
	now := e.o.Now()
	of := map[stack.Ref][]protect.Point{}
	for _, p := range e.points {
		if p.State != protect.Taken {
			continue
		}
		there := of[p.Server.Ref]
		if !e.lost[p.ID] {
			there = append(there, p)
		}
		of[p.Server.Ref] = there // also where it has none that is there
	}
	for ref, points := range of {
		slices.SortFunc(points, func(a, b protect.Point) int { return keep.At(b).Compare(keep.At(a)) })
		server := naming.ServerLabel(ref)
		fs.gauge("plumb_points", "points in time of a server that are whole, and whose snapshots are there", float64(len(points)), server)
		if len(points) == 0 {
			continue
		}
		fs.gauge("plumb_newest_point_age_seconds", "age of a server's newest point", age(now, points[0]), server)
		if i := slices.IndexFunc(points, func(p protect.Point) bool { return p.Label == protect.Proven }); i >= 0 {
			fs.gauge("plumb_newest_proven_point_age_seconds", "age of a server's newest point of which a copy was started and read", age(now, points[i]), server)
		}
		for _, p := range points[:min(len(points), mostPoints)] {
			fs.gauge("plumb_point_age_seconds", "age of a point, with what was proven of it: crash, locked or proven", age(now, p),
				label("label", naming.Clean(string(p.Label))), label("point", naming.Clean(p.ID)), server)
		}
	}
}

// age of a point. A clock that was set back makes none younger than nothing.
func age(now time.Time, p protect.Point) float64 { return max(0, now.Sub(keep.At(p)).Seconds()) }

// aboutPolicy says what plumb protect run was told to do and cannot.
func (e *Exporter) aboutPolicy(fs *families) {
	if !e.fresh(e.drawn, latePicture) {
		return
	}
	for _, t := range e.picture.OfKind("points") {
		server := label("server", naming.Clean(t.Ref.Name))
		if in, ok := t.Bool("in_policy"); ok && in {
			fs.gauge("plumb_points_failing", "acts of plumb protect run for a server that failed when they were last tried", float64(len(t.List("failing"))), server)
		}
	}
}
