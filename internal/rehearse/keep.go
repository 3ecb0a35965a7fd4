package rehearse

import (
	"fmt"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// decide says whether a step is kept, and why: what helps is, alone or among
// all advice, and what guards data or service whatever it brings; never what a
// server cannot run with, and never what makes it less durable.
func (v *Verdict) decide(all Verdict) {
	doubt := v.Why
	if all.Word == Helps && (doubt == "" || all.Refused != "") && v.onlyWithAll() {
		doubt = ""
		v.Word, v.More = WithAll, 0
	}
	switch {
	case v.Failed != "":
		v.Why = "left out: the server cannot be used with it"
	case catalog.Danger(v.Step.DurabilityTo) > catalog.Danger(v.Step.DurabilityFrom):
		v.Why = "left out, whatever it gains: it makes the server less durable (" + v.Step.DurabilityTo + ")"
	case v.Step.Safety:
		v.Keep, v.Why = true, "kept: "+v.guards(doubt)
	case v.Word == Helps:
		v.Keep, v.Why = true, "kept: "+v.gain()
	case v.Word == WithAll:
		v.Keep, v.Why = true, "kept: "+Proven+"; together they gain "+all.gain()
	case v.Word == NotTried && v.Step.Left != "":
		v.Why = "" // Left says it
	case v.Word == NotTried:
		v.Why = "left out: there was no time to try it"
	case doubt != "":
		v.Why = "left out: " + doubt
	default:
		v.Why = "left out: " + v.bringsNothing()
	}
}

// onlyWithAll tells of a step that is among all advice, and of which trials
// alone tell nothing: there was no time for them, or for one block only, which
// gives no interval.
func (v *Verdict) onlyWithAll() bool {
	tried := v.Word != NotTried && !(v.Word == Undecided && !report.Known(v.Rate))
	return v.Step.Path != "" && v.Failed == "" && !tried
}

// WithAll tells whether a step is kept for what all advice brings: it was not
// tried alone, or alone it brings nothing.
func (v *Verdict) WithAll() bool {
	nothing := v.Word == NoDifference || v.Word == Undecided
	return v.Word == WithAll || v.Keep && nothing && v.Step != nil && !v.Step.Safety
}

// planned is the step as the plan has it.
func (v *Verdict) planned() advise.Step {
	s := v.Step.Step
	if v.WithAll() {
		s.Note = strings.TrimPrefix(s.Note+"; "+Proven, "; ")
	}
	return s
}

// guards says what a safety step is for, and what it costs.
func (v *Verdict) guards(doubt string) string {
	guard := "it is about a server that can stop or lose data"
	switch catalog.Danger(v.Step.DurabilityFrom) - catalog.Danger(v.Step.DurabilityTo) {
	case 3:
		guard = "it guards against damaged data"
	case 2:
		guard = "it guards against lost transactions"
	}
	switch {
	case v.Word == WithAll:
		return guard + ", and is " + Proven
	case v.Word == NotTried && v.Step.Left != "":
		return guard + ", though no trial shows what it costs"
	case v.Word == NotTried:
		return guard + ", though there was no time to try it"
	case doubt != "":
		return guard + ", though its cost is not known: " + doubt
	case v.Word == Helps:
		return guard + ", and it helps: " + v.gain()
	case v.Word == Harms:
		return guard + ", and costs " + v.loss()
	case v.Word == NoDifference:
		return guard + ", at no measurable cost" + interval(v.Rate)
	}
	return guard + "; its cost is undecided" + interval(v.Rate)
}

// gain says what helps.
func (v *Verdict) gain() string {
	if v.Within > 0 {
		return fmt.Sprintf("the same number of transactions a second within ±%s, but the slowest answers come %s sooner%s", units.RoundPercent(v.Within), percent(v.P99.Value), interval(v.P99))
	}
	text := fmt.Sprintf("%s more transactions a second%s", percent(v.Rate.Value), interval(v.Rate))
	if report.Known(v.P99) && v.P99.Low > 0 {
		text += fmt.Sprintf(", though the slowest answers come %s later%s", percent(v.P99.Value), interval(v.P99))
	}
	return text
}

// loss says what harms.
func (v *Verdict) loss() string {
	if v.Within > 0 {
		return fmt.Sprintf("no transactions a second within ±%s, but the slowest answers come %s later%s", units.RoundPercent(v.Within), percent(v.P99.Value), interval(v.P99))
	}
	return fmt.Sprintf("%s of the transactions a second%s", percent(v.Rate.Value), interval(v.Rate))
}

// bringsNothing says why a step that was tried is not kept.
func (v *Verdict) bringsNothing() string {
	switch v.Word {
	case Harms:
		return "it costs " + v.loss()
	case NoDifference:
		return fmt.Sprintf("no difference larger than ±%s%s", units.RoundPercent(v.Within), interval(v.Rate))
	}
	text := "undecided"
	if v.Rate.N > 0 {
		text += " after " + units.Count(v.Rate.N, "block") + interval(v.Rate)
	}
	switch {
	case v.More >= stats.MostMore:
		text += "; more blocks would hardly decide it"
	case v.More == 1:
		text += "; about one more block would decide it"
	case v.More > 1:
		text += fmt.Sprintf("; about %d more blocks would decide it", v.More)
	}
	return text
}

// interval writes the 95 % interval of a difference: " (−1.2 to +3.0 %)"; "" when
// it is not known.
func interval(e stats.Estimate) string {
	if !report.Known(e) {
		return ""
	}
	return " (" + units.Interval(e) + ")"
}

// percent writes the size of a part: 12 %, 1.2 %.
func percent(part float64) string { return units.PercentDigits(part) + " %" }
