package provision

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/provision"
	"plumb/internal/provision/propose"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Plan shows all that a provision would do: every act of each stage, what of it cannot be taken away,
// and what check would then say.
func Plan(p propose.Proposal, s page.Screen) string {
	out := page.NewPage(s)
	out.Para(page.Bold, 0, strings.TrimSpace(named(p.Home.Server)+" "+p.Home.Version+" on "+p.Of))
	for i, stage := range p.Stages {
		out.Blank()
		showStage(out, i+1, stage)
	}
	born(out, p)
	refused(out, p.Refused)
	foretold(out, p)
	out.Blank()
	n := acts(p.Stages)
	if n == 0 {
		out.Para(page.Normal, 0, "Nothing to do: everything is as the spec says.")
		return out.String()
	}
	text := units.Count(n, "act") + ". Each is written to the journal before it is done, and --undo reverts it."
	if slices.ContainsFunc(p.Stages, func(s provision.Stage) bool { return len(s.Lasting) > 0 }) {
		text += " A line marked \"final\" names what cannot be changed, or brought back, once it is done."
	}
	out.Para(page.Normal, 0, text)
	return out.String()
}

func acts(stages []provision.Stage) (n int) {
	for _, s := range stages {
		for _, step := range s.Steps {
			n += len(step.Recipe.Acts)
		}
	}
	return n
}

func showStage(out *page.Page, number int, s provision.Stage) {
	head := fmt.Sprintf("%2d  ", number)
	if s.Done {
		out.Sides(head, page.Bold, s.Name, page.Dim, "done already")
	} else {
		out.Labelled(page.Normal, head, page.Bold, s.Name)
	}
	if s.Why != "" {
		out.Para(page.Dim, 4, s.Why)
	}
	for _, step := range s.Steps {
		if step.Knob.Name != provision.Knob {
			out.Para(page.Normal, 4, fmt.Sprintf("%s = %s: %s (%s)", step.Knob, step.To, step.Because, strings.Join(step.Why, ", ")))
		}
		for _, a := range step.Recipe.Acts {
			showAct(out, a)
		}
		if step.Recipe.Waits != "" {
			out.Labelled(page.Dim, "    then    ", page.Normal, step.Recipe.Waits)
			runs(out, step.Recipe.Shorten)
		}
	}
	for _, what := range s.Lasting {
		out.Labelled(page.Yellow, "    final   ", page.Normal, what)
	}
	for _, note := range s.Notes {
		out.Labelled(page.Dim, "    note    ", page.Normal, note)
	}
}

// showAct shows an act, and what it runs.
func showAct(out *page.Page, a change.Act) {
	head := fmt.Sprintf("    %-8s", a.Kind())
	switch {
	case a.Edit != nil:
		out.Hang(page.Normal, head, fmt.Sprintf("%s: %s = %s", a.Edit.File, a.Edit.Key, a.Edit.Value))
	case a.Switch != nil:
		out.Hang(page.Normal, head, a.Place()+" -> "+a.Switch.After)
		runs(out, a.Switch.Do)
	case a.Make != nil:
		out.Hang(page.Normal, head, a.Place())
		runs(out, a.Make.Do)
	default:
		out.Hang(page.Normal, head, a.Place())
	}
}

// runs shows commands and statements. The text of a script says less to people than what it is for, which
// is the act's name; --json has it.
func runs(out *page.Page, ops []change.Op) {
	for _, op := range ops {
		if slices.Contains(op.Argv, "sh") {
			continue
		}
		out.Para(page.Dim, 12, op.String())
	}
}

// born says with which properties things are made, and which rules ask for them.
func born(out *page.Page, p propose.Proposal) {
	if len(p.Prediction.Why) == 0 {
		return
	}
	out.Blank()
	out.Line(page.Bold, "WHY IT IS MADE SO")
	for _, what := range slices.Sorted(maps.Keys(p.Prediction.Why)) {
		of, property, _ := strings.Cut(what, " ")
		out.Hang(page.Normal, "    ", fmt.Sprintf("%s of %s: %s", property, of, strings.Join(p.Prediction.Why[what], ", ")))
	}
}

