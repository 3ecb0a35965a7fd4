package rehearse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/picture"
)

// rehearsalHTML is what the template is given.
type rehearsalHTML struct {
	About    labview.About
	Kicker   string
	Head     string
	Answer   string
	Costs    string // of all advice together, in a sentence
	Meta     []string
	Forest   *twoForests
	Kept     string
	Steps    []rehearsalStep
	Untried  []rehearsalStep
	Says     []string
	Notes    []string
	How      []string
	Search   *searchHTML
	Stages   []stageHTML
	Reasons  []labview.ReasonRow
	Programs []string
	Machine  []string
	Commands []string
	Nothing  bool // no trial was begun
	Durable  bool // a step changes durability, or is less than safe
	Compared string
}

// rehearsalStep is a line of the table of verdicts.
type rehearsalStep struct {
	Number              int
	Name, Because       string
	Rules               []string
	Class, Word, Why    string
	Effect, Durability  string
	Left, Failed, Costs string
	With                string
}

// stageHTML is one experiment, drawn with the charts of its report.
type stageHTML struct {
	Name, Meta    string
	Sentences     []string
	Rows          []labview.ArmRow
	Series        []labview.Chart
	SeriesCaption string
	Percentiles   *labview.Chart
	Order         *labview.Chart
	Costs         *labview.CostTable
	Hash, File    string
	FileName      string
}

// HTML makes one page that needs nothing else: no network, no script.
func HTML(r rehearse.Result, cat *catalog.Catalog, about labview.About) ([]byte, error) {
	html, err := labview.Web("rehearse.html", "lab.css", "rehearse.css").HTML(rehearsalPageOf(r, picture.Facts{Cat: cat}, about))
	if err != nil {
		return nil, fmt.Errorf("make the page of the rehearsal of %s: %w", rehearsed(r.Proposal), err)
	}
	return html, nil
}

func rehearsalPageOf(r rehearse.Result, v picture.Facts, about labview.About) *rehearsalHTML {
	p := r.Proposal
	head := rehearsalHead(r)
	d := &rehearsalHTML{About: about, Kicker: "Rehearsal of " + rehearsed(p), Head: "Does the advice help " + rehearsed(p) + "?", Answer: plainSpaces(allSentence(r)), Costs: arrows(costChanges(r.All.Costs)),
		Meta: rehearsalMeta(r, head[1:]), Forest: forestsOf(r, v), Says: p.Says, Notes: rehearsalNotes(r), Machine: about.Machine, Compared: comparedHow(p), Nothing: len(r.Reports) == 0, Search: searchPage(r.Search, p.Scale)}
	if len(r.Steps) > 0 {
		d.Kept = keptSentence(r)
	}
	for i, verdict := range r.Steps {
		s := htmlStep(v, stepNumber(r, i), verdict)
		if verdict.Word == rehearse.NotTried {
			d.Untried = append(d.Untried, s)
		} else {
			d.Steps = append(d.Steps, s)
		}
		d.Durable = d.Durable || s.Durability != ""
	}
	for i, rep := range r.Reports {
		d.Stages = append(d.Stages, stageOf(p, i, rep))
		for _, g := range labview.SameReasons(rep.Invalid) {
			d.Reasons = append(d.Reasons, labview.ReasonRow{Where: "stage " + stageName(p, i) + ", " + g.Where(), Text: g.Text})
		}
		for _, name := range labview.ProgramsOf(rep) {
			if !slices.Contains(d.Programs, name) {
				d.Programs = append(d.Programs, name)
			}
		}
		if i == 0 {
			d.How = labview.HowDone(report.Report{Experiment: rep.Experiment})
		}
	}
	d.Commands = []string{cmp.Or(about.Command, "plumb rehearse")}
	for _, s := range d.Stages {
		d.Commands = append(d.Commands, "plumb lab run "+s.FileName)
	}
	return d
}

// rehearsalMeta is the line of facts below the answer.
func rehearsalMeta(r rehearse.Result, head []string) []string {
	facts := slices.Clone(head)
	trials, counted := 0, 0
	for _, rep := range r.Reports {
		trials, counted = trials+len(rep.Records), counted+len(rep.Records)-len(rep.Invalid)
		if !rep.Began.IsZero() && trials == len(rep.Records) {
			facts = append([]string{rep.Began.UTC().Format("2 January 2006")}, facts...)
		}
	}
	if trials > 0 {
		facts = append(facts, fmt.Sprintf("%s, of which %d count", units.Count(trials, "trial"), counted))
	}
	return facts
}

func htmlStep(v picture.Facts, number int, verdict rehearse.Verdict) rehearsalStep {
	s := rehearsalStep{Number: number, Name: verdict.Arm, Class: wordClass(verdict.Word), Word: wordWithMore(verdict), Why: verdictWhy(verdict), Failed: sentenceOf(verdict.Failed), Costs: arrows(costChanges(verdict.Costs))}
	if st := verdict.Step; st != nil {
		s.Name, s.Because, s.Rules = plainSpaces(changeText(v, *st, " → ")), sentenceOf(strings.ReplaceAll(st.Because, "\n", " ")), st.Step.Why
		s.Effect, s.Durability, s.Left = picture.EffectText(st.Effect), durabilityText(*st, " → "), sentenceOf(st.Left)
		s.With = withText(*st)
	}
	return s
}

// wordClass is the class of a verdict in the style of reports.
func wordClass(word string) string {
	switch word {
	case rehearse.Helps:
		return report.Better
	case rehearse.Harms:
		return report.Worse
	case rehearse.NoDifference:
		return report.Equivalent
	case rehearse.NotTried, rehearse.WithAll:
		return "untried"
	}
	return report.Undecided
}

