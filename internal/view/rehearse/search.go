package rehearse

import (
	"fmt"
	"math"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/search"
	"plumb/internal/stats"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
)

// Search shows what a search for better numbers has found: the best
// and what it brings, measured again, and the response to each setting. scale is
// the sandbox's memory as a part of the server's.
func Search(s rehearse.Search, scale float64, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Para(page.Bold, 0, strings.Join(searchHead(s), " · "))
	p.Blank()
	searchBest(p, s, scale)
	for _, c := range s.Curves {
		p.Blank()
		searchCurve(p, s, c)
	}
	if len(s.Left)+len(s.Says) > 0 {
		p.Blank()
	}
	for _, l := range s.Left {
		p.Hang(page.Dim, "not searched: ", l)
	}
	for _, n := range s.Says {
		p.Para(page.Dim, 0, n)
	}
	return p.String()
}

// SearchLine says in one line how a search goes.
func SearchLine(s rehearse.Search) string {
	text := "search: " + units.Count(len(s.Tried), "trial")
	if s.Best == nil {
		return text + ", none with a value yet"
	}
	var values []string
	for i, d := range s.Dials {
		values = append(values, d.Name+" "+dialValue(d, s.Best[i]))
	}
	return plainSpaces(text + ", most promising " + strings.Join(values, ", ") + ": about " + units.Signed(s.Expected.Value) + " against as is")
}

// searchHead are the facts of the first line.
func searchHead(s rehearse.Search) []string {
	values, broken, spoilt := s.Counted()
	head := []string{"search for better numbers", units.Count(len(s.Dials), "setting"), units.Count(len(s.Tried), "trial")}
	if broken > 0 {
		head = append(head, fmt.Sprintf("%d could not run", broken))
	}
	if spoilt > 0 {
		head = append(head, fmt.Sprintf("%d do not count", spoilt))
	}
	if values == 0 {
		head = append(head, "none gave a value")
	}
	if s.Took > 0 {
		head = append(head, units.Planned(s.Took))
	}
	if s.Ended != "" {
		head = append(head, s.Ended)
	}
	return head
}

// searchBest says what the most promising point is, and what it brought.
func searchBest(p *page.Page, s rehearse.Search, scale float64) {
	p.Para(page.Bold, 0, searchSentence(s))
	if s.Best == nil {
		return
	}
	for i, d := range s.Dials {
		text := dialValue(d, s.Best[i])
		if real := atServer(d, s.Best[i], scale); real != "" {
			text += " (" + real + " at the server's size)"
		}
		p.Para(page.Normal, 4, d.Name+" = "+page.Keep(text))
	}
	for _, v := range s.Confirmed {
		p.Hang(page.Normal, "    against "+v.Baseline+": ", page.Keep(units.Differs(v.Effect))+": "+labview.VerdictWords(v))
	}
	if plan := searchPlan(s); plan != "" {
		p.Para(page.Normal, 0, plan)
	}
	if units.MeasuredAtAll(s.Expected) {
		p.Hang(page.Dim, "    ", "by all trials together "+page.Keep(units.Differs(s.Expected))+" against as is was to be expected")
	}
}

// searchSentence answers whether the numbers found are worth setting.
func searchSentence(s rehearse.Search) string {
	if s.Best == nil {
		return "No trial gave a value, so there is no result."
	}
	if s.Broken != "" {
		return "The best point could not run when it was measured again: " + s.Broken
	}
	if s.AsAdvised() {
		return "No point that was tried looks better than what is advised, or is in force."
	}
	if len(s.Confirmed) == 0 {
		return "The most promising point; it was not measured again, so its gain is not proven."
	}
	v := s.Confirmed[0]
	against := "what is advised"
	if v.Baseline == rehearse.AsIs {
		against = "the server as it is"
	}
	switch v.Word {
	case report.Better:
		return "The best point is better than " + against + ", measured again: " + page.Keep(units.Differs(v.Effect)) + "."
	case report.Worse:
		return "The best point looked better only by chance: measured again it is worse than " + against + ", " + page.Keep(units.Differs(v.Effect)) + "."
	case report.Equivalent:
		return "The best point is no better than " + against + ": equal within ±" + units.RoundPercent(v.Margin) + ", measured again. These settings have nothing to gain."
	}
	if units.MeasuredAtAll(v.Effect) {
		return "Whether the best point is better than " + against + " is undecided: " + page.Keep(units.Differs(v.Effect)) + ", measured again."
	}
	return "Whether the best point is better than " + against + " is not known: its new measurement did not end."
}

