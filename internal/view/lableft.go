package view

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"plumb/internal/lab/made"
)

// LabLeft lists what labs have left behind on this machine and, once it was
// swept, what became of each thing. swept is nil when nothing was taken away.
func LabLeft(left []made.Left, swept []made.Swept, screen Screen) string {
	p := newPage(screen)
	live, dead := 0, 0
	for _, l := range left {
		if l.Live {
			live++
			p.hang(plain, "", fmt.Sprintf("%s is still running and was left alone: %s.", l.Run, count(len(l.Things), "thing")))
			continue
		}
		dead++
		if swept == nil {
			p.leftOf(l)
		}
	}
	if swept != nil {
		p.swept(swept)
		return p.String()
	}
	if dead == 0 {
		p.line(plain, "No lab has left anything on this machine.")
		return p.String()
	}
	p.blank()
	p.para(plain, 0, "plumb lab sweep takes these away, and nothing else.")
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

func (p *page) swept(all []made.Swept) {
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
	if len(all) == 0 {
		p.line(plain, "No lab has left anything on this machine.")
		return
	}
	p.blank()
	text := count(gone, "thing") + " taken away"
	if foreign > 0 {
		text += fmt.Sprintf(", %d left alone", foreign)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d still there: once what holds them has ended, sweep again", failed)
	}
	p.para(plain, 0, text)
}

// LabEntry is one experiment of a ledger.
type LabEntry struct {
	Name, Hash, Question string
	Arms, Blocks         int // of the experiment; blocks that are done
	Trials, Valid        int
	Last                 time.Time // when the last trial ended
	Complete             bool
	Answer               string
}

// LabExperiments lists the experiments of a ledger.
func LabExperiments(all []LabEntry, screen Screen) string {
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
	row := func(name, hash, last, arms, blocks, trials, state string) string {
		return columns(atMost(name, first-2), first) + columns(atMost(hash, 8), 10) + columns(last, 18) + right(arms, 4) + right(blocks, 8) + right(trials, 8) + "  " + state
	}
	p.line(dim, row("experiment", "hash", "last trial (UTC)", "arms", "blocks", "trials", ""))
	for _, e := range all {
		last, state := "–", "open"
		if !e.Last.IsZero() {
			last = e.Last.UTC().Format("2006-01-02 15:04")
		}
		if e.Complete {
			state = "complete"
		}
		if bad := e.Trials - e.Valid; bad > 0 {
			state += fmt.Sprintf(", %d not counted", bad)
		}
		p.line(plain, row(e.Name, shortHash(e.Hash), last, fmt.Sprint(e.Arms), fmt.Sprint(e.Blocks), fmt.Sprint(e.Trials), state))
		if e.Answer != "" {
			p.para(dim, 2, e.Answer)
		}
	}
	return p.String()
}

func shortHash(h string) string { return h[:min(8, len(h))] }
