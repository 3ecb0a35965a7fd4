package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/research/trials"
)

// ratio is what plumb does as a multiple of another arm.
type ratio struct {
	stats.Estimate
	same bool // it is the same arm
}

// namesOf takes the name of an arm apart.
func namesOf(arm string) []string {
	return strings.Split(strings.TrimPrefix(arm, unsafe), same)
}

// plumb is Plumb's arm.
func (r row) plumb() report.ArmResult {
	i := slices.IndexFunc(r.report.Arms, func(a report.ArmResult) bool { return slices.Contains(namesOf(a.Name), byPlumb) })
	return r.report.Arms[i]
}

// against compares plumb with the arm that has a name among its own.
func (r row) against(name string) ratio {
	if slices.Contains(namesOf(r.plumb().Name), name) {
		return ratio{Estimate: stats.Estimate{Value: 1, Low: 1, High: 1}, same: true}
	}
	for _, v := range r.report.Verdicts {
		if slices.Contains(namesOf(v.Baseline), name) {
			return times(v.Effect)
		}
	}
	return ratio{Estimate: stats.Estimate{Value: math.NaN()}}
}

func times(e stats.Estimate) ratio {
	e.Value, e.Low, e.High = 1+e.Value, 1+e.Low, 1+e.High
	return ratio{Estimate: e}
}

// others are the verdicts on plumb and each adviser with another opinion.
func (r row) others() (all []report.Comparison) {
	for _, v := range r.report.Verdicts {
		if !slices.Contains(namesOf(v.Baseline), byDefault) {
			all = append(all, v)
		}
	}
	return all
}

// opponents says how many others plumb was compared with, and which could not
// run, such as one that was killed for want of memory.
func (r row) opponents() string {
	n, failed := 0, ""
	for _, v := range r.others() {
		if v.Effect.N > 0 {
			n++
		}
	}
	for _, a := range r.report.Arms {
		if a.Failed != "" {
			failed += ", without " + a.Name + ", which did not run"
		}
	}
	return strconv.Itoa(n) + failed
}

// best compares plumb with the arm that did best against it. Of those with
// plumb's own settings nothing but 1 can come.
func (r row) best() (best ratio, who string) {
	best.Value = math.NaN()
	for _, name := range namesOf(r.plumb().Name) {
		if name != byPlumb && name != byDefault {
			best, who = r.against(name), name
		}
	}
	for _, v := range r.others() {
		if t := times(v.Effect); t.N > 0 && !(t.Value >= best.Value) {
			best, who = t, v.Baseline
		}
	}
	return best, who
}

// losses names the arms that are surely faster than plumb, the default too.
func (r row) losses() string {
	var all []string
	for _, v := range r.report.Verdicts {
		if v.Word == report.Worse {
			all = append(all, v.Baseline)
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// share is how much of the contest's processors an arm's transactions took.
type share struct{ server, client, of float64 }

// bound adds up what plumb's arm took: the server and the load share the
// processors. It is unknown where one of the two is.
func (r row) bound() share {
	a := r.plumb()
	cost := func(layer string) float64 {
		for _, c := range a.Costs {
			if c.Layer == layer && c.Name == "CPU" {
				return c.Estimate.Value
			}
		}
		return math.NaN()
	}
	s := share{server: cost("server"), client: cost("client")}
	s.of = (s.server + s.client) * a.Metric.Value / (cpus * 1e6)
	return s
}

// bound tells whether the two processors hold the cell back.
func (s share) bound() bool { return s.of >= boundShare }

func (s share) text() string {
	if math.IsNaN(s.of) {
		return "not known"
	}
	word := ""
	if s.bound() {
		word = ", bound by them"
	}
	return fmt.Sprintf("%.0f %% (%s + %s µs each)%s", 100*s.of, trials.Digits(s.server), trials.Digits(s.client), word)
}

func (t ratio) text() string {
	switch {
	case t.same:
		return "1: the same settings"
	case math.IsNaN(t.Value):
		return "not known"
	}
	return trials.Value(t.Estimate)
}

// sum says in sentences what the table comes to.
func sum(all []row) string {
	run, reached, lost, free, ahead := 0, []string{}, []string{}, 0, 0
	for _, r := range all {
		if !r.known {
			continue
		}
		run++
		if r.against(byDefault).Value >= starvedGoal {
			reached = append(reached, r.cell.name())
		}
		if r.losses() != "none" {
			lost = append(lost, r.cell.name())
		}
		if b := r.bound(); !b.bound() {
			free++
			if best, _ := r.best(); best.Value >= bestGoal {
				ahead++
			}
		}
	}
	if run == 0 {
		return "No cell has been run.\n"
	}
	list := func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%d of %d cells were run. At least %g times the default: %s. A sure loss: %s. At least %g times the best of the others: %d of the %d cells that the two processors do not bind.\n",
		run, len(all), starvedGoal, list(reached), list(lost), bestGoal, ahead, free)
}
