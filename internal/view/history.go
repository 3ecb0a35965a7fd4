package view

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/change"
)

// Undone is one act that an undo tried to take back.
type Undone struct {
	Change int
	Past   change.Past
	Err    error
}

// History lists changes, the newest last, with the state of each.
func History(all []*change.Change, now time.Time, s Screen) string {
	p := newPage(s)
	if len(all) == 0 {
		p.line(plain, "Plumb has changed nothing on this host.")
		return p.String()
	}
	p.line(dim, fmt.Sprintf("%4s  %-17s %-10s %5s  %s", "no", "when (UTC)", "by", "steps", "state"))
	for _, c := range all {
		p.line(plain, fmt.Sprintf("%4d  %-17s %-10s %5d  %s", c.Number, c.At.UTC().Format("2006-01-02 15:04"), c.User, len(c.Steps), changeState(c, now)))
	}
	return p.String()
}

// changeState says in a few words what is in force of a change.
func changeState(c *change.Change, now time.Time) string {
	open, failed := 0, 0
	for _, a := range c.Acts {
		switch a.State {
		case change.Begun, change.Undoing, change.Failed:
			failed++
			open++
		case change.Done:
			open++
		}
	}
	switch {
	case len(c.Acts) == 0:
		return "nothing was done"
	case open == 0:
		return "undone"
	case c.Overdue(now):
		return "not confirmed in time, and still in force: plumb undo takes it back"
	case !c.Try.IsZero() && !c.Confirmed:
		return fmt.Sprintf("undone at %s unless confirmed", c.Try.Format("15:04:05 UTC"))
	case failed > 0 || !c.Ended:
		return "interrupted: plumb undo takes back what was begun"
	case open < len(c.Acts):
		return fmt.Sprintf("partly undone: %d of %d acts are in force", open, len(c.Acts))
	}
	return "applied"
}

// HistoryOf shows every act of one change.
func HistoryOf(c *change.Change, now time.Time, s Screen) string {
	p := newPage(s)
	p.para(bold, 0, fmt.Sprintf("Change %d · %s · by %s · plumb %s · %s", c.Number, c.At.UTC().Format("2006-01-02 15:04:05 UTC"), c.User, c.Plumb, changeState(c, now)))
	for i, step := range c.Steps {
		p.blank()
		p.labelled(bold, fmt.Sprintf("%2d  ", i+1), plain, fmt.Sprintf("%s = %s", step.Knob, step.To))
		if step.Because != "" {
			p.para(dim, 4, step.Because)
		}
		none := true
		for _, a := range c.Acts {
			if a.Step == i {
				p.past(a)
				none = false
			}
		}
		if none {
			p.para(dim, 4, "nothing was done for it")
		}
	}
	return p.String()
}

// past shows one act: its place, the values, and its state.
func (p *page) past(a change.Past) {
	p.hang(plain, "    "+fmt.Sprintf("%-8s", string(a.State)), a.Act.Place()+": "+pastValues(a))
	if a.Why != "" {
		p.para(dim, 12, a.Why)
	}
}

// pastValues says from what to what an act went.
func pastValues(a change.Past) string {
	if e := a.Act.Edit; e != nil {
		if a.Made.New {
			return "new file, " + e.Value
		}
		if a.Made.Splice == nil {
			return e.Value
		}
		return lines(string(a.Made.Splice.Old)) + " -> " + lines(string(a.Made.Splice.New))
	}
	to := a.Act.Switch.After
	if a.Got != "" {
		to = a.Got
	}
	return a.Made.Before + " -> " + to
}

// lines shows the lines of a file in one.
func lines(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "nothing"
	}
	return `"` + strings.ReplaceAll(text, "\n", `" "`) + `"`
}

// UndoPlan shows what an undo would take back.
func UndoPlan(todo []*change.Change, s Screen) string {
	p := newPage(s)
	for _, c := range todo {
		p.para(bold, 0, fmt.Sprintf("Change %d of %s:", c.Number, c.At.UTC().Format("2006-01-02 15:04 UTC")))
		for i := len(c.Acts) - 1; i >= 0; i-- {
			a := c.Acts[i]
			if a.State == change.Undone || a.State == change.Left {
				continue
			}
			p.hang(plain, "    ", a.Act.Place()+": "+backValues(a))
		}
	}
	p.blank()
	return p.String()
}

// backValues says from what to what an undo goes.
func backValues(a change.Past) string {
	if e := a.Act.Edit; e != nil {
		if a.Made.New {
			return "remove it"
		}
		if a.Made.Splice == nil || strings.TrimSpace(string(a.Made.Splice.Old)) == "" {
			return "remove the line"
		}
		return "back to " + lines(string(a.Made.Splice.Old))
	}
	return "back to " + a.Made.Before
}

// UndoOutcome shows what was taken back.
func UndoOutcome(trail []Undone, s Screen) string {
	p := newPage(s)
	done, left, failed := 0, 0, 0
	for _, u := range trail {
		switch {
		case u.Err != nil:
			failed++
			p.hang(yellow, "not undone  ", u.Past.Act.Place()+": "+u.Err.Error())
		case u.Past.State == change.Left:
			left++
			p.hang(plain, "left        ", u.Past.Act.Place()+": "+u.Past.Why)
		default:
			done++
		}
	}
	text := fmt.Sprintf("%s taken back", count(done, "act"))
	if left > 0 {
		text += fmt.Sprintf(" · %d left as others set them", left)
	}
	if failed > 0 {
		text += fmt.Sprintf(" · %d could not be undone: plumb undo tries them again", failed)
	}
	p.line(plain, text)
	return p.String()
}