// searchPlan says whether the numbers found are in the plan of what is kept; ""
// when that is not settled.
func searchPlan(s rehearse.Search) string {
	switch {
	case s.InPlan:
		return "The plan of what is kept has these values."
	case s.Why != "":
		return "The plan of what is kept does not have these values: " + s.Why + "."
	}
	return ""
}

// dialValue writes a value for people.
func dialValue(d rehearse.Tunable, v float64) string { return catalog.ShowAs(d.Type, d.Value(v)) }

// atServer is the value for the real server, where the sandbox is smaller; ""
// where it is the same.
func atServer(d rehearse.Tunable, v, scale float64) string {
	if !d.Memory || !(scale > 0) || scale > 0.95 {
		return ""
	}
	return dialValue(d, d.AtServer(v, scale))
}

// searchCurve writes the response to one setting: a line for each value, with a
// picture of the interval.
func searchCurve(p *page.Page, s rehearse.Search, c search.Curve) {
	d := s.Dials[c.Dimension]
	p.Sides("", page.Bold, d.Name, curveInk(c.Word), curveWord(c, s.Margin))
	if c.Word == search.NoMatter {
		return
	}
	name, effect, reach := 0, 0, 0
	for i, v := range c.Values {
		name, effect, reach = max(name, page.Width(dialValue(d, v))), max(effect, page.Width(units.Signed(c.Response[i].Value))), max(reach, page.Width(units.DiffersRange(c.Response[i])))
	}
	room := p.Width - 4 - name - effect - reach - 6
	low, high := curveBounds(c)
	for i, v := range c.Values {
		e, i2 := c.Response[i], page.Normal
		if i == c.Best {
			i2 = page.Bold
		}
		line := "    " + page.Right(dialValue(d, v), name) + "  " + page.Right(units.Signed(e.Value), effect) + "  " + page.Columns(units.DiffersRange(e), reach+1)
		if room >= 12 {
			line += " " + strip(e, low, high, min(room, 40))
		}
		p.Line(i2, line)
	}
}

func curveInk(word string) page.Ink {
	switch word {
	case search.Matters:
		return page.Cyan
	case search.NotDecided:
		return page.Yellow
	}
	return page.Dim
}

// curveWord says what a curve shows.
func curveWord(c search.Curve, margin float64) string {
	switch c.Word {
	case search.Matters:
		return fmt.Sprintf("matters: best against worst %s", units.Differs(c.Spread))
	case search.NoMatter:
		return "makes no difference larger than " + units.RoundPercent(margin)
	}
	return "not decided whether it matters"
}

// curveBounds are the ends of a curve's picture, as logarithms of ratios.
func curveBounds(c search.Curve) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, e := range c.Response {
		low, high = min(low, math.Log1p(max(-0.99, e.Low))), max(high, math.Log1p(e.High))
	}
	return low, high
}

// strip draws an interval with its value on a line of n columns.
func strip(e stats.Estimate, low, high float64, n int) string {
	if !units.IsReal(low) || !units.IsReal(high) || high <= low {
		return ""
	}
	at := func(part float64) int {
		where := (math.Log1p(max(-0.99, part)) - low) / (high - low)
		return min(n-1, max(0, int(math.Round(where*float64(n-1)))))
	}
	cells := []rune(strings.Repeat(" ", n))
	for i := at(e.Low); i <= at(e.High); i++ {
		cells[i] = '─'
	}
	cells[at(e.Value)] = '│'
	return string(cells)
}
