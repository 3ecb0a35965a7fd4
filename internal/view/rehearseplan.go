package view

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse"
)

// RehearsalPlanInput is what a dry run knows of a rehearsal.
type RehearsalPlanInput struct {
	Proposal    rehearse.Proposal
	Least, Most time.Duration // how long it takes, by when it can stop; 0 when unknown
	Budget      time.Duration // for everything; 0 when there is none
	Needs       []string      // of this machine, one sentence each
	Again       bool          // check is asked again first, with all advice followed
}

// RehearsalPlan shows what a rehearsal would do, without anything having been
// made.
func RehearsalPlan(in RehearsalPlanInput, cat *catalog.Catalog, screen Screen) string {
	p := rehearsalPage{newPage(screen), factsOf(cat)}
	p.para(bold, 0, strings.Join(rehearsalHead(rehearse.Result{Proposal: in.Proposal}), " · "))
	p.blank()
	p.hang(plain, "takes    ", proposedTime(in))
	for i, n := range in.Needs {
		head := "         "
		if i == 0 {
			head = "needs    "
		}
		p.hang(plain, head, n)
	}
	p.proposedSteps(in.Proposal)
	for i, s := range in.Proposal.Stages {
		p.stage(stageName(in.Proposal, i), s.Experiment)
	}
	if in.Again {
		p.blank()
		p.para(plain, 0, "Before these, check is asked again in the sandbox with all advice followed. What it adds is tried on top of the rest.")
	}
	p.sandbox(in.Proposal)
	p.blank()
	p.para(dim, 0, "Nothing was made or changed.")
	return p.String()
}

func proposedTime(in RehearsalPlanInput) string {
	text := planTime(LabPlanInput{Least: in.Least, Most: in.Most})
	switch {
	case in.Budget <= 0:
		return text
	case in.Most <= 0:
		return "at most " + planned(in.Budget)
	}
	return text + "; the budget is " + planned(in.Budget)
}

// proposedSteps lists the steps of the plan with how each is tried, or why it
// is not.
func (p rehearsalPage) proposedSteps(of rehearse.Proposal) {
	p.blank()
	if len(of.Steps) == 0 {
		p.para(plain, 0, "The plan has no step: there is nothing to rehearse.")
		return
	}
	p.line(dim, "Steps of the plan")
	for _, s := range of.Steps {
		head := fmt.Sprintf("%2d  ", s.Number)
		word := "tried"
		if s.Left != "" {
			word = "not tried"
		}
		p.sides(head, bold, p.changeText(s, " -> "), dim, word)
		if s.Left != "" {
			p.para(plain, 4, sentenceOf(s.Left))
			continue
		}
		if s.Path != "" {
			p.para(dim, 4, s.Path+" = "+s.Value)
		}
		if with := withText(s); with != "" {
			p.para(dim, 4, with)
		}
		if s.Scaled != "" {
			p.labelled(dim, "    in the sandbox: ", plain, s.Scaled)
		}
		if s.Safety {
			p.para(dim, 4, "Kept whatever it brings: it is about lost data or an outage.")
		}
	}
}

// stage shows one experiment: its arms and how its trials are spread.
func (p rehearsalPage) stage(name string, x experiment.Experiment) {
	var arms []string
	for _, a := range x.Arms {
		arms = append(arms, a.Name)
	}
	p.blank()
	p.line(dim, "Stage "+name)
	p.hang(plain, "  arms     ", strings.Join(arms, " · "))
	p.hang(plain, "  design   ", designText(x))
	each := span(x.Measure) + " measured"
	if x.Warmup > 0 {
		each += " after " + span(x.Warmup) + " of warm-up"
	}
	p.hang(plain, "  trial    ", each)
}

// RehearsalProgress is LabProgress with the stage at which a rehearsal is.
func RehearsalProgress(stage string, s LabStep) string {
	if stage == "" {
		return LabProgress(s)
	}
	return clean(stage) + ": " + LabProgress(s)
}
