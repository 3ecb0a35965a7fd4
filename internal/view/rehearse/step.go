package rehearse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/rehearse"
	"plumb/internal/stats"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// stepRow is a step and what is known of it, in the words of a page.
type stepRow struct {
	head, name      string
	rate, p99, word string
	ink             page.Ink
}

// verdicts writes the steps as a table where the page is wide enough, and
// otherwise one below the other. Below each stands what is to be said of it.
func (p rehearsalPage) verdicts(r rehearse.Result) {
	rows := make([]stepRow, len(r.Steps))
	for i, v := range r.Steps {
		rows[i] = p.row(fmt.Sprintf("%2d  ", stepNumber(r, i)), v)
	}
	write, heads := p.tabled(rows)
	if heads != "" {
		p.Line(page.Dim, heads)
	}
	for i, v := range r.Steps {
		write(rows[i])
		p.details(v)
	}
}

func (p rehearsalPage) row(head string, v rehearse.Verdict) stepRow {
	row := stepRow{head: head, name: v.Arm, rate: units.Differs(v.Rate), p99: units.Differs(v.P99), word: wordWithMore(v), ink: wordInk(v)}
	if v.Step != nil {
		row.name = changeText(p.Facts, *v.Step, " -> ")
	}
	return row
}

// wordInk makes what helps and what harms stand out.
func wordInk(v rehearse.Verdict) page.Ink {
	switch v.Word {
	case rehearse.Helps:
		return page.Cyan
	case rehearse.Harms:
		return page.Red
	case rehearse.Undecided:
		return page.Yellow
	}
	return page.Dim
}

// Widths of the table: of the longest name in it, and of the last column.
const (
	mostName  = 48
	leastWord = 18
)

// tabled gives what writes a row, and the heading of the table when there is
// something to put into columns and the page has room for them.
func (p rehearsalPage) tabled(rows []stepRow) (write func(stepRow), heads string) {
	name, rate, p99 := page.Width("step"), page.Width("transactions/s"), page.Width("p99")
	for _, r := range rows {
		name, rate, p99 = max(name, min(page.Width(r.name), mostName)), max(rate, page.Width(r.rate)), max(p99, page.Width(r.p99))
	}
	const number, gap = 4, 2
	measured := slices.ContainsFunc(rows, func(r stepRow) bool { return r.rate != "–" || r.p99 != "–" })
	if !measured || number+name+rate+p99+3*gap+leastWord > p.Width {
		return p.stacked, ""
	}
	line := func(head, n, r, q string) string {
		return head + page.Columns(n, name+gap) + page.Columns(r, rate+gap) + page.Columns(q, p99+gap)
	}
	write = func(r stepRow) {
		if page.Width(r.name) > name {
			p.Hang(page.Bold, r.head, r.name)
			r.head, r.name = strings.Repeat(" ", number), ""
		}
		p.Within(p.Width, page.Normal, line(r.head, r.name, r.rate, r.p99), r.ink, r.word)
	}
	return write, line(strings.Repeat(" ", number), "step", "transactions/s", "p99") + "verdict"
}

func (p rehearsalPage) stacked(r stepRow) {
	p.Sides(r.head, page.Bold, r.name, r.ink, r.word)
	if r.rate != "–" || r.p99 != "–" {
		p.Para(page.Normal, 4, page.Keep("transactions/s "+r.rate)+" · "+page.Keep("p99 "+r.p99))
	}
}

// details says what the numbers do not.
func (p rehearsalPage) details(v rehearse.Verdict) {
	say := func(label, text string) {
		if text != "" {
			p.Labelled(page.Dim, "    "+label, page.Normal, text)
		}
	}
	if v.Failed != "" {
		p.Labelled(page.Dim, "    ", page.Red, sentenceOf(v.Failed))
	}
	if s := v.Step; s != nil {
		say("", sentenceOf(s.Left))
		say("", withText(*s))
		say("in the sandbox: ", s.Scaled)
		say("durability: ", durabilityText(*s, " -> "))
	}
	say("per transaction: ", costChanges(v.Costs))
	say("", page.KeepIntervals(verdictWhy(v)))
}

// changeText writes what a step sets: innodb_buffer_pool_size 128M -> 6G. What
// is not a server's own setting is named with what it belongs to.
func changeText(v picture.Facts, s rehearse.Step, arrow string) string {
	of, name := s.Knob.Of, v.Name(s.Knob.Of.Kind, s.Knob.Name)
	if of.Kind != "host" && of.Kind != "zfs" && !product.IsServer(of.Kind) {
		name = of.Name + " " + name
	}
	from := "not known"
	if !s.From.IsAbsent() {
		from = v.Show(of.Kind, s.Knob.Name, s.From)
	}
	return name + " " + page.Keep(from+arrow+v.Show(of.Kind, s.Knob.Name, s.To))
}

