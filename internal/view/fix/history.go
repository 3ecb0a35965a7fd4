package fix

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// History lists changes, the newest last, with the state of each.
func History(all []*change.Change, now time.Time, s page.Screen) string {
	p := page.NewPage(s)
	by, on := len("by"), len("host")
	for _, c := range all {
		by, on = max(by, page.Width(c.User)), max(on, page.Width(c.Host))
	}
	row := func(no, when, who, host, steps string) string {
		return fmt.Sprintf("%4s  %-16s  ", no, when) + page.Columns(who, by+1) + " " + page.Columns(host, on+1) + fmt.Sprintf(" %5s  ", steps)
	}
	p.Line(page.Dim, row("no", "when (UTC)", "by", "host", "steps")+"state")
	for _, c := range all {
		if c.Damage != nil {
			p.Within(p.Width, page.Normal, row(fmt.Sprint(c.Number), "-", "-", "-", "-"), page.Yellow, "its journal cannot be read")
			continue
		}
		p.Within(p.Width, page.Normal, row(fmt.Sprint(c.Number), c.At.UTC().Format("2006-01-02 15:04"), c.User, c.Host, fmt.Sprint(len(c.Steps))), page.Normal, State(c, now))
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
	case open == 0 && c.Forgotten() > 0:
		return "forgotten"
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

// State says in a few words what is in force of a change.
func State(c *change.Change, now time.Time) string {
	word := changeWord(c, now)
	switch word {
	case "overdue":
		return "not confirmed in time, in force"
	case "try":
		if c.Try.Sub(now) >= 12*time.Hour { // the time alone could be of today or tomorrow
			return "try until " + units.Minute(c.Try)
		}
		return "try until " + c.Try.UTC().Format(time.TimeOnly) + " UTC"
	case "forgotten":
		if n := c.Forgotten(); n < len(c.Acts) {
			return "undone, " + units.Count(n, "act") + " forgotten"
		}
	case "partly undone":
		open, _ := stillOpen(c)
		return fmt.Sprintf("partly undone (%d of %s in force)", open, units.Count(len(c.Acts), "act"))
	}
	return word
}

// HistoryOf shows every act of one change.
func HistoryOf(c *change.Change, now time.Time, s page.Screen) string {
	p := page.NewPage(s)
	if c.Damage != nil {
		p.Para(page.Bold, 0, fmt.Sprintf("Change %d · its journal cannot be read", c.Number))
		p.Para(page.Normal, 0, c.Damage.Error())
		return p.String()
	}
	p.Para(page.Bold, 0, fmt.Sprintf("Change %d · %s", c.Number, State(c, now)))
	p.Para(page.Dim, 0, fmt.Sprintf("%s · by %s on %s · plumb %s", units.Moment(c.At), c.User, c.Host, c.Plumb))
	for i, step := range c.Steps {
		p.Blank()
		p.Labelled(page.Bold, fmt.Sprintf("%2d  ", i+1), page.Normal, fmt.Sprintf("%s = %s", step.Knob, step.To))
		if step.Because != "" {
			p.Para(page.Dim, 4, step.Because)
		}
		none := true
		for _, a := range c.Acts {
			if a.Step == i {
				past(p, a)
				none = false
			}
		}
		if none {
			p.Para(page.Dim, 4, "nothing was done for it")
		}
	}
	for i, r := range c.Restarts {
		if i == 0 {
			p.Blank()
		}
		p.Hang(page.Normal, "    restart ", restartLine(r))
	}
	if c.Open() {
		p.Blank()
		p.Para(page.Dim, 0, nextOf(c))
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
func past(p *page.Page, a change.Recorded) {
	p.Hang(page.Normal, "    "+fmt.Sprintf("%-8s", string(a.State)), a.Act.Place()+": "+pastValues(a))
	if a.Why != "" {
		p.Para(page.Dim, 12, a.Why)
	}
}

// pastValues says from what to what an act went.
func pastValues(a change.Recorded) string {
	if e := a.Act.Edit; e != nil {
		if a.Made.New {
			return "new file, " + e.Value
		}
		if a.Made.Splice == nil {
			return e.Value
		}
		return lines(string(a.Made.Splice.Old)) + " -> " + lines(string(a.Made.Splice.New))
	}
	before, after := a.Words()
	return stateText(before) + " -> " + stateText(after)
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
