package fix

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/inventory"
	"plumb/internal/units"
)

// Leftover is one thing on a host that only Plumb can take back or away.
type Leftover struct {
	Text string // a line
	Busy bool   // Plumb itself still has work with it: it must not be removed now
}

// Leftovers lists the changes in force, what labs made, and what was made to
// live: without its line in the inventory nobody would know it for Plumb's. What
// cannot be read may be any of these, so it is on the list too.
func Leftovers(all []*change.Change, books []inventory.Left, unread error, now time.Time) []Leftover {
	var list []Leftover
	for _, c := range all {
		if c.Damage != nil || c.Open() {
			list = append(list, changeLeft(c, now))
		}
	}
	for _, b := range books {
		switch n := units.Count(len(b.Things), "thing"); {
		case b.Live:
			list = append(list, Leftover{fmt.Sprintf("lab %s is still running, with %s: let it end, or interrupt it", b.Run, n), true})
		case len(b.Things) > 0:
			list = append(list, Leftover{fmt.Sprintf("lab %s left %s: plumb lab sweep", b.Run, n), false})
		}
		for _, e := range b.Living {
			name := strings.ReplaceAll(e.Thing.Kind+" "+e.Thing.Name, "\n", "?")
			list = append(list, Leftover{fmt.Sprintf("%s is to be kept: plumb inventory remove %s, or plumb inventory forget %s", name, name, name), false})
		}
	}
	if unread != nil {
		list = append(list, Leftover{strings.ReplaceAll(unread.Error(), "\n", "; "), false})
	}
	return list
}

func changeLeft(c *change.Change, now time.Time) Leftover {
	name := fmt.Sprintf("change %d of %s", c.Number, units.Minute(c.At))
	switch {
	case c.Damage != nil:
		return Leftover{fmt.Sprintf("change %d may be in force: %s", c.Number, strings.ReplaceAll(c.Damage.Error(), "\n", "; ")), false}
	case !c.Try.IsZero() && !c.Confirmed && !c.Overdue(now):
		return Leftover{fmt.Sprintf("%s is on trial until %s: plumb confirm %d, or plumb undo %d", name, units.Moment(c.Try), c.Number, c.Number), true}
	}
	return Leftover{fmt.Sprintf("%s is in force: plumb undo %d", name, c.Number), false}
}
