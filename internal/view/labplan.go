package view

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
)

// LabPlanInput is what a dry run knows of an experiment.
type LabPlanInput struct {
	Experiment  experiment.Experiment
	Trials      []experiment.Trial // that are still to be done, in order
	Layouts     int                // data sets that are made once and then copied
	Least, Most time.Duration      // how long it takes, by the fewest and the most blocks; 0 when unknown
	Needs       []string           // of this machine, one sentence each
}

// LabPlan shows what an experiment would do, without anything having been made.
func LabPlan(in LabPlanInput, screen Screen) string {
	p := newPage(screen)
	x := in.Experiment
	p.para(bold, 0, x.Name)
	if x.Question != "" {
		p.para(plain, 0, x.Question)
	}
	p.blank()
	p.hang(plain, "design   ", designText(x))
	p.hang(plain, "trials   ", trialsText(in))
	p.hang(plain, "takes    ", planTime(in))
	for i, n := range in.Needs {
		head := "         "
		if i == 0 {
			head = "needs    "
		}
		p.hang(plain, head, n)
	}
	p.planArms(x)
	p.planBlocks(in.Trials)
	p.blank()
	p.para(dim, 0, "Nothing was made or changed.")
	return p.String()
}

// designText says how trials are spread over time and when that ends.
func designText(x experiment.Experiment) string {
	n := fmt.Sprintf("%d to %d blocks", x.Least, x.Most)
	if x.Least == x.Most {
		n = count(x.Most, "block")
	}
	text := "randomised blocks: each of " + n + " holds every arm once, in random order, on fresh data"
	if x.Design == experiment.ABBA {
		text = "switched: in each of " + n + " one running server goes there and back between the two arms (A B B A)"
	}
	if x.Design == experiment.Interleaved {
		turns, each := experiment.Turns(x)
		text = fmt.Sprintf("interleaved: in each of %s the servers of all arms are up at once, on fresh data, and take %d turns of %s; those that wait stand still", n, turns, span(each))
	}
	if x.Until > 0 {
		text += fmt.Sprintf("; ends once every comparison is known to ±%s", roundPercent(x.Until))
	}
	if x.Decided {
		text += "; ends once every comparison is decided"
	}
	if x.Budget > 0 {
		text += "; begins no block that would end after " + planned(x.Budget)
	}
	return text
}

func trialsText(in LabPlanInput) string {
	x := in.Experiment
	each := span(x.Measure) + " measured"
	if x.Warmup > 0 {
		each += " after " + span(x.Warmup) + " of warm-up"
	}
	text := fmt.Sprintf("%s of %s at most, each with %s", count(len(in.Trials), "trial"), count(len(x.Arms), "arm"), each)
	if in.Layouts > 0 {
		text += "; " + count(in.Layouts, "data set") + " made once and copied"
	}
	return text
}

func planTime(in LabPlanInput) string {
	switch {
	case in.Most <= 0:
		return "not known"
	case in.Least <= 0 || in.Least == in.Most:
		return "about " + planned(in.Most)
	}
	return fmt.Sprintf("about %s to %s, by when it can stop", planned(in.Least), planned(in.Most))
}

// planned writes a length of time as people plan with it: 40s, 12m, 3h20m.
func planned(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	}
	m := int(d.Round(time.Minute).Minutes())
	if m%60 == 0 {
		return fmt.Sprintf("%dh", m/60)
	}
	return fmt.Sprintf("%dh%02dm", m/60, m%60)
}

// planArms shows what the arms have in common once, and what sets each apart.
func (p *page) planArms(x experiment.Experiment) {
	s := setupsOf(x.Arms)
	p.blank()
	p.line(dim, "In all arms")
	wide := 0
	for _, c := range s.common {
		wide = max(wide, width(c.path))
	}
	for _, c := range s.common {
		p.hang(plain, "  "+columns(c.path, min(wide, 48)+2), c.value)
	}
	p.blank()
	p.line(dim, "Arms")
	first := 0
	for _, a := range x.Arms {
		first = max(first, width(a.Name))
	}
	first = min(first, p.width/3) + 4
	for i, a := range x.Arms {
		var own []string
		for _, path := range s.differ {
			own = append(own, path+" "+cmpText(s.of[i][path], "not set"))
		}
		p.within(p.width, plain, columns("  "+atMost(a.Name, first-4), first), plain, cmpText(strings.Join(own, " · "), "as in all arms"))
	}
}

// planBlocks lists the trials in their order, a block on a line.
func (p *page) planBlocks(trials []experiment.Trial) {
	if len(trials) == 0 {
		return
	}
	p.blank()
	p.line(dim, "Order")
	for from := 0; from < len(trials); {
		to := from
		var arms []string
		for ; to < len(trials) && trials[to].Block == trials[from].Block; to++ {
			arms = append(arms, trials[to].Arm)
		}
		p.within(p.width, plain, fmt.Sprintf("  block %-3d ", trials[from].Block), plain, strings.Join(arms, " · "))
		from = to
	}
}