// refused lists settings that rules advise and Plumb does not set.
func refused(out *page.Page, all []change.Refused) {
	if len(all) == 0 {
		return
	}
	out.Blank()
	out.Line(page.Yellow, "NOT DONE BY PLUMB")
	for _, r := range all {
		out.Hang(page.Normal, "    ", fmt.Sprintf("%s = %s: %s", r.Knob, r.To, r.Reason))
		if r.Hint != "" {
			out.Para(page.Dim, 8, r.Hint)
		}
	}
}

// foretold is the check of the host as the plan makes it.
func foretold(out *page.Page, p propose.Proposal) {
	out.Blank()
	out.Line(page.Bold, "WHAT CHECK WILL SAY")
	if p.Home.Server.IsZero() {
		out.Para(page.Normal, 4, "not known before the server runs")
		return
	}
	findings(out, p.Prediction.Left, "nothing above a note")
	findings(out, p.Prediction.Notes, "")
	if len(p.Prediction.Waits) == 0 {
		return
	}
	about := map[string]bool{}
	for _, w := range p.Prediction.Waits {
		for _, a := range w.About {
			about[a] = true
		}
	}
	out.Para(page.Dim, 4, fmt.Sprintf("unknown until the server has carried a load: %s, of %s", units.Count(len(p.Prediction.Waits), "rule"), page.Join(slices.Sorted(maps.Keys(about)))))
}

func findings(out *page.Page, all []advise.Finding, none string) {
	for _, f := range all {
		for _, c := range f.Cases {
			out.Labelled(ink(string(f.Rule.Harm)), fmt.Sprintf("    %-8s", f.Rule.Harm), page.Normal, c.Title+" ("+f.Rule.ID+")")
		}
	}
	if len(all) == 0 && none != "" {
		out.Para(page.Normal, 4, none)
	}
}

func ink(harm string) page.Ink {
	if harm == "note" {
		return page.Dim
	}
	return page.Yellow
}

// Outcome says what was done, and what check says now.
func Outcome(r propose.Result, s page.Screen) string {
	out := page.NewPage(s)
	for _, c := range r.Stages {
		out.Sides(fmt.Sprintf("%4d  ", c.Change), page.Normal, c.Name, page.Dim, units.Count(c.Acts, "act")+", "+units.Span(c.Took))
	}
	if len(r.Stages) > 0 {
		out.Blank()
	}
	out.Line(page.Bold, "WHAT CHECK SAYS NOW")
	findings(out, r.Left, "nothing above a note")
	findings(out, r.Notes, "")
	out.Blank()
	if r.Acts == 0 {
		out.Para(page.Normal, 0, "0 acts: everything is as the spec says.")
		return out.String()
	}
	out.Para(page.Normal, 0, fmt.Sprintf("%s in %s. plumb provision --undo reverts them, the last one first.", units.Count(r.Acts, "act"), units.Count(len(r.Stages), "change")))
	return out.String()
}

// Torn says what an earlier run began and did not end.
func Torn(all []*change.Change, s page.Screen) string {
	out := page.NewPage(s)
	for _, c := range all {
		out.Para(page.Normal, 0, fmt.Sprintf("Change %d (%s) was begun but not ended: it is continued first.", c.Number, stageOf(c)))
	}
	return out.String()
}

// stageOf names the stage that a change is.
func stageOf(c *change.Change) string {
	if len(c.Steps) > 0 && c.Steps[0].Knob.Name == provision.Knob {
		name, _ := c.Steps[0].To.Text()
		return name
	}
	return "settings"
}

// Away says what is to be undone, or was.
func Away(all []*change.Change, done bool, s page.Screen) string {
	out := page.NewPage(s)
	for _, c := range slices.Backward(all) {
		out.Sides(fmt.Sprintf("%4d  ", c.Number), page.Normal, stageOf(c), page.Dim, units.Count(len(c.Acts), "act"))
	}
	switch {
	case len(all) == 0:
		out.Para(page.Normal, 0, "Nothing to undo: no change from this spec is in force.")
	case done:
		out.Para(page.Normal, 0, units.Count(len(all), "change")+" undone.")
	default:
		out.Para(page.Normal, 0, "These are undone, from top to bottom.")
	}
	return out.String()
}
