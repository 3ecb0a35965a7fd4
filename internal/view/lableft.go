package view

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"plumb/internal/lab/ledger"
	"plumb/internal/lab/made"
)

// LabLeft lists what labs have left behind on this machine.
func LabLeft(left []made.Left, screen Screen) string {
	p := newPage(screen)
	things := 0
	for _, l := range left {
		if l.Live {
			p.para(plain, 0, fmt.Sprintf("%s is still running: left alone, with %s.", l.Run, count(len(l.Things), "thing")))
			continue
		}
		things += len(l.Things)
		p.leftOf(l)
	}
	if things == 0 {
		p.line(plain, "No lab has left anything on this machine.")
	}
	return p.String()
}

func (p *page) leftOf(l made.Left) {
	p.line(bold, fmt.Sprintf("%s left %s", l.Run, count(len(l.Things), "thing")))
	for _, t := range l.Things {
		p.within(p.width, plain, "  "+columns(t.Kind, 9), plain, thingLeft(t))
	}
	p.within(p.width, dim, "  "+columns("book", 9), dim, l.Book)
}

// thingLeft names a thing with what proves that it is ours.
func thingLeft(t made.Thing) string {
	switch t.Kind {
	case made.Process:
		text := "PID " + t.Name
		if argv := strings.Fields(t.Proof["argv"]); len(argv) > 0 {
			text += ", " + filepath.Base(argv[0])
		}
		return text
	case made.Loop:
		if f := t.Proof["file"]; f != "" {
			return t.Name + " on " + f
		}
	case made.Mount:
		if s := t.Proof["source"]; s != "" {
			return t.Name + " from " + s
		}
	case made.Limit:
		if l := t.Proof["line"]; l != "" {
			return t.Name + ": " + l
		}
	case made.Sysctl:
		return fmt.Sprintf("%s = %s, was %s", t.Name, t.Proof["value"], t.Proof["before"])
	}
	return t.Name
}

// LabSwept says what became of each thing that a sweep was to take away.
func LabSwept(all []made.Swept, screen Screen) string {
	p := newPage(screen)
	gone, foreign, failed := 0, 0, 0
	for _, s := range all {
		what := "taken away"
		switch {
		case s.Err == nil:
			gone++
		case errors.Is(s.Err, made.ErrForeign):
			foreign++
			what = "left alone: it is not the lab's any more"
		default:
			failed++
			what = "still there: " + s.Err.Error()
		}
		p.within(p.width, plain, columns(s.Thing.Kind, 9), plain, thingLeft(s.Thing)+" · "+keep(what))
	}
	if len(all) > 0 {
		p.blank()
	}
	text := count(gone, "thing") + " taken away"
	if foreign > 0 {
		text += fmt.Sprintf(", %d left alone", foreign)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d still there: once what holds them has ended, sweep again", failed)
	}
	p.para(plain, 0, text+".")
	return p.String()
}

// LabExperiments lists the experiments of a ledger.
func LabExperiments(all []ledger.Summary, screen Screen) string {
	p := newPage(screen)
	if len(all) == 0 {
		p.line(plain, "The ledger holds no experiment.")
		return p.String()
	}
	first := len("experiment")
	for _, e := range all {
		first = max(first, width(e.Name))
	}
	first = min(first, 30) + 2
	row := func(name, hash, last, trials, valid string) string {
		return columns(atMost(name, first-2), first) + columns(hash, 10) + columns(last, 18) + right(trials, 6) + right(valid, 9)
	}
	p.line(dim, row("experiment", "hash", "last trial (UTC)", "trials", "counting"))
	for _, e := range all {
		last := "–"
		if !e.Last.IsZero() {
			last = e.Last.UTC().Format("2006-01-02 15:04")
		}
		p.line(plain, row(e.Name, shortHash(e.Hash), last, fmt.Sprint(e.Trials), fmt.Sprint(e.Valid)))
		if e.Question != "" {
			p.para(dim, 2, e.Question)
		}
	}
	return p.String()
}
