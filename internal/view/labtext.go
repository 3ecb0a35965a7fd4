package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// LabText shows what an experiment has found, for a terminal. next are the
// commands that may follow.
func LabText(r report.Report, screen Screen, next ...string) string {
	p := newPage(screen)
	p.labHead(r)
	if r.Answer != "" {
		p.blank()
		p.para(bold, 0, keepIntervals(r.Answer))
	}
	p.blank()
	p.labRates(r)
	p.labRisks(r)
	if hasLatency(r) {
		p.blank()
		p.labLatency(r)
	}
	p.labVerdicts(r)
	p.labCurves(r)
	p.labPublished(r)
	p.labInvalid(r)
	if notes := labNotes(r); len(notes) > 0 || len(next) > 0 {
		p.blank()
		for _, n := range notes {
			p.para(dim, 0, n)
		}
		for _, n := range next {
			p.para(plain, 0, n)
		}
	}
	return p.String()
}

func (p *page) labHead(r report.Report) {
	x := r.Experiment
	p.para(bold, 0, strings.Join([]string{x.Name, count(len(x.Arms), "arm"), blocksDone(r), labState(r)}, " · "))
	if x.Question != "" {
		p.blank()
		p.para(plain, 0, x.Question)
	}
}

func blocksDone(r report.Report) string {
	return fmt.Sprintf("%d of at most %s", r.Done, count(r.Experiment.Most, "block"))
}

// labState says whether more is to come.
func labState(r report.Report) string {
	state := "not complete"
	if r.Complete {
		state = cmpText(r.Stopped, "complete")
	}
	if n := len(r.Records); n > 0 {
		state = fmt.Sprintf("%s in %s · %s", count(n, "trial"), span(r.Took.Round(time.Second)), state)
	}
	return state
}

// armWidth is the column of the arms' names on a page.
func armWidth(r report.Report, most int) int {
	w := len("against")
	for _, a := range r.Arms {
		w = max(w, width(a.Name))
	}
	return min(w, most) + 2
}

func (p *page) labRates(r report.Report) {
	name, unit := metricUnit(r.Experiment.Metric)
	show := showMetric(r.Experiment.Metric)
	first := armWidth(r, p.width/3)
	value, reach := width(name+", "+unit)+1, 4
	for _, a := range r.Arms {
		value = max(value, width(show(a.Metric.Value)))
		reach = max(reach, width(interval(a.Metric, show)))
	}
	head := func(arm, trials, v, in string) string {
		return columns(atMost(arm, first-2), first) + right(trials, 6) + right(v, value+2) + "  " + columns(in, reach+2)
	}
	room := p.width - width(head("", "", "", ""))
	below := slices.ContainsFunc(r.Arms, func(a report.ArmResult) bool { return longestWord(againstText(r, a.Name)) > room })
	row := func(i ink, arm, trials, v, in, against string) {
		if !below {
			p.within(p.width, plain, head(arm, trials, v, in), i, against)
			return
		}
		p.line(i, head(arm, trials, v, in))
		if against != "" {
			p.within(p.width, plain, strings.Repeat(" ", first), i, against)
		}
	}
	row(dim, "arm", "trials", name+", "+unit, "95 %", "against its baseline")
	for _, a := range r.Arms {
		if a.Failed != "" {
			p.within(p.width, plain, columns(atMost(a.Name, first-2), first)+right("–", 6)+"  ", plain, "could not run: "+a.Failed)
			continue
		}
		v := "–"
		if measuredAtAll(a.Metric) {
			v = show(a.Metric.Value)
		}
		row(plain, a.Name, fmt.Sprint(a.Trials), v, interval(a.Metric, show), againstText(r, a.Name))
	}
}

// labRisks names the arms that are less durable: faster is not better there.
func (p *page) labRisks(r report.Report) {
	for _, a := range r.Arms {
		for _, risk := range a.Risks {
			p.hang(bold, "! ", a.Name+": "+risk)
		}
	}
}

// againstText is the comparison beside an arm.
func againstText(r report.Report, arm string) string {
	v := verdictOf(r, arm)
	switch {
	case v != nil:
		return keep(differs(v.Effect)) + " " + verdictWords(*v)
	case isBaseline(r, arm):
		return "baseline"
	}
	return ""
}

func hasLatency(r report.Report) bool {
	return slices.ContainsFunc(r.Arms, func(a report.ArmResult) bool { return a.Latency.N > 0 })
}

func (p *page) labLatency(r report.Report) {
	first := armWidth(r, p.width/3)
	row := func(i ink, arm string, cells ...string) {
		text := columns(atMost(arm, first-2), first)
		for _, c := range cells {
			text += right(c, 9)
		}
		p.line(i, text)
	}
	row(dim, "response", "p50", "p95", "p99", "max", "varies", "stalls")
	for _, a := range r.Arms {
		if a.Failed != "" || a.Latency.N == 0 {
			continue
		}
		l := a.Latency
		row(plain, a.Name, msOf(l.P50), msOf(l.P95), msOf(l.P99), msOf(l.Max), percentOf(a.Variation), perThousand(a.Stalls))
	}
	p.para(dim, 0, "Varies: standard deviation of the seconds of a trial by their mean. Stalls: seconds in a thousand in which less than a tenth of the mean was done.")
	if warning := hiddenStalls(r); warning != "" {
		p.para(bold, 0, warning)
	}
}

