package inventory

import (
	"fmt"
	"path/filepath"
	"strings"

	"plumb/internal/inventory"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// kindWidth is the column of the names of kinds.
const kindWidth = 9

// Text lists all that Plumb has left on a host, as the books of a directory have it: what is meant to live, what
// runs that ended without taking it away left, and what runs use. unread is the error of books that cannot be read.
func Text(directory string, left []inventory.Left, unread error, screen page.Screen) string {
	p := page.NewPage(screen)
	shown := living(p, left)
	var next []string
	if shown {
		next = append(next, "plumb inventory remove KIND NAME removes what is to be kept.")
	}
	dead := false
	for _, l := range left {
		if !l.Live && len(l.Things) == 0 {
			continue
		}
		if shown {
			p.Blank()
		}
		leftOf(p, l)
		shown, dead = true, dead || !l.Live
	}
	switch {
	case !shown && unread != nil:
		p.Para(page.Normal, 0, "Whether anything that Plumb made is left is not known: not all of "+directory+" can be read.")
	case !shown:
		p.Para(page.Normal, 0, "Nothing that Plumb made is left, by what is recorded in "+directory+".")
	}
	if dead {
		next = append(next, "plumb lab sweep removes what was left; plumb inventory adopt KIND NAME keeps a part of it.")
	}
	for i, sentence := range next {
		if i == 0 {
			p.Blank()
		}
		p.Para(page.Dim, 0, sentence)
	}
	return p.String()
}

// living lists what is meant to live, and tells whether anything is.
func living(p *page.Page, left []inventory.Left) (any bool) {
	for _, l := range left {
		for _, e := range l.Living {
			if !any {
				p.Line(page.Bold, "To be kept")
			}
			any = true
			row(p, "  ", e.Thing)
			p.Para(page.Dim, kindWidth+2, life(e.Thing))
		}
	}
	return any
}

// row writes the kind of a thing, and the thing.
func row(p *page.Page, head string, t inventory.Thing, what ...string) {
	p.Within(p.Width, page.Normal, head+page.Columns(t.Kind, kindWidth), page.Normal, strings.Join(append([]string{thing(t)}, what...), " · "))
}

// life says since when a thing lives, by whom and what for.
func life(t inventory.Thing) string {
	text := "since " + t.Life.Since.UTC().Format("2006-01-02")
	if t.Life.Owner != "" {
		text += ", by plumb " + t.Life.Owner
	}
	if t.Life.Purpose != "" {
		text += ": " + t.Life.Purpose
	}
	return text
}

// Dead lists what labs have left that goes with the next sweep.
func Dead(directory string, left []inventory.Left, unread error, screen page.Screen) string {
	p := page.NewPage(screen)
	things := 0
	for _, l := range left {
		if !l.Live {
			things += len(l.Things)
		}
		if l.Live || len(l.Things) > 0 {
			leftOf(p, l)
		}
	}
	switch {
	case things == 0 && unread != nil:
		p.Para(page.Normal, 0, "Whether a lab has left anything is not known: not all of "+directory+" can be read.")
	case things == 0:
		p.Para(page.Normal, 0, "No lab has left anything, by what is recorded in "+directory+".")
	}
	return p.String()
}

func leftOf(p *page.Page, l inventory.Left) {
	if l.Live {
		p.Para(page.Normal, 0, fmt.Sprintf("%s is still running: left alone, with %s.", l.Run, units.Count(len(l.Things), "thing")))
		return
	}
	p.Line(page.Bold, fmt.Sprintf("%s left %s", l.Run, units.Count(len(l.Things), "thing")))
	for _, t := range l.Things {
		row(p, "  ", t)
	}
	p.Within(p.Width, page.Dim, "  "+page.Columns("book", kindWidth), page.Dim, l.Book)
}

// thing names a thing with what proves that it is ours.
func thing(t inventory.Thing) string {
	switch t.Kind {
	case inventory.Process:
		text := "PID " + t.Name
		if argv := strings.Fields(t.Proof["argv"]); len(argv) > 0 {
			text += ", " + filepath.Base(argv[0])
		}
		return text
	case inventory.Loop:
		if f := t.Proof["file"]; f != "" {
			return t.Name + " on " + f
		}
	case inventory.Mount:
		if s := t.Proof["source"]; s != "" {
			return t.Name + " from " + s
		}
	case inventory.Limit:
		if l := t.Proof["line"]; l != "" {
			return t.Name + ": " + l
		}
	case inventory.Sysctl:
		return fmt.Sprintf("%s = %s, was %s", t.Name, t.Proof["value"], t.Proof["before"])
	}
	return t.Name
}
