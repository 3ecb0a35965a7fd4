package rehearse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// rehearsalPage shows a rehearsal on a terminal.
type rehearsalPage struct {
	*page.Page
	picture.Facts
}

// Text shows what a rehearsal has found: all advice together, each step,
// what is kept, and what the sandbox was like. next are the commands that may
// follow.
func Text(r rehearse.Result, cat *catalog.Catalog, screen page.Screen, next ...string) string {
	p := rehearsalPage{page.NewPage(screen), picture.Facts{Cat: cat}}
	p.Para(page.Bold, 0, strings.Join(rehearsalHead(r), " · "))
	p.Blank()
	p.Para(page.Bold, 0, allSentence(r))
	if changes := costChanges(r.All.Costs); changes != "" {
		p.Para(page.Dim, 0, "Per transaction: "+changes+".")
	}
	if len(r.Steps) > 0 {
		p.Blank()
		p.verdicts(r)
		p.Blank()
		p.Para(page.Normal, 0, keptSentence(r))
	}
	p.sandbox(r.Proposal)
	labview.LabInvalid(p.Page, report.Report{Invalid: uncounted(r)})
	if notes := rehearsalNotes(r); len(notes)+len(next) > 0 {
		p.Blank()
		for _, n := range notes {
			p.Para(page.Dim, 0, n)
		}
		for _, n := range next {
			p.Para(page.Normal, 0, n)
		}
	}
	return p.String()
}

// rehearsalHead are the facts of the first line.
func rehearsalHead(r rehearse.Result) []string {
	p := r.Proposal
	head := []string{"rehearsal of " + rehearsed(p)}
	for _, fact := range []string{p.Title, scaleText(p.Scale), proposedLoad(p)} {
		if fact != "" && !strings.HasSuffix(head[0], fact) {
			head = append(head, fact)
		}
	}
	if r.Took > 0 {
		head = append(head, units.Planned(r.Took))
	}
	if r.Ended != "" {
		head = append(head, r.Ended)
	}
	return head
}

// rehearsed names what is rehearsed.
func rehearsed(p rehearse.Proposal) string {
	if p.Server.IsZero() {
		return "a default " + cmp.Or(p.Title, cmp.Or(p.Engine, "server"))
	}
	return p.Server.String()
}

// scaleText says how much smaller the sandbox is; "" when it is not.
func scaleText(scale float64) string {
	if !(scale > 0) || scale > 0.95 {
		return ""
	}
	if n := math.Round(1 / scale); math.Abs(1/scale-n) < 0.05*n {
		return fmt.Sprintf("a sandbox of 1/%.0f its size", n)
	}
	return "a sandbox of " + units.Percent(scale) + " its size"
}

// proposedLoad says what is done to the sandbox; "" when nothing is.
func proposedLoad(p rehearse.Proposal) string {
	for _, s := range p.Stages {
		for _, a := range s.Experiment.Arms {
			return loadWords(a.Setup.Load)
		}
	}
	return ""
}

func loadWords(l experiment.Load) string {
	words := []string{cmp.Or(l.Script, l.Kind)}
	if l.Warehouses > 0 {
		words = append(words, units.Count(l.Warehouses, "warehouse"))
	}
	if l.Threads > 0 {
		words = append(words, units.Count(l.Threads, "thread"))
	}
	return strings.Join(words, ", ")
}

// allSentence says what all advice together brings.
func allSentence(r rehearse.Result) string {
	v, all := r.All, wholeName(r.All)
	if v.Refused != "" {
		v.Refused = ""
		r.All = v
		return strings.Replace(allSentence(r), "All advice together", all, 1) + " With all of it the server cannot be used."
	}
	switch {
	case len(r.Proposal.Steps) == 0:
		return "The plan has no step: there is nothing to rehearse."
	case !slices.ContainsFunc(r.Proposal.Steps, func(s rehearse.Step) bool { return s.Left == "" }):
		return "No step of the plan can be tried in a sandbox."
	case v.Failed != "":
		return all + " harms: " + v.Failed + "."
	case v.Word == rehearse.Helps || v.Word == rehearse.Harms:
		return all + " " + v.Word + ": " + effects(v) + "."
	case v.Word == rehearse.NoDifference:
		return all + " makes " + rehearsalWord(v) + ": " + effects(v) + "."
	case v.Word == rehearse.Undecided && units.MeasuredAtAll(v.Rate):
		return all + " is undecided so far: " + effects(v) + moreText(v) + "."
	case v.Word == rehearse.NotTried:
		return all + " was not tried."
	}
	return "Nothing is known yet about all advice together."
}

// wholeName names what stands for all advice together: all of it, or all but what
// the server refuses.
func wholeName(v rehearse.Verdict) string {
	if v.Refused == "" {
		return "All advice together"
	}
	first, size := utf8.DecodeRuneInString(v.Arm)
	return string(unicode.ToUpper(first)) + v.Arm[size:]
}

