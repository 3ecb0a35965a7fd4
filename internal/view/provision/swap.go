package provision

import (
	"fmt"

	"plumb/internal/change"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// Swap shows the way of a server to another release, and the way back.
func Swap(s provision.Stage, way product.Way, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Bold, 0, s.Name)
	o.Hang(page.Normal, "    how     ", way.How)
	o.Hang(page.Yellow, "    back    ", way.Back)
	for i, step := range way.Steps {
		o.Hang(page.Normal, fmt.Sprintf("    %-8d", i+1), step)
	}
	for _, step := range s.Steps {
		for _, a := range step.Recipe.Acts {
			showAct(o, a)
		}
	}
	for _, note := range s.Notes {
		o.Labelled(page.Dim, "    note    ", page.Normal, note)
	}
	return o.String()
}

// Swapped says what should follow.
func Swapped(server stack.Ref, number int, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Normal, 0, fmt.Sprintf("Done: change %d. plumb provision swap %s --back goes back, without what is written from now on.", number, server))
	o.Para(page.Normal, 0, "Next: vacuumdb --all --analyze-in-stages, as the server's user: it has no statistics of its tables yet.")
	return o.String()
}

// SwapBack says what going back costs.
func SwapBack(c *change.Change, lost string, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Normal, 0, fmt.Sprintf("Change %d (%s) is taken back.", c.Number, stageOf(c)))
	o.Para(page.Yellow, 0, "What that costs: "+lost+".")
	return o.String()
}
