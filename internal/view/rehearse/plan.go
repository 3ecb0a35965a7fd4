package rehearse

import (
	"fmt"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse"
	"plumb/internal/rehearse/runner"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// Plan shows what a rehearsal would do, without anything having been
// made. Of a server that is yet to be made only the look is known.
func Plan(in runner.Forecast, cat *catalog.Catalog, screen page.Screen) string {
	if in.Look != nil {
		return labview.Plan(labview.PlanOf(*in.Look, in.Needs), screen) + "What is tried after this check depends on its advice.\n"
	}
	p := rehearsalPage{page.NewPage(screen), picture.Facts{Cat: cat}}
	p.Para(page.Bold, 0, strings.Join(rehearsalHead(rehearse.Result{Proposal: in.Proposal}), " · "))
	p.Blank()
	p.Hang(page.Normal, "takes    ", proposedTime(in))
	for i, n := range in.Needs {
		head := "         "
		if i == 0 {
			head = "needs    "
		}
		p.Hang(page.Normal, head, n)
	}
	p.proposedSteps(in.Proposal)
	for i, s := range in.Proposal.Stages {
		p.stage(stageName(in.Proposal, i), s.Experiment)
	}
	if in.Again {
		p.Blank()
		p.Para(page.Normal, 0, "Before these, the check is repeated in the sandbox with all advice followed. What it adds is tried on top of the rest.")
	}
	p.sandbox(in.Proposal)
	p.Blank()
	p.Para(page.Dim, 0, "Nothing was made or changed.")
	return p.String()
}

func proposedTime(in runner.Forecast) string {
	text := labview.PlanTime(labview.PlanInput{Least: in.Least, Most: in.Most})
	switch {
	case in.Budget <= 0:
		return text
	case in.Most <= 0:
		return "at most " + units.Planned(in.Budget)
	}
	return text + "; --max-time is " + units.Planned(in.Budget)
}

// proposedSteps lists the steps of the plan with how each is tried, or why it
// is not.
func (p rehearsalPage) proposedSteps(of rehearse.Proposal) {
	p.Blank()
	if len(of.Steps) == 0 {
		p.Para(page.Normal, 0, "The plan has no step: there is nothing to rehearse.")
		return
	}
	p.Line(page.Dim, "Steps of the plan")
	for _, s := range of.Steps {
		head := fmt.Sprintf("%2d  ", s.Number)
		word := "tried"
		if s.Left != "" {
			word = "not tried"
		}
		p.Sides(head, page.Bold, changeText(p.Facts, s, " -> "), page.Dim, word)
		if s.Left != "" {
			p.Para(page.Normal, 4, sentenceOf(s.Left))
			continue
		}
		if s.Path != "" {
			p.Para(page.Dim, 4, s.Path+" = "+s.Value)
		}
		if with := withText(s); with != "" {
			p.Para(page.Dim, 4, with)
		}
		if s.Scaled != "" {
			p.Labelled(page.Dim, "    in the sandbox: ", page.Normal, s.Scaled)
		}
		if s.Safety {
			p.Para(page.Dim, 4, "Kept in any case: it protects against lost data or an outage.")
		}
	}
}

// stage shows one experiment: its arms and how its trials are spread.
func (p rehearsalPage) stage(name string, x experiment.Experiment) {
	var arms []string
	for _, a := range x.Arms {
		arms = append(arms, a.Name)
	}
	p.Blank()
	p.Line(page.Dim, "Stage "+name)
	p.Hang(page.Normal, "  arms     ", strings.Join(arms, " · "))
	p.Hang(page.Normal, "  design   ", labview.DesignText(x))
	each := units.Span(x.Measure) + " measured"
	if x.Warmup > 0 {
		each += " after " + units.Span(x.Warmup) + " of warm-up"
	}
	p.Hang(page.Normal, "  trial    ", each)
}

// Progress is that of a lab with the stage at which a rehearsal is.
func Progress(stage string, s lab.Progress) string {
	if stage == "" {
		return labview.Progress(s)
	}
	return page.Clean(stage) + ": " + labview.Progress(s)
}
