package view

import (
	"strings"
	"time"

	"plumb/internal/met"
	"plumb/internal/rule"
	"plumb/internal/stats"
)

// Proof is what experiments and real hosts showed of a rule.
type Proof struct {
	Measured  []rule.Measurement // by Plumb's makers
	Rehearsed []Rehearsed        // on this machine, newest first
	Ledger    string             // which has the rehearsals
	Note      string             // why rehearsals could not be looked at; "" when they could
	Standing  *met.Standing      // what it has met; nil when that could not be read
}

// Rehearsed is what a rehearsal on this machine showed of a step that a rule
// asks for.
type Rehearsed struct {
	At     time.Time
	Arm    string
	Effect stats.Estimate // on the rate, ratio less one
	Word   string         // of a report's verdict
	Hash   string         // of its experiment
}

// proof writes what experiments showed.
func (p *page) proof(of Proof) {
	if len(of.Measured) > 0 {
		p.section("MEASURED")
	}
	for i, m := range of.Measured {
		if i > 0 {
			p.blank()
		}
		p.para(plain, 4, unitsTied(m.Shows))
		p.labelled(dim, "    on        ", plain, m.Setup+"; "+m.Machine)
		p.labelled(dim, "    doubt     ", plain, m.Doubt)
		p.labelled(dim, "    from      ", plain, repeated(m))
	}
	if len(of.Rehearsed) > 0 {
		p.section("REHEARSED ON THIS MACHINE")
	}
	for _, r := range of.Rehearsed {
		parts := []string{r.At.Format(time.DateOnly), r.Arm, keep(differs(r.Effect) + " transactions/s"), r.Word}
		p.hang(plain, "    ", strings.Join(append(parts, keep("plumb lab report "+shortHash(r.Hash)+" --ledger "+of.Ledger)), " · "))
	}
	if of.Note != "" {
		p.blank()
		p.para(dim, 4, of.Note)
	}
}

// repeated says when it was measured, and how to do it again.
func repeated(m rule.Measurement) string {
	again := m.Date.Format(time.DateOnly) + ", "
	if m.Cuts != nil {
		again += "power cuts: " + keep("make powercut") + ", rows " + strings.Join(m.Cuts, ", ")
	} else {
		again += keep("plumb lab run experiments/"+m.Experiment+".yaml") + ", in a ledger " + m.Ledger
	}
	if m.Changed != "" {
		again += "; since then: " + m.Changed
	}
	return again
}

// unitsTied keeps numbers and their units on one line.
func unitsTied(text string) string {
	for _, unit := range []string{"%", "KB", "MB", "GB", "ms"} {
		text = strings.ReplaceAll(text, " "+unit, string(noBreak)+unit)
	}
	return text
}
