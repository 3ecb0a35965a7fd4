package view

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/change"
)

// History lists changes, the newest last, with the state of each.
func History(all []*change.Change, now time.Time, s Screen) string {
	p := newPage(s)
	if len(all) == 0 {
		p.line(plain, "Plumb has changed nothing on this host.")
		return p.String()
	}
	by, on := len("by"), len("host")
	for _, c := range all {
		by, on = max(by, width(c.User)), max(on, width(c.Host))
	}
	row := func(no, when, who, host, steps string) string {
		return fmt.Sprintf("%4s  %-16s  ", no, when) + columns(who, by+1) + " " + columns(host, on+1) + fmt.Sprintf(" %5s  ", steps)
	}
	p.line(dim, row("no", "when (UTC)", "by", "host", "steps")+"state")
	for _, c := range all {
		if c.Damage != nil {
			p.within(p.width, plain, row(fmt.Sprint(c.Number), "-", "-", "-", "-"), yellow, "its journal cannot be read")
			continue
		}
		p.within(p.width, plain, row(fmt.Sprint(c.Number), c.At.UTC().Format("2006-01-02 15:04"), c.User, c.Host, fmt.Sprint(len(c.Steps))), plain, changeState(c, now))
	}
	return p.String()
}

// changeWord is the state of a change as documents name it.
func changeWord(c *change.Change, now time.Time) string {
	open, torn := stillOpen(c)
	switch {
	case c.Damage != nil:
		return "damaged"
	case len(c.Acts) == 0:
		return "nothing done"
	case open == 0:
		return "undone"
	case c.Overdue(now):
		return "overdue"
	case !c.Try.IsZero() && !c.Confirmed:
		return "try"
	case torn || !c.Ended:
		return "interrupted"
	case open < len(c.Acts):
		return "partly undone"
	}
	return "applied"
}

// stillOpen counts the acts that may be in force, and tells whether one of
// them was broken off.
func stillOpen(c *change.Change) (open int, torn bool) {
	for _, a := range c.Acts {
		switch a.State {
		case change.Begun, change.Undoing, change.Failed:
			torn = true
			open++
		case change.Done:
			open++
		}
	}
	return open, torn
}

// changeState says in a few words what is in force of a change.
func changeState(c *change.Change, now time.Time) string {
	word := changeWord(c, now)
	switch word {
	case "overdue":
		return "not confirmed in time, in force"
	case "try":
		return "try until " + c.Try.UTC().Format("15:04:05")
	case "partly undone":
		open, _ := stillOpen(c)
		return fmt.Sprintf("partly undone (%d of %s in force)", open, count(len(c.Acts), "act"))
	}
	return word
}

// HistoryOf shows every act of one change.
func HistoryOf(c *change.Change, now time.Time, s Screen) string {
	p := newPage(s)
	if c.Damage != nil {
		p.para(bold, 0, fmt.Sprintf("Change %d · its journal cannot be read", c.Number))
		p.para(plain, 0, c.Damage.Error())
		return p.String()
	}
	p.para(bold, 0, fmt.Sprintf("Change %d · %s", c.Number, changeState(c, now)))
	p.para(dim, 0, fmt.Sprintf("%s · by %s on %s · plumb %s", c.At.UTC().Format("2006-01-02 15:04:05 UTC"), c.User, c.Host, c.Plumb))
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
	for i, r := range c.Restarts {
		if i == 0 {
			p.blank()
		}
		p.hang(plain, "    restart ", restartLine(r))
	}
	if c.Open() {
		p.blank()
		p.para(dim, 0, nextOf(c))
	}
	return p.String()
}

// nextOf says what can be done with a change that is in force.
func nextOf(c *change.Change) string {
	text := fmt.Sprintf("plumb undo %d takes it back.", c.Number)
	if !c.Try.IsZero() && !c.Confirmed {
		text = fmt.Sprintf("plumb confirm %d keeps it; ", c.Number) + text
	}
	return text
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
	return stateText(a.Made.Before) + " -> " + stateText(to)
}

// stateText shows a state: what is not there is not set, so that what lies
// above or the default counts.
func stateText(s string) string {
	if s == change.None {
		return "not set"
	}
	return s
}

// lines shows the lines of a file in one.
func lines(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "nothing"
	}
	return `"` + strings.ReplaceAll(text, "\n", `" "`) + `"`
}