// withText says which steps were tried in the same arm, and on top of what.
func withText(s rehearse.Step) string {
	late := s.Note == rehearse.AfterTheRest
	var text []string
	if late {
		text = append(text, sentenceOf(s.Note+", and is tried on top of that"))
	}
	if len(s.With) > 0 {
		text = append(text, "Tried together with "+numbered(s.With)+togetherWhy(len(s.With), late)+".")
	}
	return strings.Join(text, " ")
}

// numbered writes step 2, or steps 2 and 3.
func numbered(steps []int) string {
	if len(steps) == 1 {
		return fmt.Sprintf("step %d", steps[0])
	}
	var all []string
	for _, n := range steps {
		all = append(all, fmt.Sprint(n))
	}
	return "steps " + page.Join(all)
}

func togetherWhy(others int, late bool) string {
	switch {
	case late: // whatever the rules
		return ""
	case others == 1:
		return ": the same rule asks for both"
	}
	return ": the same rule asks for them"
}

// durabilityText says what a step does to durability; "" when it is safe
// before and after.
func durabilityText(s rehearse.Step, arrow string) string {
	from, to := cmp.Or(s.DurabilityFrom, catalog.Safe), cmp.Or(s.DurabilityTo, catalog.Safe)
	switch {
	case from == to && to == catalog.Safe:
		return ""
	case from == to:
		return to + ", as it is"
	}
	return from + arrow + to
}

// verdictWhy says why a step is kept, or is not.
func verdictWhy(v rehearse.Verdict) string {
	if v.Step == nil {
		return ""
	}
	why := strings.TrimSpace(v.Why)
	for _, said := range []string{"kept", "left out", "not kept"} {
		if strings.HasPrefix(strings.ToLower(why), said) {
			return sentenceOf(why)
		}
	}
	word := "Left out"
	if v.Keep {
		word = "Kept"
	}
	switch {
	case why != "":
		return sentenceOf(word + ": " + why)
	case v.Word == rehearse.NotTried && !v.Keep:
		return "" // why it was not tried says it
	}
	return word + "."
}

// sentenceOf begins with a capital and ends with a full stop.
func sentenceOf(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.ContainsRune(".!?", rune(text[len(text)-1])) {
		text += "."
	}
	if i := strings.IndexAny(text, " _.:"); i > 0 && (text[i] == '_' || text[i] == '.' && i < len(text)-1) { // a setting's name stays as it is
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// mostCosts is how many costs a page of text names.
const mostCosts = 3

// costChanges names the costs of an operation that surely changed, the
// largest change first: device written 11.2 KiB -> 4.03 KiB.
func costChanges(costs []rehearse.Cost) string {
	var sure []rehearse.Cost
	for _, c := range costs {
		same := func(o rehearse.Cost) bool { return o.Before.Value == c.Before.Value && o.After.Value == c.After.Value } // a part that is the whole
		if strings.HasSuffix(c.Unit, "/op") && apart(c.Before, c.After) && !slices.ContainsFunc(sure, same) {
			sure = append(sure, c)
		}
	}
	slices.SortStableFunc(sure, func(a, b rehearse.Cost) int { return cmp.Compare(factor(b), factor(a)) })
	var parts []string
	for _, c := range sure[:min(mostCosts, len(sure))] {
		parts = append(parts, page.Keep(c.Layer+" "+c.Name+" "+beside(c, c.Before.Value)+" -> "+beside(c, c.After.Value)))
	}
	return strings.Join(parts, ", ")
}

// beside writes one of the two numbers of a cost. Nobody reads a byte beside
// hundreds of kilobytes.
func beside(c rehearse.Cost, v float64) string {
	switch {
	case v == 0:
		return "none"
	case v < max(c.Before.Value, c.After.Value)/1000:
		return "hardly any"
	}
	return labview.CostNumber(c.Unit)(v)
}

// apart tells whether two intervals have nothing in common and lie a tenth
// from each other: less is not worth a line.
func apart(a, b stats.Estimate) bool {
	if !units.Ranged(a) || !units.Ranged(b) || a.Value < 0 || b.Value < 0 {
		return false
	}
	return (a.High < b.Low || b.High < a.Low) && math.Abs(a.Value-b.Value) >= 0.1*max(a.Value, b.Value)
}

// factor is how many times a cost grew or shrank.
func factor(c rehearse.Cost) float64 {
	least, most := min(c.Before.Value, c.After.Value), max(c.Before.Value, c.After.Value)
	if least <= 0 {
		return math.Inf(1)
	}
	return most / least
}
