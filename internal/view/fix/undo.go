package fix

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/change"
	"plumb/internal/fix"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// UndoPlan shows what an undo would take back, and what it would run for it:
// the very words of the journal.
func UndoPlan(todo []*change.Change, how fix.Undo, s page.Screen) string {
	p := page.NewPage(s)
	for _, c := range todo {
		again := how.Restart && len(c.RestartsBack()) > 0
		if !c.Open() && !again {
			continue
		}
		head := fmt.Sprintf("Change %d of %s", c.Number, units.Minute(c.At))
		if how.Forget {
			head += " is forgotten. Nothing is read or changed, and no undo reverts what is still in force"
		}
		p.Para(page.Bold, 0, head+":")
		for i := len(c.Acts) - 1; i >= 0; i-- {
			a := c.Acts[i]
			if a.State == change.Undone || a.State == change.Left {
				continue
			}
			if how.Forget {
				p.Hang(page.Normal, "    ", a.Act.Place()+": "+pastValues(a))
				continue
			}
			p.Hang(page.Normal, "    ", a.Act.Place()+": "+backValues(a, how.Discard))
			for _, o := range a.Back() {
				p.Hang(page.Dim, "        runs  ", opLine(o))
			}
		}
		if again {
			for _, r := range c.RestartsBack() {
				p.Hang(page.Normal, "    ", restartLine(r))
			}
		}
	}
	p.Blank()
	return p.String()
}

// opLine shows an operation as one line, and of a statement where it is run.
func opLine(o change.Op) string {
	text := strings.ReplaceAll(o.String(), "\n", `\n`)
	if o.Target == nil {
		return text
	}
	return text + " on " + o.Target.Name + " at " + o.Target.Address
}

// restartLine shows a restart that a change did.
func restartLine(r change.Restart) string {
	var words []string
	for _, o := range r.Do {
		words = append(words, opLine(o))
	}
	text := r.What + ": " + strings.Join(words, "; ")
	if r.Back {
		text += ", done again since"
	}
	return text
}

// backValues says from what to what an undo goes, which loses what is newer or not.
func backValues(a change.Recorded, lose bool) string {
	switch {
	case a.Act.Move != nil:
		return backData(a.Act.Move.Phase, lose)
	case a.Spared():
		return "move it aside, because others may have written to it"
	case a.Act.Make != nil:
		return "remove it, if it is unchanged"
	case a.Act.Copy != nil:
		return "remove the copy, if nobody changed it"
	case a.Act.Edit != nil:
		if a.Made.New {
			return "remove the file, unless others wrote into it"
		}
		if a.Made.Splice == nil || strings.TrimSpace(string(a.Made.Splice.Old)) == "" {
			return "remove the line"
		}
		return "back to " + lines(string(a.Made.Splice.Old))
	}
	return "back to " + stateText(a.Made.Before)
}

// backData says what an undo does to data that were moved.
func backData(phase string, lose bool) string {
	switch {
	case phase == change.MoveGive && lose:
		return "lose what was written there since"
	case phase == change.MoveGive:
		return "copy back what was written there since"
	case phase == change.MoveAside:
		return "put the old files back in their place"
	}
	return "remove the copies"
}

// waitsFor names the server that does not answer, for which reason an act could not be taken back; "" when it is
// another reason.
func waitsFor(err error) string {
	if w, ok := errors.AsType[*change.Waiting](err); ok && !w.Answers() {
		return w.For
	}
	return ""
}

// aside is the command by which something was put aside in place of being removed; "" where nothing was.
func aside(u fix.Undone) string {
	if ops := u.Past.Back(); u.Past.Spared() && u.Past.State == change.Undone && len(ops) > 0 {
		return opLine(ops[0])
	}
	return ""
}

// Forgotten shows what was ended without being taken back.
func Forgotten(trail []fix.Undone, s page.Screen) string {
	p := page.NewPage(s)
	for _, u := range trail {
		p.Hang(page.Yellow, "forgotten   ", u.Past.Act.Place()+": "+pastValues(u.Past)+"; its present state was not read")
	}
	if len(trail) == 0 { // not even the first could be written down
		return ""
	}
	p.Para(page.Normal, 0, units.Count(len(trail), "act")+" forgotten: what is still in force stays in force, and no undo reverts it")
	return p.String()
}

// UndoOutcome shows what was taken back.
func UndoOutcome(trail []fix.Undone, s page.Screen) string {
	p := page.NewPage(s)
	done, left, waits, failed, open := 0, 0, 0, 0, 0
	for _, u := range trail {
		if u.Err != nil {
			open = cmp.Or(open, u.Change)
		}
		switch {
		case waitsFor(u.Err) != "":
			waits++
			p.Hang(page.Yellow, "waits       ", u.Past.Act.Place()+": "+u.Err.Error())
		case u.Err != nil:
			failed++
			p.Hang(page.Yellow, "not undone  ", u.Past.Act.Place()+": "+u.Err.Error())
		case u.Past.State == change.Left:
			left++
			p.Hang(page.Normal, "left        ", u.Past.Act.Place()+": "+u.Past.Why)
		default:
			done++
			if by := aside(u); by != "" {
				p.Hang(page.Normal, "put aside   ", u.Past.Act.Place()+", because others may have written to it: "+by)
			}
		}
	}
	text := fmt.Sprintf("%s taken back", units.Count(done, "act"))
	if left > 0 {
		text += fmt.Sprintf(" · %d left as others set them", left)
	}
	if waits > 0 {
		text += fmt.Sprintf(" · %d for servers that do not answer: plumb undo reverts them once they run", waits)
	}
	if failed > 0 {
		text += fmt.Sprintf(" · %d could not be undone: plumb undo tries them again", failed)
	}
	p.Para(page.Normal, 0, text)
	if open > 0 {
		p.Para(page.Dim, 0, fmt.Sprintf("To give up what can never be undone, use plumb undo %d --forget: it stays as it is.", open))
	}
	return p.String()
}
