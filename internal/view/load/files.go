package load

import (
	"fmt"
	"time"

	"plumb/internal/load/files"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// FileRemarks say what only a run of files can: where reads came from, what
// the last sync took, what the seconds show.
func FileRemarks(r *files.IOResult, series bool) (all []Remark) {
	if c := r.Cache; c != nil && c.Part < 0.05 {
		all = append(all, Remark{"reads", "came from the device"})
	}
	if e := r.End; e != nil {
		text := fmt.Sprintf("%s in %s after the last operation; not in the figures", units.Count(e.Files, "file"), units.Latency(e.Took))
		if e.Err != nil {
			text = "failed: " + e.Err.Error()
		}
		all = append(all, Remark{"end sync", text})
	}
	if r.Analysis != nil && (series || r.Analysis.Dips != nil || r.Analysis.Burst != nil) {
		all = append(all, seriesRemarks(*r.Analysis)...)
	} else if series {
		all = append(all, Remark{"series", "too short to detect dips, levels and bursts: measure for a minute or more"})
	}
	return all
}

// FileProgress says how far the making of files is.
func FileProgress(done, total int64, took time.Duration) string {
	text := fmt.Sprintf("%s of %s", units.Measured(float64(done)), units.Measured(float64(total)))
	if s := took.Seconds(); s > 0.5 {
		text += fmt.Sprintf(" · %s/s", units.Measured(float64(done)/s))
	}
	return text
}

// FilesPrepared says what a prepare made.
func FilesPrepared(r files.Prepared, dir string, took time.Duration) string {
	if r.Old {
		return page.Clean(fmt.Sprintf("%s in %s already: %s", units.Counted(r.Files, "test file", "is", "are"), dir, units.Measured(float64(r.Bytes))))
	}
	return page.Clean(fmt.Sprintf("%s made in %s: %s in %s, synced", units.Count(r.Files, "test file"), dir, units.Measured(float64(r.Bytes)), units.Span(took)))
}

// LevelDone is one line of progress of a sweep.
func LevelDone(l files.Level) string {
	text := units.Count(l.Threads, "thread")
	for _, o := range l.Ops {
		text += fmt.Sprintf(" · %s %s/s", o.Name, units.PerSecond(o.Rate))
	}
	return text
}

// SweepJSON is the document of plumb load fileio run --json at several
// numbers of threads.
type SweepJSON struct {
	Plumb   int         `json:"plumb"`  // JSONVersion
	Kind    string      `json:"kind"`   // "load-sweep"
	Levels  []LoadJSON  `json:"levels"` // one run at each number of threads
	Points  []PointJSON `json:"points"` // of each kind of operation at each number of threads
	Curve   *CurveJSON  `json:"curve,omitempty"`
	NoCurve string      `json:"no_curve,omitempty"` // why there is none
}

// CurveJSON is the capacity curve of the operations.
type CurveJSON struct {
	Op       string       `json:"op"` // the kind, when there is only one; "all" otherwise
	Model    string       `json:"model"`
	Formula  string       `json:"formula"`
	Max      EstimateJSON `json:"max"`          // operations a second that it tends to, or peaks at
	Base     EstimateJSON `json:"base_seconds"` // response time alone
	BestLow  int          `json:"best_low"`     // threads
	BestHigh int          `json:"best_high"`
	BestWhy  string       `json:"best_why"`
	Fit      float64      `json:"fit_error"` // root mean square of the relative errors
	Doubts   []string     `json:"doubts"`
}

// PointJSON is one number of threads.
type PointJSON struct {
	Op        string  `json:"op"`
	Threads   int     `json:"threads"`
	Rate      float64 `json:"rate"`
	Slower    float64 `json:"slower"`     // mean response as a multiple of the first point's
	Slower50  float64 `json:"slower_p50"` // medians
	Slower99  float64 `json:"slower_p99"`
	Effective float64 `json:"effective_parallelism"`
}

// SweepDocument is a sweep as JSON v1.
func SweepDocument(r Report, s *files.Sweep) (SweepJSON, error) {
	d := SweepJSON{Plumb: page.JSONVersion, Kind: "load-sweep", Levels: []LoadJSON{}, Points: []PointJSON{}}
	for _, l := range s.Levels {
		r.Result = l.Result.Result
		j, err := Document(r)
		if err != nil {
			return d, err
		}
		d.Levels = append(d.Levels, j)
	}
	if c := s.Fit.Capacity; c != nil {
		d.Curve = &CurveJSON{Op: s.Fit.Op, Model: c.Model, Formula: c.Formula, Max: estimateJSON(c.Max), Base: estimateJSON(c.Base), Fit: page.Finite(c.Fit),
			BestLow: c.Best.Low, BestHigh: c.Best.High, BestWhy: c.Best.Why, Doubts: page.NotNil(c.Doubts)}
	} else if s.Fit.Err != nil {
		d.NoCurve = s.Fit.Err.Error()
	}
	for _, l := range s.Levels {
		for _, o := range l.Ops {
			d.Points = append(d.Points, PointJSON{o.Name, l.Threads, o.Rate, page.Finite(o.Slower), page.Finite(o.Slower50), page.Finite(o.Slower99), page.Finite(o.Parallel)})
		}
	}
	return d, nil
}
