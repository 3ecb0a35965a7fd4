package provision

import (
	"fmt"

	"plumb/internal/change"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/provision/rehearsal"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Swap shows the way of a server to another release, and the way back.
// first is what is done before, and tried tells that the new version is tried on a copy then.
func Swap(first, s provision.Stage, way product.Way, tried bool, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Bold, 0, s.Name)
	o.Hang(page.Normal, "    how     ", way.How)
	o.Hang(page.Yellow, "    back    ", way.Back)
	for i, step := range way.Steps {
		o.Hang(page.Normal, fmt.Sprintf("    %-8d", i+1), step)
	}
	acts := func(steps []change.Prepared) {
		for _, step := range steps {
			for _, a := range step.Recipe.Acts {
				showAct(o, a)
			}
		}
	}
	acts(first.Steps)
	if tried {
		o.Hang(page.Normal, "    try     ", "a point is taken; on a copy of it the old server computes checksums of all tables, the data are upgraded, and the new server checks the tables and computes the checksums again: if anything differs, the swap ends without having touched the server")
	}
	acts(s.Steps)
	for _, note := range s.Notes {
		o.Labelled(page.Dim, "    note    ", page.Normal, note)
	}
	return o.String()
}

// Rehearsed says what came of trying the new version on a copy.
func Rehearsed(to product.Release, p protect.Point, r rehearsal.Result, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Normal, 0, fmt.Sprintf("%s was tried on a copy of point %s in %s: the checksums of %s are the same.", to, p.ID, units.Span(r.Took), units.Count(r.Tables, "table")))
	o.Para(page.Normal, 0, fmt.Sprintf("Of that, upgrading the data and the first start took %s, measured once, at the lowest priority: they will take about as long while the server is stopped.", units.Span(r.Upgrade)))
	for _, c := range r.Checks {
		o.Para(page.Normal, 4, c.What+": nothing is wrong")
	}
	for _, note := range r.Notes {
		o.Labelled(page.Yellow, "    note    ", page.Normal, note)
	}
	return o.String()
}

// Swapped says what should follow; next is "" for nothing.
func Swapped(server stack.Ref, number int, next string, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Normal, 0, fmt.Sprintf("Done: change %d. plumb provision swap %s --undo goes back, but loses what is written from now on.", number, server))
	if next != "" {
		o.Para(page.Normal, 0, "Next: "+next+".")
	}
	return o.String()
}

// Lost says what going back loses. unseen is why that is not known.
func Lost(n provision.Lost, unseen error) string {
	if unseen != nil {
		return "what was written since is lost, and how much that is is not known: " + unseen.Error()
	}
	to := ""
	if n.In != "" {
		to = " to " + n.In
	}
	text := fmt.Sprintf("at most %s written%s since, the server's own among them", units.Counted(n.Transactions, "transaction", "has", "have"), to)
	if n.Logged != nil {
		text += fmt.Sprintf(", and its binary log has %d", *n.Logged)
	}
	text += ": they are lost"
	if n.But != "" {
		text += ", and with them, not counted, " + n.But
	}
	return text
}

// SwapBack says what going back costs.
func SwapBack(c *change.Change, lost string, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Normal, 0, fmt.Sprintf("Change %d (%s) is taken back.", c.Number, stageOf(c)))
	o.Para(page.Yellow, 0, "What that costs: "+lost+".")
	return o.String()
}
