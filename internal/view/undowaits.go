package view

import (
	"fmt"

	"plumb/internal/change"
)

// UndoWaits says of what was taken back that it is in force only after a
// restart, if one has brought the new value in.
func UndoWaits(undone []*change.Change, s Screen) string {
	p := newPage(s)
	for _, c := range undone {
		for _, step := range c.Steps {
			if step.Waits != "" {
				p.hang(plain, "waits       ", fmt.Sprintf("%s: if it was restarted since, the old value comes back with %s", step.Knob, step.Waits))
			}
		}
	}
	return p.String()
}