// arrows writes the arrow of a terminal as one.
func arrows(text string) string { return strings.ReplaceAll(plainSpaces(text), " -> ", " → ") }

func stageOf(p rehearse.Proposal, i int, r report.Report) stageHTML {
	s := stageHTML{Name: stageName(p, i), Rows: labview.ArmRows(r), Sentences: labview.VerdictSentences(r), Order: labview.OrderChart(r), Costs: labview.CostsOf(r), Hash: r.Experiment.Hash,
		FileName: cmp.Or(r.Experiment.Name, stageName(p, i)) + ".yaml", File: strings.TrimRight(string(r.Experiment.Text), "\n"), Meta: blocksOf(r) + ", " + labview.LabEnd(r)}
	if i < len(p.Stages) && s.File == "" {
		s.File = strings.TrimRight(string(p.Stages[i].Text), "\n")
	}
	s.Series, s.SeriesCaption = labview.SeriesCharts(r)
	s.Percentiles, _ = labview.LatencyCharts(r)
	return s
}

// twoForests is the picture of all verdicts: what each brings to the rate, and
// beside it to the response time.
type twoForests struct {
	Rows      []forestPair
	Rate, P99 axis
	Margin    string
}

type forestPair struct {
	Number, Name, Sub string
	Class, Word       string
	Mark              string // whether it is kept
	Failed            string
	Rate, P99         plotted
}

// plotted is one row of a forest with what lies behind it.
type plotted struct {
	Label string
	Row   labview.ForestRow
	Axis  axis
}

// axis is what lies behind all rows of a forest.
type axis struct {
	X     []labview.Tick
	Bands []labview.Band
	Rules []labview.Line
}

// forestsOf draws what was tried; nil when nothing was.
func forestsOf(r rehearse.Result, v picture.Facts) *twoForests {
	empty := func(x rehearse.Verdict) bool {
		return !units.MeasuredAtAll(x.Rate) && !units.MeasuredAtAll(x.P99) && x.Failed == ""
	}
	tried := slices.DeleteFunc(slices.Clone(r.Steps), empty)
	if len(tried) == 0 && empty(r.All) {
		return nil
	}
	margin := marginOf(r)
	var rates, tails []report.Comparison
	for _, x := range append([]rehearse.Verdict{r.All}, tried...) {
		pair := experiment.Pair{Arm: x.Arm, Baseline: rehearse.AsIs}
		rates = append(rates, report.Comparison{Pair: pair, Word: wordClass(x.Word), Effect: x.Rate, Margin: margin})
		tails = append(tails, report.Comparison{Pair: pair, Word: wordClass(x.Word), Effect: x.P99, Margin: margin})
	}
	rate, p99 := labview.RatioScale(rates), labview.RatioScale(tails)
	f := &twoForests{Rate: axisOf(rate, margin), P99: axisOf(p99, margin)}
	if margin > 0 {
		f.Margin = units.RoundPercent(margin)
	}
	for i := range rates {
		pair := forestPair{Name: wholeName(r.All), Class: rates[i].Word + " all", Word: wordWithMore(r.All), Failed: sentenceOf(r.All.Failed),
			Rate: plot("transactions/s", rates[i], rate, f.Rate), P99: plot("p99", tails[i], p99, f.P99)}
		if i > 0 {
			x := tried[i-1]
			pair.Name, pair.Class, pair.Word, pair.Failed, pair.Mark = x.Arm, rates[i].Word, wordWithMore(x), sentenceOf(x.Failed), "left out"
			if x.Keep {
				pair.Mark = "kept"
			}
			if x.Step != nil {
				pair.Number, pair.Name, pair.Sub = fmt.Sprint(x.Step.Number), plainSpaces(changeText(v, *x.Step, " → ")), x.Step.Scaled
			}
		}
		f.Rows = append(f.Rows, pair)
	}
	return f
}

// plot draws a row; where nothing was measured there is nothing behind it.
func plot(label string, v report.Comparison, s labview.Ratios, a axis) plotted {
	if !units.MeasuredAtAll(v.Effect) {
		a = axis{}
	}
	return plotted{label, labview.ForestLine(v, s), a}
}

// marginOf is the part within which a difference counts as none.
func marginOf(r rehearse.Result) float64 {
	for _, rep := range r.Reports {
		if m := rep.Experiment.Margin; m > 0 && m < 1 {
			return m
		}
	}
	return 0
}

func axisOf(s labview.Ratios, margin float64) axis {
	a := axis{X: sparse(s.Ticks())}
	if margin > 0 {
		a.Bands = []labview.Band{labview.Between(s.Part(-margin), s.Part(margin), "margin")}
	}
	for _, t := range a.X {
		a.Rules = append(a.Rules, labview.Line{Path: labview.Upright(t.At / 100), Class: "grid"})
	}
	a.Rules = append(a.Rules, labview.Line{Path: labview.Upright(s.Part(0)), Class: "zero"})
	return a
}

// sparse leaves labels that have room where two pictures share a line: the one
// of no difference, and outwards from it what is far enough from the last.
func sparse(all []labview.Tick) (kept []labview.Tick) {
	const room = 20 // per cent
	zero := max(0, slices.IndexFunc(all, func(t labview.Tick) bool { return t.Text == "0" }))
	for i, last := zero, math.Inf(-1); i < len(all); i++ {
		if all[i].At-last >= room {
			kept, last = append(kept, all[i]), all[i].At
		}
	}
	for i := zero - 1; i >= 0; i-- {
		if kept[0].At-all[i].At >= room {
			kept = slices.Insert(kept, 0, all[i])
		}
	}
	return kept
}