// effects writes what a verdict measured: +142 % transactions/s (+120 to
// +166 %), p99 −61 % (−70 to −50 %).
func effects(v rehearse.Verdict) string {
	var parts []string
	if units.MeasuredAtAll(v.Rate) {
		parts = append(parts, page.Keep(strings.TrimSpace(units.Signed(v.Rate.Value)+" transactions/s "+units.DiffersRange(v.Rate))))
	}
	if units.MeasuredAtAll(v.P99) {
		parts = append(parts, page.Keep("p99 "+units.Differs(v.P99)))
	}
	if len(parts) == 0 {
		return "nothing was measured"
	}
	return strings.Join(parts, ", ")
}

// rehearsalWord is a verdict in a few words.
func rehearsalWord(v rehearse.Verdict) string {
	switch v.Word {
	case rehearse.NoDifference:
		if v.Within > 0 {
			return "no difference within ±" + units.RoundPercent(v.Within)
		}
	case "":
		return "not yet known"
	}
	return v.Word
}

// wordWithMore also says what it would take to decide.
func wordWithMore(v rehearse.Verdict) string {
	word := rehearsalWord(v)
	if v.Word == rehearse.Undecided && v.More > 0 {
		word += ": about " + units.Count(v.More, "more block")
	}
	return word
}

func moreText(v rehearse.Verdict) string {
	if v.Word != rehearse.Undecided || v.More <= 0 {
		return ""
	}
	return "; about " + units.Count(v.More, "more block") + " would probably decide"
}

// keptSentence says which steps the plan keeps, by their numbers.
func keptSentence(r rehearse.Result) string {
	var kept, with, left, untried []string
	for i, v := range r.Steps {
		number := fmt.Sprint(stepNumber(r, i))
		switch {
		case v.Keep:
			kept = append(kept, number)
			if v.WithAll() {
				with = append(with, number)
			}
		case v.Word == rehearse.NotTried:
			untried = append(untried, number)
		default:
			left = append(left, number)
		}
	}
	parts := []string{"Kept: none"}
	if len(kept) > 0 {
		parts[0] = "Kept: " + strings.Join(kept, ", ")
	}
	if len(with) > 0 {
		parts = append(parts, "of these "+rehearse.Proven+": "+strings.Join(with, ", "))
	}
	if len(left) > 0 {
		parts = append(parts, "left out: "+strings.Join(left, ", "))
	}
	if len(untried) > 0 {
		parts = append(parts, "not tried: "+strings.Join(untried, ", "))
	}
	return strings.Join(parts, " · ")
}

func stepNumber(r rehearse.Result, i int) int {
	if s := r.Steps[i].Step; s != nil && s.Number > 0 {
		return s.Number
	}
	return i + 1
}

// sandbox says what the sandbox is like and how it differs from the real thing.
func (p rehearsalPage) sandbox(of rehearse.Proposal) {
	if len(of.Says) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Dim, "The sandbox")
	for _, s := range of.Says {
		p.Hang(page.Normal, "· ", s)
	}
}

// uncounted lists the trials of all stages that do not count.
func uncounted(r rehearse.Result) (all []report.Invalid) {
	for _, rep := range r.Reports {
		all = append(all, rep.Invalid...)
	}
	return all
}

// rehearsalNotes are what a reader must know to trust or doubt the verdicts.
func rehearsalNotes(r rehearse.Result) (notes []string) {
	for i, rep := range r.Reports {
		text := "Stage " + stageName(r.Proposal, i) + ": " + units.Count(len(rep.Records), "trial") + " in " + blocksOf(rep) + ", " + units.Span(rep.Took.Round(time.Second))
		if rep.Stopped != "" {
			text += ", " + rep.Stopped
		}
		if units.IsReal(rep.Smallest) && rep.Smallest > 0 && rep.Smallest < 1 {
			text += fmt.Sprintf("; a difference of %s %% would be found four times in five", units.PercentDigits(rep.Smallest))
		}
		notes = append(notes, text+".")
	}
	if alone := comparedHow(r.Proposal); alone != "" && len(r.Reports) > 1 {
		notes = append(notes, alone)
	}
	return notes
}

func blocksOf(r report.Report) string { return units.Count(r.Done, "block") }

func stageName(p rehearse.Proposal, i int) string {
	if i < len(p.Stages) && p.Stages[i].Name != "" {
		return p.Stages[i].Name
	}
	return fmt.Sprint(i + 1)
}

// comparedHow says what a step's numbers compare; "" when no step was tried by
// itself.
func comparedHow(p rehearse.Proposal) string {
	k := slices.IndexFunc(p.Stages, func(s rehearse.Stage) bool { return s.Name == "steps" })
	if k < 0 {
		return ""
	}
	if slices.ContainsFunc(p.Stages[k].Experiment.Arms, func(a experiment.Arm) bool { return a.Name == rehearse.AllAdvice }) {
		return "A step's numbers compare all advice with all advice but this step."
	}
	return "A step's numbers compare this step alone with the server as it is; steps together can gain more or less than their sum."
}
