package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Text shows what an experiment has found, for a terminal. next are the
// commands that may follow.
func Text(r report.Report, screen page.Screen, next ...string) string {
	p := page.NewPage(screen)
	labHead(p, r)
	if r.Answer != "" {
		p.Blank()
		p.Para(page.Bold, 0, page.KeepIntervals(r.Answer))
	}
	p.Blank()
	labRates(p, r)
	labRisks(p, r)
	if hasLatency(r) {
		p.Blank()
		labLatency(p, r)
	}
	labSentences(p, dipSentences(r))
	labSentences(p, VerdictSentences(r))
	labCurves(p, r)
	labPublished(p, r)
	LabInvalid(p, r)
	if notes := labNotes(r); len(notes) > 0 || len(next) > 0 {
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

func labHead(p *page.Page, r report.Report) {
	x := r.Experiment
	p.Para(page.Bold, 0, strings.Join([]string{x.Name, units.Count(len(x.Arms), "arm"), blocksDone(r), labState(r)}, " · "))
	if x.Question != "" {
		p.Blank()
		p.Para(page.Normal, 0, x.Question)
	}
}

func blocksDone(r report.Report) string {
	return fmt.Sprintf("%d of at most %s", r.Done, units.Count(r.Experiment.Most, "block"))
}

// labState says whether more is to come.
func labState(r report.Report) string {
	state := LabEnd(r)
	if n := len(r.Records); n > 0 {
		state = fmt.Sprintf("%s in %s · %s", units.Count(n, "trial"), units.Span(r.Took.Round(time.Second)), state)
	}
	return state
}

// armWidth is the column of the arms' names on a page.
func armWidth(r report.Report, most int) int {
	w := len("against")
	for _, a := range r.Arms {
		w = max(w, page.Width(a.Name))
	}
	return min(w, most) + 2
}

func labRates(p *page.Page, r report.Report) {
	name, unit := metricUnit(r.Experiment.Metric)
	show := showMetric(r.Experiment.Metric)
	first := armWidth(r, p.Width/3)
	value, reach := page.Width(name+", "+unit)+1, 4
	for _, a := range r.Arms {
		value = max(value, page.Width(show(a.Metric.Value)))
		reach = max(reach, page.Width(interval(a.Metric, show)))
	}
	head := func(arm, trials, v, in string) string {
		return page.Columns(page.Cut(arm, first-2), first) + page.Right(trials, 6) + page.Right(v, value+2) + "  " + page.Columns(in, reach+2)
	}
	room := p.Width - page.Width(head("", "", "", ""))
	below := slices.ContainsFunc(r.Arms, func(a report.ArmResult) bool { return page.LongestWord(againstText(r, a.Name)) > room })
	row := func(i page.Ink, arm, trials, v, in, against string) {
		if !below {
			p.Within(p.Width, page.Normal, head(arm, trials, v, in), i, against)
			return
		}
		p.Line(i, head(arm, trials, v, in))
		if against != "" {
			p.Within(p.Width, page.Normal, strings.Repeat(" ", first), i, against)
		}
	}
	row(page.Dim, "arm", "trials", name+", "+unit, "95 %", "against its baseline")
	for _, a := range r.Arms {
		if a.Failed != "" {
			p.Within(p.Width, page.Normal, page.Columns(page.Cut(a.Name, first-2), first)+page.Right("–", 6)+"  ", page.Normal, "could not run: "+a.Failed)
			continue
		}
		v := "–"
		if units.MeasuredAtAll(a.Metric) {
			v = show(a.Metric.Value)
		}
		row(page.Normal, a.Name, fmt.Sprint(a.Trials), v, interval(a.Metric, show), againstText(r, a.Name))
	}
}

// labRisks names the arms that are less durable: faster is not better there.
func labRisks(p *page.Page, r report.Report) {
	for _, a := range r.Arms {
		for _, risk := range a.Risks {
			p.Hang(page.Bold, "! ", a.Name+": "+risk)
		}
	}
}

// againstText is the comparison beside an arm.
func againstText(r report.Report, arm string) string {
	v := verdictOf(r, arm)
	switch {
	case v != nil:
		return page.Keep(units.Differs(v.Effect)) + " " + VerdictWords(*v)
	case isBaseline(r, arm):
		return "baseline"
	}
	return ""
}

func hasLatency(r report.Report) bool {
	return slices.ContainsFunc(r.Arms, func(a report.ArmResult) bool { return a.Latency.N > 0 })
}

func labLatency(p *page.Page, r report.Report) {
	first := armWidth(r, p.Width/3)
	row := func(i page.Ink, arm string, cells ...string) {
		text := page.Columns(page.Cut(arm, first-2), first)
		for _, c := range cells {
			text += page.Right(c, 9)
		}
		p.Line(i, text)
	}
	row(page.Dim, "response", "p50", "p95", "p99", "max", "varies", "stalls")
	for _, a := range r.Arms {
		if a.Failed != "" || a.Latency.N == 0 {
			continue
		}
		l := a.Latency
		row(page.Normal, a.Name, msOf(l.P50), msOf(l.P95), msOf(l.P99), msOf(l.Max), percentOf(a.Variation), perThousand(a.Stalls))
	}
	p.Para(page.Dim, 0, "Varies: standard deviation of the seconds of a trial divided by their mean. Stalls: seconds in a thousand with less than a tenth of the mean.")
	if warning := hiddenStalls(r); warning != "" {
		p.Para(page.Bold, 0, warning)
	}
}

// hiddenStalls warns of percentiles that make arms look faster than they are;
// "" when there are none.
func hiddenStalls(r report.Report) string {
	arms := r.HiddenStalls()
	if len(arms) == 0 {
		return ""
	}
	return fmt.Sprintf("For %s, trust the rate but not the response times: the load waits for each response, so it sends nothing while the server stalls, and a long stall counts as one slow response among many fast ones. With load.rate, requests are due whether the server answers or not.", page.Join(arms))
}

func percentOf(part float64) string {
	if !units.IsReal(part) {
		return "–"
	}
	return units.Percent(part)
}

func labSentences(p *page.Page, all []string) {
	if len(all) > 0 {
		p.Blank()
	}
	for _, s := range all {
		p.Hang(page.Normal, "· ", page.KeepIntervals(s))
	}
}

// VerdictSentences are those that the answer has not said already.
func VerdictSentences(r report.Report) (all []string) {
	for _, v := range r.Verdicts {
		s := cmp.Or(v.Sentence, v.Arm+" against "+v.Baseline+": "+VerdictWords(v))
		if len(r.Verdicts) > 1 || !strings.Contains(r.Answer, s[1:]) { // but for a capital
			all = append(all, s)
		}
	}
	return all
}

func labCurves(p *page.Page, r report.Report) {
	for _, c := range r.Curves {
		p.Blank()
		p.Hang(page.Normal, page.Columns(page.Cut(c.Name, 24), 10), curveText(c))
	}
}

// curveText says in a sentence what a capacity curve shows.
func curveText(c report.Curve) string {
	text := "no curve could be fitted"
	if k := c.Capacity; k != nil {
		text = fmt.Sprintf("best at %s threads: %s; at most %s/s (%s to %s)", k.Best.Threads(), k.Best.Why,
			units.PerSecond(k.Max.Value), units.PerSecond(k.Max.Low), units.PerSecond(k.Max.High))
	}
	if c.Doubt != "" {
		text += "; " + c.Doubt
	}
	return text
}

func labPublished(p *page.Page, r report.Report) {
	show := showMetric(r.Experiment.Metric)
	_, unit := metricUnit(r.Experiment.Metric)
	said := false
	for _, a := range r.Arms {
		if a.Published == nil {
			continue
		}
		if !said {
			p.Blank()
			p.Line(page.Dim, "Published: "+cmp.Or(r.Experiment.Source, "by the source"))
			said = true
		}
		text := a.Name + ": " + units.PerSecond(a.Published.Value) + " " + a.Published.Unit
		if units.MeasuredAtAll(a.Metric) {
			text += ", here " + withUnit(show(a.Metric.Value), unit)
		}
		if a.Published.Note != "" {
			text += " (" + a.Published.Note + ")"
		}
		p.Hang(page.Normal, "· ", text)
	}
	if r.Experiment.Notes != "" {
		p.Blank()
		p.Para(page.Normal, 0, strings.TrimSpace(r.Experiment.Notes))
	}
}

// LabInvalid lists what does not count, the same reason once.
func LabInvalid(p *page.Page, r report.Report) {
	if len(r.Invalid) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Yellow, "Kept, but not counted:")
	for _, g := range SameReasons(r.Invalid) {
		p.Hang(page.Normal, "· ", g.Where()+": "+g.Text)
	}
}

// reason is why some trials of an arm do not count.
type reason struct {
	arm, Text string
	blocks    []string
}

func (g reason) Where() string {
	word := "block "
	if len(g.blocks) > 1 {
		word = "blocks "
	}
	return g.arm + ", " + word + page.Join(g.blocks)
}

// SameReasons puts trials of an arm that do not count for one reason together.
func SameReasons(all []report.Invalid) (groups []reason) {
	for _, v := range all {
		text := marksText(v.Marks)
		i := slices.IndexFunc(groups, func(g reason) bool { return g.arm == v.Arm && g.Text == text })
		if i < 0 {
			groups, i = append(groups, reason{arm: v.Arm, Text: text}), len(groups)
		}
		if b := fmt.Sprint(v.Block); !slices.Contains(groups[i].blocks, b) {
			groups[i].blocks = append(groups[i].blocks, b)
		}
	}
	return groups
}

func marksText(marks []experiment.Mark) string {
	var list []string
	for _, m := range marks {
		list = append(list, cmp.Or(m.Text, m.Kind))
	}
	if len(list) == 0 {
		return "no reason was noted"
	}
	return strings.Join(list, "; ")
}

// labNotes are what a reader must know to trust or doubt the verdicts.
func labNotes(r report.Report) (notes []string) {
	if units.IsReal(r.Smallest) && r.Smallest > 0 {
		smallest := units.PercentDigits(r.Smallest) + " %"
		if r.Smallest >= 1 {
			smallest = "a factor of " + units.Digits3(1+r.Smallest)
		}
		notes = append(notes, fmt.Sprintf("With %s, a difference of %s would be found four times in five.", units.Count(r.Done, "block"), smallest))
	}
	return append(notes, remarksOf(r)...)
}

// remarksOf gathers what was noted of trials that count: of each kind the
// first text, and how many trials it concerns.
func remarksOf(r report.Report) (texts []string) {
	var kinds []string
	first, n := map[string]string{}, map[string]int{}
	for _, rec := range r.Records {
		if !rec.Valid() {
			continue
		}
		for _, m := range rec.Remarks {
			if n[m.Kind] == 0 {
				kinds, first[m.Kind] = append(kinds, m.Kind), cmp.Or(m.Text, m.Kind)
			}
			n[m.Kind]++
		}
	}
	for _, k := range kinds {
		of := "Remark on " + units.Count(n[k], "trial")
		if n[k] > 1 {
			of += ", for one"
		}
		texts = append(texts, of+": "+first[k])
	}
	return texts
}
