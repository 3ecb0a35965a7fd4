package lab

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"plumb/internal/inventory"
	"plumb/internal/lab/ledger"
	"plumb/internal/view/page"
)

// Left lists what labs have left behind on this machine.
func Left(left []inventory.Left, screen page.Screen) string {
	p := page.NewPage(screen)
	things := 0
	for _, l := range left {
		if l.Live {
			p.Para(page.Normal, 0, fmt.Sprintf("%s is still running: left alone, with %s.", l.Run, page.Count(len(l.Things), "thing")))
			continue
		}
		things += len(l.Things)
		leftOf(p, l)
	}
	if things == 0 {
		p.Line(page.Normal, "No lab has left anything on this machine.")
	}
	return p.String()
}

func leftOf(p *page.Page, l inventory.Left) {
	p.Line(page.Bold, fmt.Sprintf("%s left %s", l.Run, page.Count(len(l.Things), "thing")))
	for _, t := range l.Things {
		p.Within(p.Width, page.Normal, "  "+page.Columns(t.Kind, 9), page.Normal, thingLeft(t))
	}
	p.Within(p.Width, page.Dim, "  "+page.Columns("book", 9), page.Dim, l.Book)
}

// thingLeft names a thing with what proves that it is ours.
func thingLeft(t inventory.Thing) string {
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

// Swept says what became of each thing that a sweep was to take away.
func Swept(all []inventory.Swept, screen page.Screen) string {
	p := page.NewPage(screen)
	gone, foreign, failed := 0, 0, 0
	for _, s := range all {
		what := "taken away"
		switch {
		case s.Err == nil:
			gone++
		case errors.Is(s.Err, inventory.ErrForeign):
			foreign++
			what = "left alone: it is not the lab's any more"
		default:
			failed++
			what = "still there: " + s.Err.Error()
		}
		p.Within(p.Width, page.Normal, page.Columns(s.Thing.Kind, 9), page.Normal, thingLeft(s.Thing)+" · "+page.Keep(what))
	}
	if len(all) > 0 {
		p.Blank()
	}
	text := page.Count(gone, "thing") + " taken away"
	if foreign > 0 {
		text += fmt.Sprintf(", %d left alone", foreign)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d still there: once what holds them has ended, sweep again", failed)
	}
	p.Para(page.Normal, 0, text+".")
	return p.String()
}

// Experiments lists the experiments of a ledger.
func Experiments(all []ledger.Summary, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(all) == 0 {
		p.Line(page.Normal, "The ledger holds no experiment.")
		return p.String()
	}
	first := len("experiment")
	for _, e := range all {
		first = max(first, page.Width(e.Name))
	}
	first = min(first, 30) + 2
	row := func(name, hash, last, trials, valid string) string {
		return page.Columns(atMost(name, first-2), first) + page.Columns(hash, 10) + page.Columns(last, 18) + page.Right(trials, 6) + page.Right(valid, 9)
	}
	p.Line(page.Dim, row("experiment", "hash", "last trial (UTC)", "trials", "counting"))
	for _, e := range all {
		last := "–"
		if !e.Last.IsZero() {
			last = e.Last.UTC().Format("2006-01-02 15:04")
		}
		p.Line(page.Normal, row(e.Name, page.ShortHash(e.Hash), last, fmt.Sprint(e.Trials), fmt.Sprint(e.Valid)))
		if e.Question != "" {
			p.Para(page.Dim, 2, e.Question)
		}
	}
	return p.String()
}
