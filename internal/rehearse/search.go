package rehearse

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/search"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// Search is what a search for better numbers has found.
type Search struct {
	Dials     []Tunable
	Left      []string            // what was not searched, and why: one sentence each
	Method    string              // how points were chosen, for people
	Planned   int                 // trials of points
	Tried     []search.Outcome    // in the order in which they were measured
	Curves    []search.Curve      // the response to each dial; nil when too little is known
	Best      search.Point        // the most promising; nil when no trial gave a value
	Expected  stats.Estimate      // of Best, by all trials together: ratio to as is less one
	Confirmed []report.Comparison // of Best, measured anew in blocks in which it was not chosen: against all advice, against as is
	Broken    string              // Best could not run when it was measured anew: why
	Margin    float64             // differences within ± this part count as none
	InPlan    bool                // Best is in the plan of what is kept
	Why       string              // it is not; "" when that is not settled
	Says      []string            // what to bear in mind: one sentence each
	Ended     string              // why it ended, for people
	Took      time.Duration

	from   Stage  // that rounds are made from
	on     string // the arm that points are tried on top of
	method search.Method
	seed   uint64
	rounds int // that were taken in
}

// Best and points as arms of experiments.
const (
	BestFound = "best found"
	pointArm  = "point "
)

// base gives the stage that rounds are made from, and the arm that points are
// tried on top of: all advice, so that what guards data is in force in all of
// them, or as is where there is no advice or a server cannot run with it.
func (p Proposal) base(reports []report.Report) (s Stage, r report.Report, on experiment.Arm, ok bool) {
	if len(p.Stages) == 0 {
		return s, r, on, false
	}
	k, all := p.whole(reports)
	s = p.Stages[k]
	if k < len(reports) {
		r = reports[k]
	}
	for _, name := range []string{all, AsIs} {
		if a := s.Experiment.Arm(name); a.Setup.Server != nil && r.Arm(name).Failed == "" {
			return s, r, a, true
		}
	}
	return s, r, on, false
}

// NewSearch prepares a search in so many trials of points. reports are those of
// the stages. It is an error when there is nothing to choose.
func (p Proposal) NewSearch(reports []report.Report, cat *catalog.Catalog, trials int) (*Search, error) {
	stage, r, on, ok := p.base(reports)
	if !ok {
		return nil, errors.New("search: there is no server to try numbers on")
	}
	_, measure := SearchPace(stage.Experiment)
	dials, left := dialsOf(p.Engine, measure, on, r, cat)
	dials, more := few(dials, trials)
	if len(dials) == 0 {
		return nil, fmt.Errorf("search: there is no numeric setting to choose here: %s", strings.Join(left, "; "))
	}
	x := stage.Experiment
	s := &Search{Dials: dials, Left: append(left, more...), Planned: trials, Margin: x.Margin, from: stage, on: on.Name, seed: x.Seed, Says: caveats(x, on.Name, dials)}
	s.method, s.Method = search.Bayes{Space: space(dials), Total: trials}, "a surface is fitted through all trials, and the next are where it promises most"
	return s, nil
}

// few keeps the first dials, which matter most often, of those that so many
// trials can tell apart, and says which are left out.
func few(dials []Tunable, trials int) (kept []Tunable, left []string) {
	const each = 4 // trials for a dial
	n := min(len(dials), max(2, trials/each))
	for _, d := range dials[n:] {
		left = append(left, fmt.Sprintf("%s: %s too few for more than %d settings; a longer --max-time searches it too", d.Name, units.Counted(trials, "trial", "is", "are"), n))
	}
	return dials[:n], left
}

func space(dials []Tunable) (all []search.Dimension) {
	for _, d := range dials {
		all = append(all, d.Dimension)
	}
	return all
}

// Next makes the experiment of the next round, with n points. It depends on
// what was tried alone, so that a search that was cut off asks for the same
// rounds again and finds them in the ledger.
func (s *Search) Next(n int) (Stage, error) {
	return s.round(s.method.Ask(s.Tried, n, s.seed))
}

// Take takes in what a round measured.
func (s *Search) Take(r report.Report) {
	s.rounds++
	s.Tried = append(s.Tried, outcomes(s.Dials, r, s.rounds)...)
}

// outcomes reads what a round, which has one block, measured of its points.
func outcomes(dials []Tunable, r report.Report, round int) (all []search.Outcome) {
	last := map[string]experiment.Record{} // attempt of each arm
	for _, rec := range r.Records {
		if !rec.Has(experiment.MarkCut) {
			last[rec.Arm] = rec
		}
	}
	reference, have := last[AsIs]
	for _, a := range r.Experiment.Arms {
		rec, tried := last[a.Name]
		point, isPoint := pointIn(dials, a.Setup)
		if !tried || a.Name == AsIs || !isPoint {
			continue
		}
		o := search.Outcome{Point: point, Block: round, Value: math.NaN(), Failed: broke(rec)}
		if have && rec.Valid() && reference.Valid() && rec.Metric > 0 && reference.Metric > 0 {
			o.Value = math.Log(rec.Metric / reference.Metric)
		}
		all = append(all, o)
	}
	return all
}

// broke tells whether a trial showed that a server cannot be used so: it did
// not start or crashed, has taken other settings than were asked, or lost rows.
func broke(r experiment.Record) bool {
	return slices.ContainsFunc([]string{experiment.MarkFailed, experiment.MarkNotAsAsked, experiment.MarkInvariant}, r.Has)
}

// Settle puts together what the trials so far show. It can be called at any
// time.
func (s *Search) Settle() {
	space := space(s.Dials)
	s.Curves = search.Curves(space, s.Tried, s.Margin, s.seed)
	s.Best, s.Expected = nil, stats.Estimate{}
	if top := s.method.Top(s.Tried, 1); len(top) > 0 {
		s.Best = top[0]
		if e, known := search.Expected(space, s.Tried, s.Best); known {
			s.Expected = e
		}
	}
}

// AsAdvised tells whether the best point is what the advice sets, or what is in
// force as it is: there is then nothing to measure anew.
func (s *Search) AsAdvised() bool {
	if s.Best == nil {
		return false
	}
	for i, d := range s.Dials {
		if !near(s.Best[i], d.Start) {
			return false
		}
	}
	return true
}

// Confirm takes in the experiment that measured the best anew.
func (s *Search) Confirm(r report.Report) {
	for _, v := range r.Verdicts {
		if v.Arm == BestFound {
			s.Confirmed = append(s.Confirmed, v)
		}
	}
	s.Broken = r.Arm(BestFound).Failed
}

// Counted gives how many trials have a value, how many showed that a server
// cannot be used so, and how many chance spoilt.
func (s Search) Counted() (values, broken, spoilt int) {
	for _, o := range s.Tried {
		switch {
		case o.Failed:
			broken++
		case math.IsNaN(o.Value):
			spoilt++
		default:
			values++
		}
	}
	return values, broken, spoilt
}

// caveats are what every search must be read with.
func caveats(x experiment.Experiment, on string, dials []Tunable) (says []string) {
	says = append(says, "No value that is tried is less durable; points are tried on top of all advice, so that what guards data is in force in all of them.")
	if on == AsIs {
		says[0] = "No value that is tried is less durable than the settings in force."
	}
	var slow []string
	for _, d := range dials {
		if d.Slow {
			slow = append(slow, d.Name)
		}
	}
	if _, measure := SearchPace(x); len(slow) > 0 {
		says = append(says, fmt.Sprintf("A trial measures %s: what comes after minutes, such as a checkpoint, hardly shows in %s.", units.Short(measure), strings.Join(slow, ", ")))
	}
	return says
}
