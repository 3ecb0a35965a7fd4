package explain

import (
	"strings"
	"time"

	"plumb/internal/explain"
	"plumb/internal/rule"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// proven writes what experiments showed.
func proven(p *page.Page, of explain.Proof) {
	if len(of.Measured) > 0 {
		section(p, "MEASURED")
	}
	for i, m := range of.Measured {
		if i > 0 {
			p.Blank()
		}
		p.Para(page.Normal, 4, unitsTied(m.Shows))
		p.Labelled(page.Dim, "    on        ", page.Normal, m.Setup+"; "+m.Machine)
		p.Labelled(page.Dim, "    doubt     ", page.Normal, m.Doubt)
		p.Labelled(page.Dim, "    from      ", page.Normal, repeated(m))
	}
	if len(of.Rehearsed) > 0 {
		section(p, "REHEARSED ON THIS MACHINE")
	}
	for _, r := range of.Rehearsed {
		parts := []string{r.At.Format(time.DateOnly), r.Arm, page.Keep(units.Differs(r.Effect) + " transactions/s"), r.Word}
		p.Hang(page.Normal, "    ", strings.Join(append(parts, page.Keep("plumb lab report "+page.ShortHash(r.Hash)+" --ledger "+of.Ledger)), " · "))
	}
	if of.Note != "" {
		p.Blank()
		p.Para(page.Dim, 4, of.Note)
	}
}

// repeated says when it was measured, and how to do it again.
func repeated(m rule.Measurement) string {
	again := m.Date.Format(time.DateOnly) + ", "
	if m.Cuts != nil {
		again += "power cuts: " + page.Keep("make powercut") + ", rows " + strings.Join(m.Cuts, ", ")
	} else {
		again += page.Keep("plumb lab run experiments/"+m.Experiment+".yaml") + ", in a ledger " + m.Ledger
	}
	if m.Changed != "" {
		again += "; since then: " + m.Changed
	}
	return again
}

// unitsTied keeps numbers and their units on one line.
func unitsTied(text string) string {
	for _, unit := range []string{"%", "KB", "MB", "GB", "ms"} {
		text = strings.ReplaceAll(text, " "+unit, string(page.NoBreak)+unit)
	}
	return text
}