// hiddenStalls warns of percentiles that make arms look faster than they are;
// "" when there are none.
func hiddenStalls(r report.Report) string {
	arms := r.HiddenStalls()
	if len(arms) == 0 {
		return ""
	}
	return fmt.Sprintf("Of %s trust the rate and not the response times: the load waits for each response, so while the server stands still nothing is asked, and a long stall is one slow response among many fast ones. With load.rate requests are due whether the server answers or not.", join(arms))
}

func percentOf(part float64) string {
	if !isReal(part) {
		return "–"
	}
	return percent(part)
}

func (p *page) labVerdicts(r report.Report) {
	all := verdictSentences(r)
	if len(all) > 0 {
		p.blank()
	}
	for _, s := range all {
		p.hang(plain, "· ", keepIntervals(s))
	}
}

// verdictSentences are those that the answer has not said already.
func verdictSentences(r report.Report) (all []string) {
	for _, v := range r.Verdicts {
		s := cmpText(v.Sentence, v.Arm+" against "+v.Baseline+": "+verdictWords(v))
		if len(r.Verdicts) > 1 || !strings.Contains(r.Answer, s[1:]) { // but for a capital
			all = append(all, s)
		}
	}
	return all
}

func (p *page) labCurves(r report.Report) {
	for _, c := range r.Curves {
		p.blank()
		p.hang(plain, columns(atMost(c.Name, 24), 10), curveText(c))
	}
}

// curveText says in a sentence what a capacity curve shows.
func curveText(c report.Curve) string {
	text := "no curve could be fitted"
	if k := c.Capacity; k != nil {
		best := fmt.Sprint(k.Best.Low)
		if k.Best.High > k.Best.Low {
			best += " to " + fmt.Sprint(k.Best.High)
		}
		text = fmt.Sprintf("best at %s threads: %s; at most %s/s (%s to %s)", best, k.Best.Why,
			perSecond(k.Max.Value), perSecond(k.Max.Low), perSecond(k.Max.High))
	}
	if c.Doubt != "" {
		text += "; " + c.Doubt
	}
	return text
}

func (p *page) labPublished(r report.Report) {
	show := showMetric(r.Experiment.Metric)
	_, unit := metricUnit(r.Experiment.Metric)
	said := false
	for _, a := range r.Arms {
		if a.Published == nil {
			continue
		}
		if !said {
			p.blank()
			p.line(dim, "Published: "+cmpText(r.Experiment.Source, "by the source"))
			said = true
		}
		text := a.Name + ": " + perSecond(a.Published.Value) + " " + a.Published.Unit
		if measuredAtAll(a.Metric) {
			text += ", here " + withUnit(show(a.Metric.Value), unit)
		}
		if a.Published.Note != "" {
			text += " (" + a.Published.Note + ")"
		}
		p.hang(plain, "· ", text)
	}
	if r.Experiment.Notes != "" {
		p.blank()
		p.para(plain, 0, strings.TrimSpace(r.Experiment.Notes))
	}
}

// labInvalid lists what does not count, the same reason once.
func (p *page) labInvalid(r report.Report) {
	if len(r.Invalid) == 0 {
		return
	}
	p.blank()
	p.line(yellow, "Kept, but not counted:")
	for _, g := range sameReasons(r.Invalid) {
		p.hang(plain, "· ", g.where()+": "+g.text)
	}
}

// reason is why some trials of an arm do not count.
type reason struct {
	arm, text string
	blocks    []string
}

func (g reason) where() string {
	word := "block "
	if len(g.blocks) > 1 {
		word = "blocks "
	}
	return g.arm + ", " + word + join(g.blocks)
}

func sameReasons(all []report.Invalid) (groups []reason) {
	for _, v := range all {
		text := marksText(v.Marks)
		i := slices.IndexFunc(groups, func(g reason) bool { return g.arm == v.Arm && g.text == text })
		if i < 0 {
			groups, i = append(groups, reason{arm: v.Arm, text: text}), len(groups)
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
		list = append(list, cmpText(m.Text, m.Kind))
	}
	if len(list) == 0 {
		return "no reason was noted"
	}
	return strings.Join(list, "; ")
}

// labNotes are what a reader must know to trust or doubt the verdicts.
func labNotes(r report.Report) (notes []string) {
	if isReal(r.Smallest) && r.Smallest > 0 {
		smallest := percentDigits(r.Smallest) + " %"
		if r.Smallest >= 1 {
			smallest = "a factor of " + digits3(1+r.Smallest)
		}
		notes = append(notes, fmt.Sprintf("With %s a difference of %s would be found four times in five.", count(r.Done, "block"), smallest))
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
				kinds, first[m.Kind] = append(kinds, m.Kind), cmpText(m.Text, m.Kind)
			}
			n[m.Kind]++
		}
	}
	for _, k := range kinds {
		of := "Remark on " + count(n[k], "trial")
		if n[k] > 1 {
			of += ", for one"
		}
		texts = append(texts, of+": "+first[k])
	}
	return texts
}
