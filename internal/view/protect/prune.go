package protect

import (
	"fmt"
	"strings"

	"plumb/internal/protect/keep"
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
		p.Para(page.Normal, 2, oneLine(sum(plan)))
	}
	return p.String()
}

// Fates shows what becomes of what one server has, and what stops it.
func Fates(p *page.Page, plan keep.Plan) {
	p.Line(page.Bold, oneLine(plan.Server.String()))
	for _, f := range plan.Fates {
		fate, ink := "stays", page.Dim
		if f.Goes {
			fate, ink = "goes", page.Normal
		}
		p.Within(p.Width, page.Normal, "  "+page.Columns(fate, 6)+page.Columns(f.Point.ID, idWidth)+page.Columns(string(f.Point.Label), labelWidth-3)+page.Right(bytesOf(f.Space), 10)+"  ",
			ink, oneLine(strings.Join(f.Why, "; ")))
	}
	for _, b := range plan.Brakes {
		p.Hang(page.Red, "  stopped: ", oneLine(b.Why))
		p.Hang(page.Dim, "           ", oneLine(b.Hint))
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

// Pruned says what a prune destroyed.
func Pruned(destroyed []string, screen page.Screen) string {
	p := page.NewPage(screen)
	for _, id := range destroyed {
		p.Line(page.Normal, "destroyed  "+id)
	}
	p.Para(page.Normal, 0, fmt.Sprintf("%s destroyed.", units.Count(len(destroyed), "point")))
	return p.String()
}
