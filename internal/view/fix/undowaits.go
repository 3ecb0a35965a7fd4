package fix

import (
	"fmt"
	"slices"

	"plumb/internal/change"
	"plumb/internal/view/page"
)

// UndoWaits says of what was taken back that it is in force only after a
// restart, if one has brought the new value in.
func UndoWaits(undone []*change.Change, s page.Screen) string {
	p := page.NewPage(s)
	for _, c := range undone {
		for _, step := range c.Steps {
			i := slices.IndexFunc(c.Restarts, func(r change.Restart) bool { return r.What == step.Waits })
			switch {
			case step.Waits == "", i >= 0 && c.Restarts[i].Back:
			case i >= 0:
				p.Hang(page.Normal, "waits       ", fmt.Sprintf("%s: the old value returns with %s; plumb undo %d --restart does it", step.Knob, step.Waits, c.Number))
			default:
				p.Hang(page.Normal, "waits       ", fmt.Sprintf("%s: if it was restarted since, the old value returns with %s", step.Knob, step.Waits))
			}
		}
	}
	return p.String()
}
