package cli

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
	rehearseview "plumb/internal/view/rehearse"
)

// result judges what was measured.
func (x *rehearsing) result() rehearse.Result {
	r := rehearse.Judge(x.proposal, x.reports, x.ended)
	r.Took, r.Search = x.spent+time.Since(x.began), x.found
	r.Adopt(x.know.Catalog, x.inForce)
	return r
}

// inForce gives what a setting has in force by what was read of this host; a
// rehearsal that is gone on with has read nothing.
func (x *rehearsing) inForce(k stack.Knob) (v stack.Value, known bool) {
	if x.stack == nil {
		return v, false
	}
	t := x.stack.Find(k.Of)
	if t == nil {
		return v, false
	}
	return t.Get(k.Name)
}

// show prints the rehearsal in the form that was asked for, and writes the
// files that were asked for.
func (x *rehearsing) show() (rehearse.Result, error) {
	r := x.result()
	if err := x.printed(r); err != nil {
		return r, err
	}
	if x.found != nil {
		if err := x.showSearch(*x.found); err != nil {
			return r, err
		}
	}
	if x.plan != "" {
		if err := x.writePlan(r); err != nil {
			return r, err
		}
	}
	if x.html != "" {
		return r, x.writeHTML(r)
	}
	return r, nil
}

func (x *rehearsing) printed(r rehearse.Result) error {
	if !x.json {
		_, err := fmt.Fprint(x.out, rehearseview.Text(r, x.know.Catalog, screen(x.out), x.next(r)...))
		return err
	}
	text, err := page.JSON(rehearseview.Document(r, programVersion()))
	if err == nil {
		_, err = fmt.Fprintf(x.out, "%s", text)
	}
	return err
}

// next are the commands that may follow.
func (x *rehearsing) next(r rehearse.Result) []string {
	switch {
	case x.ended == interrupted: // its hint says what may follow
		return nil
	case x.ended == budgetUsed && x.kept.Name != "":
		return []string{fmt.Sprintf("plumb rehearse --resume %s --budget %s goes on for as long again", x.kept.Name, shortTime(2*x.budget))}
	case x.sandbox != "" || len(r.Plan.Steps) == 0:
		return nil
	case x.plan != "":
		return []string{"plumb fix " + x.plan + " applies what is kept"}
	}
	return []string{"--plan FILE writes what is kept, for plumb fix"}
}

// shortTime writes 20m0s as 20m.
func shortTime(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (x *rehearsing) writePlan(r rehearse.Result) error {
	if err := writePlan(x.plan, r.Plan); err != nil {
		return err
	}
	fmt.Fprintf(x.err, "%s: %s\n", x.plan, countText(len(r.Plan.Steps), "step"))
	return nil
}

func (x *rehearsing) writeHTML(r rehearse.Result) error {
	about := labview.About{Version: programVersion()}
	for _, stage := range r.Reports {
		if n := len(stage.Records); n > 0 {
			about.Machine = stage.Records[n-1].Machine
		}
	}
	page, err := rehearseview.HTML(r, x.know.Catalog, about)
	if err != nil {
		return err
	}
	return x.writePage(x.html, x.force, page)
}

// showPlan shows what would be tried. Of a server that is yet to be made only
// the look is known.
func (x *rehearsing) showPlan(needs []string) (err error) {
	if len(x.proposal.Stages) == 0 {
		e := x.looks.Experiment
		times := experiment.Estimate(e)
		_, err = fmt.Fprint(x.out, labview.Plan(labview.PlanInput{Experiment: e, Trials: experiment.All(e), Layouts: len(experiment.Layouts(e)),
			Least: times.Least, Most: times.Most, Needs: needs}, screen(x.out)),
			"What is tried after this look depends on what check advises the server then.\n")
		return err
	}
	in := rehearseview.PlanInput{Proposal: x.proposal, Budget: x.budget, Needs: needs}
	_, in.Again = x.nextLook()
	for i, s := range x.proposal.Stages {
		times := experiment.Estimate(s.Experiment)
		if i > 0 { // the data are there already
			times.Least -= times.Loading
			times.Most -= times.Loading
		}
		in.Least, in.Most = in.Least+times.Least, in.Most+times.Most
	}
	in.Most = max(in.Least, min(in.Most, x.budget))
	_, err = fmt.Fprint(x.out, rehearseview.Plan(in, x.know.Catalog, screen(x.out)))
	return err
}
