package protect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/prune"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Prune shows what becomes of each point and why, and what stops a prune.
func Prune(plans []keep.Plan, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(plans) == 0 {
		p.Para(page.Normal, 0, "There is no point on this host.")
	}
	for i, plan := range plans {
		if i > 0 {
			p.Blank()
		}
		Fates(p, plan)
		p.Para(page.Normal, 2, sum(plan))
	}
	if slices.ContainsFunc(plans, func(plan keep.Plan) bool { return slices.ContainsFunc(plan.Going(), forgets) }) {
		p.Para(page.Normal, 2, "What was not destroyed is no longer on any list of Plumb. If its storage comes back, it is still there, takes space, and must be removed by hand.")
	}
	return p.String()
}

func forgets(f keep.Fate) bool { return len(f.Point.Leaves()) > 0 }

// Fates shows what becomes of what one server has, and what stops it.
func Fates(p *page.Page, plan keep.Plan) {
	p.Line(page.Bold, plan.Server.String())
	for _, f := range plan.Fates {
		fate, ink := "stays", page.Dim
		if f.Goes {
			fate, ink = "goes", page.Normal
		}
		label := string(f.Point.Label)
		if f.Record() {
			label = gone
		}
		p.Within(p.Width, page.Normal, "  "+page.Columns(fate, 6)+page.Columns(f.Point.ID, idWidth)+page.Columns(label, labelWidth-3)+page.Right(bytesOf(f.Space), 10)+"  ",
			ink, strings.Join(f.Why, "; "))
		for _, m := range f.Point.Leaves() {
			p.Hang(page.Normal, "        not destroyed: ", leftName(m)+": "+m.Left)
		}
	}
	for _, b := range plan.Brakes {
		p.Hang(page.Red, "  stopped: ", b.Why)
		p.Hang(page.Dim, "           ", b.Hint)
	}
}

// sum says how many points would go, and what that frees at least.
func sum(plan keep.Plan) string {
	text := plan.Summary()
	going := plan.Going()
	if len(going) == 0 {
		return text + "."
	}
	if free, known := keep.Space(going); known {
		return text + ", which frees " + units.Measured(float64(free)) + " or more."
	}
	return text + "."
}

// leftName names a snapshot, or of one that may never have been made its volume.
func leftName(m protect.Member) string { return cmp.Or(m.Snapshot, m.Name) }

// Pruned says what a prune destroyed, and what it only forgot.
func Pruned(done []prune.Outcome, screen page.Screen) string {
	p := page.NewPage(screen)
	destroyed, dropped, forgotten := came(done)
	for _, id := range destroyed {
		p.Line(page.Normal, "destroyed  "+id)
	}
	for _, id := range dropped {
		p.Line(page.Normal, "dropped    "+id)
	}
	for _, id := range forgotten {
		p.Line(page.Normal, "forgotten  "+id)
	}
	if len(destroyed) > 0 || len(dropped)+len(forgotten) == 0 {
		p.Para(page.Normal, 0, fmt.Sprintf("%s destroyed.", units.Count(len(destroyed), "point")))
	}
	if len(dropped) > 0 {
		p.Para(page.Normal, 0, fmt.Sprintf("%s dropped, of which only the record was left.", units.Count(len(dropped), "point")))
	}
	if len(forgotten) > 0 {
		p.Para(page.Normal, 0, fmt.Sprintf("%s forgotten. What did not answer is not destroyed.", units.Count(len(forgotten), "point")))
	}
	return p.String()
}

// came tells the points that went with all their snapshots from those that had none any more, and those of which some were left.
func came(done []prune.Outcome) (destroyed, dropped, forgotten []string) {
	for _, o := range done {
		switch {
		case !o.Gone:
		case len(o.Left) > 0:
			forgotten = append(forgotten, o.Point)
		case o.Ended:
			dropped = append(dropped, o.Point)
		default:
			destroyed = append(destroyed, o.Point)
		}
	}
	return destroyed, dropped, forgotten
}
