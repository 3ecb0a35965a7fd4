package protect

import (
	"fmt"

	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Clones lists clones and how they are reached.
func Clones(all []clone.Clone, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(all) == 0 {
		p.Para(page.Normal, 0, "There is no clone on this host. plumb clone POINT makes one.")
		return p.String()
	}
	for i, c := range all {
		if i > 0 {
			p.Blank()
		}
		p.Line(page.Bold, c.Name+", "+c.Product+state(c))
		at := "socket in " + c.Run
		switch {
		case c.Purpose == protect.ForBrowse:
			at = "files below " + c.Dir + "/root, for root, read-only"
		case c.Port > 0:
			at = fmt.Sprintf("127.0.0.1:%d, and a %s", c.Port, at)
		}
		p.Hang(page.Normal, "  at      ", at)
		of := "point " + c.Point
		if protect.IsForeign(c.Point) {
			of = "snapshot " + c.Point + ", which others took"
		}
		p.Hang(page.Normal, "  of      ", of+", "+purpose(c))
		if protect.IsForeign(c.Point) && c.Purpose != protect.ForBrowse {
			p.Hang(page.Yellow, "  proof   ", "none: it was started as after a power cut; plumb drill of its point proves more")
		}
		if c.Follows != "" {
			ink := page.Normal
			if c.Astray {
				ink = page.Red
			}
			p.Hang(ink, "  replica ", c.Follows)
		}
		since := units.Moment(c.Since)
		runs := c.State == clone.Made && c.Purpose != protect.ForBrowse
		if runs {
			since += "; it answered after " + span(c.Ready)
		}
		p.Hang(page.Dim, "  since   ", since)
		if runs {
			limitRows(p, "          ", c.Limits)
		}
	}
	return p.String()
}

func state(c clone.Clone) string {
	switch c.State {
	case clone.Making:
		return ": not complete; it is being made, or a killed run left it"
	case clone.Refreshing:
		return ": gone, and being made anew, or a killed run left it: refresh it again, or drop it"
	case clone.Ended:
		if c.Purpose == protect.ForBrowse {
			return ": its files are no longer mounted; refresh it, or drop it"
		}
		return ": its server no longer runs; refresh it, or drop it"
	case clone.Dropping:
		return ": being dropped, or a killed run left it"
	}
	return ""
}

func purpose(c clone.Clone) string {
	switch {
	case c.Purpose == protect.ForReplica:
		return "a replica of its source"
	case c.Purpose == protect.ForBrowse:
		return "with no server"
	case len(c.Masks) > 0:
		return fmt.Sprintf("a server of its own, after %s of a mask", units.Count(len(c.Masks), "statement"))
	}
	return "a server of its own"
}
