package rehearse

import (
	"fmt"

	"plumb/internal/catalog"
	"plumb/internal/lab/report"
	"plumb/internal/units"
)

// together keeps steps that alone bring nothing, where all advice brings what
// the steps that help alone do not explain: a larger redo log spares few writes
// until the cache is large enough to hold pages back. Without them the plan would
// be one that no trial has shown.
func (r *Result) together() {
	more := r.unexplained()
	if more == "" {
		return
	}
	for i := range r.Steps {
		if v := &r.Steps[i]; v.nothingAlone() {
			v.Keep, v.Why = true, "kept: alone "+v.bringsNothing()+"; but "+more
		}
	}
}

// nothingAlone tells of a step that was compared with the server as it is, and
// neither helps nor harms for sure.
func (v *Verdict) nothingAlone() bool {
	return !v.Keep && !v.onTop && (v.Word == NoDifference || v.Word == Undecided && report.Known(v.Rate)) &&
		catalog.Danger(v.Step.DurabilityTo) <= catalog.Danger(v.Step.DurabilityFrom)
}

// unexplained says what all advice brings beyond the product of what each step
// brings that helps alone, taking of each interval the end that explains most;
// "" when there is nothing.
func (r *Result) unexplained() string {
	const least = 1.05 // times the rate
	if r.All.Word != Helps {
		return ""
	}
	rate := 1.0
	for _, v := range r.helpAlone() {
		rate *= max(1, 1+v.Rate.High)
	}
	if 1+r.All.Rate.Low > least*rate {
		return fmt.Sprintf("all advice together gains %s, %s", r.All.gain(), r.explain(percent(rate-1)+" at most"))
	}
	for _, c := range r.All.Costs {
		if text := r.unexplainedBytes(c); text != "" {
			return text
		}
	}
	return ""
}

// helpAlone gives the steps that help by themselves, with as is or on top of the
// rest; of those that share an arm, one.
func (r *Result) helpAlone() (all []Verdict) {
	seen := map[string]bool{}
	for _, v := range r.Steps {
		if v.Word == Helps && !seen[v.Arm] {
			seen[v.Arm] = true
			all = append(all, v)
		}
	}
	return all
}

// unexplainedBytes does so for bytes that are read or written.
func (r *Result) unexplainedBytes(c Cost) string {
	const times, page = 2, 4096 // what is less is not worth a step
	verb := map[string]string{"read": "reads", "written": "writes"}[c.Name]
	if verb == "" || c.Unit != "B/op" {
		return ""
	}
	left := c.Before.Low
	for _, v := range r.helpAlone() {
		for _, one := range v.Costs {
			if one.Layer == c.Layer && one.Name == c.Name && one.Unit == c.Unit && one.Before.High > 0 {
				left *= min(1, one.After.Low/one.Before.High)
			}
		}
	}
	if !(left > times*c.After.High) || !(left > c.After.High+page) { // also when an interval is not known
		return ""
	}
	return fmt.Sprintf("with all advice the %s %s %s a transaction, %s",
		c.Layer, verb, units.Measured(c.After.Value), r.explain("no less than "+units.Measured(left)))
}

// explain says how much the steps that help alone explain.
func (r *Result) explain(much string) string {
	if len(r.helpAlone()) == 0 {
		return "and no step helps alone"
	}
	return "and the steps that help alone explain " + much
}
