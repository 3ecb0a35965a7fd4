package rehearse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/search"
)

// round makes the experiment of a round of a search: as is and some points, in
// one block.
func (s *Search) round(points []search.Point) (Stage, error) {
	var arms []fileArm
	for i, point := range points {
		arms = append(arms, fileArm{Name: pointArm + strconv.Itoa(len(s.Tried)+1+i), Set: pathsOf(s.Dials, point)})
	}
	warmup, measure := SearchPace(s.from.Experiment)
	return s.derived(derived{name: fmt.Sprintf("search-%d", s.rounds+1), arms: arms, least: 1, most: 1, keep: []string{AsIs}, warmup: warmup, measure: measure,
		question: fmt.Sprintf("What do other values gain? Round %d of a search", s.rounds+1)})
}

// Confirmation makes the experiment that measures the best point anew, beside
// as is and the arm that points were tried on top of.
func (s *Search) Confirmation(least, most int) (Stage, error) {
	warmup, measure := SearchPace(s.from.Experiment)
	d := derived{name: "search-best", arms: []fileArm{{Name: BestFound, Set: pathsOf(s.Dials, s.Best)}}, least: least, most: most, keep: []string{AsIs, s.on}, warmup: warmup, measure: measure,
		question: "Is the best result of the search really better when it is measured again?"}
	if s.on != AsIs {
		d.compare = append(d.compare, filePair{BestFound, s.on})
	}
	d.compare = append(d.compare, filePair{BestFound, AsIs})
	return s.derived(d)
}

func pathsOf(dials []Tunable, point search.Point) map[string]string {
	all := map[string]string{}
	for i, d := range dials {
		maps.Copy(all, d.Sets(point[i]))
	}
	return all
}

// derived is how an experiment differs from the one it is made from.
type derived struct {
	name, question string
	keep           []string   // arms of the other
	arms           []fileArm  // new ones: what they set beyond the arm that they are on top of
	compare        []filePair // empty: all with as is
	least, most    int        // blocks
	warmup         time.Duration
	measure        time.Duration
	budget         time.Duration // 0: none
	brief          bool          // caches need not be full
	notes          string
}

func (s *Search) derived(d derived) (Stage, error) {
	stage, err := d.of(s.from, s.on)
	if err != nil {
		return stage, fmt.Errorf("search: %w", err)
	}
	return stage, nil
}

// of makes an experiment of another's file: the same base, load and seed, other
// arms, on top of one that it has.
func (d derived) of(from Stage, on string) (Stage, error) {
	f, err := from.read()
	if err != nil {
		return Stage{}, err
	}
	f.Experiment, f.Question, f.Notes, f.Arms = nameOf(from.Experiment.Name, d.name), d.question, d.notes, d.armsOf(f.Arms, on)
	f.Blocks, f.Metric, f.Budget = experiment.FileBlocks{Least: d.least, Most: d.most}, "rate", d.budget
	f.Measure.Warmup, f.Measure.Time = d.warmup, d.measure
	f.Compare, f.Baseline, f.Until = nil, "", ""
	arms := len(d.keep) + len(d.arms)
	if d.brief {
		f.Measure.Fill = 0
	}
	if d.brief || arms > from.AtOnce || arms == 1 {
		f.Design = experiment.Blocks
	}
	switch {
	case arms == 1: // nothing to compare
	case len(d.compare) == 0:
		f.Baseline = AsIs
	default:
		f.Compare, f.Until = d.compare, "decided"
	}
	return stageOf(f, d.name, from.AtOnce)
}

// SearchPace is how long trials of a search warm up and are measured: half as
// long as those of the first stage, because a surface makes more of many trials
// than of long ones.
func SearchPace(x experiment.Experiment) (warmup, measure time.Duration) {
	const leastWarmup, leastMeasure = 4 * time.Second, 8 * time.Second
	half := func(t, least time.Duration) time.Duration {
		return max(t/2, min(t, least)).Round(time.Second)
	}
	return half(x.Warmup, leastWarmup), half(x.Measure, leastMeasure)
}

// nameOf names an experiment after the one it is made from.
func nameOf(from, name string) string {
	const most = 62
	from = strings.TrimSuffix(from, "-all")
	return strings.Trim(from[:min(len(from), most-len(name)-1)], "-") + "-" + name
}

// armsOf gives the arms that are kept, and new ones on top of one of them.
func (d derived) armsOf(arms []fileArm, on string) (all []fileArm) {
	var below map[string]string
	for _, a := range arms {
		if slices.Contains(d.keep, a.Name) {
			all = append(all, a)
		}
		if a.Name == on {
			below = a.Set
		}
	}
	for _, a := range d.arms {
		set := map[string]string{}
		maps.Copy(set, below)
		maps.Copy(set, a.Set)
		all = append(all, fileArm{Name: a.Name, Set: set})
	}
	return all
}
