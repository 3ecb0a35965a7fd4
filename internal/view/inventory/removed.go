package inventory

import (
	"errors"
	"fmt"

	"plumb/internal/inventory"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Removal shows what is going to be removed, and what would be done first: ""
// when the thing is gone already.
func Removal(t inventory.Thing, first string, screen page.Screen) string {
	if first == "" {
		return one(t, screen, "It no longer exists: only its line in the inventory is dropped.")
	}
	return one(t, screen, "Begins with: "+first)
}

// Forgetting shows what is going to be forgotten.
func Forgetting(t inventory.Thing, screen page.Screen) string {
	return one(t, screen, "It stays where it is, and Plumb can no longer remove it.")
}

func one(t inventory.Thing, screen page.Screen, then string) string {
	p := page.NewPage(screen)
	row(p, "", t)
	if t.Life != nil {
		p.Para(page.Dim, kindWidth, life(t))
	}
	p.Para(page.Normal, kindWidth, then)
	return p.String()
}

// Swept says what happened to each thing that a sweep was to remove.
func Swept(all []inventory.Swept, screen page.Screen) string {
	p := page.NewPage(screen)
	gone, foreign, failed := 0, 0, 0
	for _, s := range all {
		what := "removed"
		switch {
		case s.Err == nil:
			gone++
		case errors.Is(s.Err, inventory.ErrForeign):
			foreign++
			what = "left alone: it is no longer the lab's"
		default:
			failed++
			what = "still there: " + s.Err.Error()
		}
		row(p, "", s.Thing, page.Keep(what))
	}
	if len(all) > 0 {
		p.Blank()
	}
	text := units.Count(gone, "thing") + " removed"
	if foreign > 0 {
		text += fmt.Sprintf(", %d left alone", foreign)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d still there: sweep again when nothing uses them any longer", failed)
	}
	p.Para(page.Normal, 0, text+".")
	return p.String()
}
