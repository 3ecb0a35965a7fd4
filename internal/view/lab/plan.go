package lab

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// PlanInput is what a dry run knows of an experiment.
type PlanInput struct {
	Experiment  experiment.Experiment
	Trials      []experiment.Trial // that are still to be done, in order
	Layouts     int                // data sets that are made once and then copied
	Least, Most time.Duration      // how long it takes, by the fewest and the most blocks; 0 when unknown
	Needs       []string           // of this machine, one sentence each
}

// PlanOf is what is known of an experiment before anything is made.
func PlanOf(x experiment.Experiment, needs []string) PlanInput {
	times := experiment.Estimate(x)
	return PlanInput{Experiment: x, Trials: experiment.All(x), Layouts: len(experiment.Layouts(x)), Least: times.Least, Most: times.Most, Needs: needs}
}

// Plan shows what an experiment would do, without anything having been made.
func Plan(in PlanInput, screen page.Screen) string {
	p := page.NewPage(screen)
	x := in.Experiment
	p.Para(page.Bold, 0, x.Name)
	if x.Question != "" {
		p.Para(page.Normal, 0, x.Question)
	}
	p.Blank()
	p.Hang(page.Normal, "design   ", DesignText(x))
	p.Hang(page.Normal, "trials   ", trialsText(in))
	p.Hang(page.Normal, "takes    ", PlanTime(in))
	p.List(page.Normal, "needs    ", in.Needs)
	planArms(p, x)
	planBlocks(p, in.Trials)
	p.Blank()
	p.Para(page.Dim, 0, "Nothing was made or changed.")
	return p.String()
}

// DesignText says how trials are spread over time and when that ends.
func DesignText(x experiment.Experiment) string {
	n := fmt.Sprintf("%d to %d blocks", x.Least, x.Most)
	if x.Least == x.Most {
		n = units.Count(x.Most, "block")
	}
	text := "randomised blocks: each of " + n + " holds every arm once, in random order, on fresh data"
	if x.Design == experiment.ABBA {
		text = "switched: in each of " + n + " one running server goes there and back between the two arms (A B B A)"
	}
	if x.Design == experiment.Interleaved {
		turns, each := experiment.Turns(x)
		text = fmt.Sprintf("interleaved: in each of %s the servers of all arms are up at once, on fresh data, and take %s of %s; the others are suspended", n, units.Count(turns, "turn"), units.Span(each))
	}
	if x.Until > 0 {
		text += fmt.Sprintf("; ends once every comparison is known to ±%s", units.RoundPercent(x.Until))
	}
	if x.Decided {
		text += "; ends once every comparison is decided"
	}
	if x.Budget > 0 {
		text += "; begins no block that would end after " + units.Planned(x.Budget)
	}
	return text
}

func trialsText(in PlanInput) string {
	x := in.Experiment
	each := units.Span(x.Measure) + " measured"
	if x.Warmup > 0 {
		each += " after " + units.Span(x.Warmup) + " of warm-up"
	}
	text := fmt.Sprintf("%s of %s at most, each with %s", units.Count(len(in.Trials), "trial"), units.Count(len(x.Arms), "arm"), each)
	if in.Layouts > 0 {
		text += "; " + units.Count(in.Layouts, "data set") + " made once and copied"
	}
	return text
}

// PlanTime says how long an experiment takes.
func PlanTime(in PlanInput) string {
	switch {
	case in.Most <= 0:
		return "not known"
	case in.Least <= 0 || in.Least == in.Most:
		return "about " + units.Planned(in.Most)
	}
	return fmt.Sprintf("about %s to %s, by when it can stop", units.Planned(in.Least), units.Planned(in.Most))
}

// planArms shows what the arms have in common once, and what sets each apart.
func planArms(p *page.Page, x experiment.Experiment) {
	s := setupsOf(x.Arms)
	p.Blank()
	p.Line(page.Dim, "In all arms")
	wide := 0
	for _, c := range s.common {
		wide = max(wide, page.Width(c.Path))
	}
	for _, c := range s.common {
		p.Hang(page.Normal, "  "+page.Columns(c.Path, min(wide, 48)+2), c.Value)
	}
	p.Blank()
	p.Line(page.Dim, "Arms")
	first := 0
	for _, a := range x.Arms {
		first = max(first, page.Width(a.Name))
	}
	first = min(first, p.Width/3) + 4
	for i, a := range x.Arms {
		var own []string
		for _, path := range s.differ {
			own = append(own, path+" "+cmp.Or(s.of[i][path], "not set"))
		}
		p.Within(p.Width, page.Normal, page.Columns("  "+page.Cut(a.Name, first-4), first), page.Normal, cmp.Or(strings.Join(own, " · "), "as in all arms"))
	}
}

// planBlocks lists the trials in their order, a block on a line.
func planBlocks(p *page.Page, trials []experiment.Trial) {
	if len(trials) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Dim, "Order")
	for from := 0; from < len(trials); {
		to := from
		var arms []string
		for ; to < len(trials) && trials[to].Block == trials[from].Block; to++ {
			arms = append(arms, trials[to].Arm)
		}
		p.Within(p.Width, page.Normal, fmt.Sprintf("  block %-3d ", trials[from].Block), page.Normal, strings.Join(arms, " · "))
		from = to
	}
}
