package check

import (
	"cmp"
	"fmt"
	htmltemplate "html/template"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/rule"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Summary is what remains of many reports: a line for each host, and how
// often each rule fired. It keeps no report, so that thousands of tapes fit;
// for a page it keeps them as they are shown, within a limit.
type Summary struct {
	hosts  []hostRow
	failed []failedTape
	rules  map[string]*ruleCount
	judged int
	pages  int // bytes of all pages kept
}

type hostRow struct {
	name    string
	by      map[rule.Harm]int
	unknown int
	worst   string            // title of the first finding
	page    htmltemplate.HTML // its report; "" when there is none, or no room
	id      string            // where links to it lead
}

type failedTape struct{ name, why string }

type ruleCount struct {
	id    string
	harm  rule.Harm
	hosts int
}

// Add takes one report into the summary; name is that of its tape.
func (s *Summary) Add(name string, r check.Report) {
	s.judged = max(s.judged, r.Judged)
	row := hostRow{name: strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".tape"), by: countHarms(r.Advice.Findings), unknown: rulesUnknown(r)}
	if s.rules == nil {
		s.rules = map[string]*ruleCount{}
	}
	for i, f := range r.Advice.Findings {
		if i == 0 && f.Rule.Harm != rule.Note {
			row.worst = f.Cases[0].Title
		}
		n := s.rules[f.Rule.ID]
		if n == nil {
			n = &ruleCount{id: f.Rule.ID, harm: f.Rule.Harm}
			s.rules[f.Rule.ID] = n
		}
		n.hosts++
	}
	s.hosts = append(s.hosts, row)
}

// Fail takes a tape that could not be read into the summary.
func (s *Summary) Fail(name string, err error) {
	s.failed = append(s.failed, failedTape{name, err.Error()})
}

// Failed is how many tapes could not be read.
func (s *Summary) Failed() int { return len(s.failed) }

// maxFrequent is how many rules the list of the most frequent has.
const maxFrequent = 12

// maxHosts is how many hosts are listed, worst first.
const maxHosts = 40

// Text writes the summary. Hosts with nothing but notes are counted, and
// listed when all is set.
func (s *Summary) Text(all bool, screen page.Screen) string {
	p := page.NewPage(screen)
	head := units.Count(len(s.hosts), "host") + " judged by up to " + units.Count(s.judged, "rule")
	if len(s.failed) > 0 {
		head += " · " + units.Count(len(s.failed), "tape") + " could not be read"
	}
	p.Hang(page.Normal, "", head)
	s.table(p, all)
	s.frequent(p, all)
	if len(s.failed) > 0 {
		p.Blank()
		p.Line(page.Bold, "NOT READ")
		for _, f := range s.failed {
			p.Hang(page.Normal, "    ", f.name+": "+f.why)
		}
	}
	return p.String()
}

// sort puts the worst host first.
func (s *Summary) sort() {
	slices.SortStableFunc(s.hosts, func(a, b hostRow) int {
		order := 0
		for _, h := range advise.Harms() {
			order = cmp.Or(order, cmp.Compare(b.by[h], a.by[h]))
		}
		return cmp.Or(order, cmp.Compare(a.name, b.name))
	})
}

func (s *Summary) table(p *page.Page, all bool) {
	s.sort()
	names := len("host")
	for _, h := range s.hosts {
		names = max(names, min(page.Width(page.Clean(h.name)), 32, p.Width-45))
	}
	p.Blank()
	p.Line(page.Bold, page.Columns("host", names+2)+"danger outage slow note unknown  worst")
	quiet, more := 0, 0
	for i, h := range s.hosts {
		switch {
		case all:
		case h.worst == "":
			quiet++
			continue
		case i >= maxHosts:
			more++
			continue
		}
		line := fmt.Sprintf("%s%6s %6s %4s %4s %7s  ", page.Columns(page.Cut(page.Clean(h.name), names), names+2), digits(h.by[rule.Danger]),
			digits(h.by[rule.Outage]), digits(h.by[rule.Slow]), digits(h.by[rule.Note]), digits(h.unknown))
		p.Line(page.Normal, line+page.Cut(page.Clean(h.worst), p.Width-page.Width(line)))
	}
	if more > 0 {
		p.Para(page.Dim, 0, "and "+units.Count(more, "host")+" less bad than these (--all lists them)")
	}
	if quiet > 0 {
		p.Para(page.Dim, 0, units.Count(quiet, "host")+" with nothing worse than a note (--all lists them)")
	}
}

// digits writes a count; nothing is a dot, so that numbers stand out.
func digits(n int) string {
	if n == 0 {
		return "."
	}
	return fmt.Sprint(n)
}

// mostFrequent gives the rules that fired on most hosts. Notes are left out
// unless all is asked for.
func (s *Summary) mostFrequent(all bool) []*ruleCount {
	var list []*ruleCount
	for _, r := range s.rules {
		if all || r.harm != rule.Note {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *ruleCount) int {
		return cmp.Or(cmp.Compare(b.hosts, a.hosts),
			cmp.Compare(slices.Index(advise.Harms(), a.harm), slices.Index(advise.Harms(), b.harm)), strings.Compare(a.id, b.id))
	})
	return list
}

// frequent lists those rules, and behind them how many more there are.
func (s *Summary) frequent(p *page.Page, all bool) {
	list := s.mostFrequent(all)
	if len(list) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Bold, "MOST FREQUENT")
	for i, r := range list {
		if i == maxFrequent && !all {
			p.Para(page.Dim, 0, "and "+units.Count(len(list)-maxFrequent, "other rule")+" (--all lists them)")
			return
		}
		p.Hang(page.Normal, fmt.Sprintf("%9s  %-8s", units.Count(r.hosts, "host"), r.harm), r.id)
	}
}
