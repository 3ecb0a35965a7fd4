package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/rule"
)

// Summary is what remains of many reports: a line for each host, and how
// often each rule fired. It keeps no report, so that thousands of tapes fit.
type Summary struct {
	hosts  []hostRow
	failed []failedTape
	rules  map[string]*ruleCount
	judged int
}

type hostRow struct {
	name    string
	by      map[rule.Harm]int
	unknown int
	worst   string // title of the first finding
}

type failedTape struct{ name, why string }

type ruleCount struct {
	id    string
	harm  rule.Harm
	hosts int
}

// Add takes one report into the summary; name is that of its tape.
func (s *Summary) Add(name string, r Report) {
	s.judged = max(s.judged, r.Judged)
	row := hostRow{name: name, by: countHarms(r.Advice.Findings)}
	waiting := map[string]bool{}
	for _, u := range r.Advice.Unknown {
		for _, id := range u.Rules {
			waiting[id] = true
		}
	}
	row.unknown = len(waiting)
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

// Text writes the summary. Hosts with nothing but notes are counted, and
// listed when all is set.
func (s *Summary) Text(all bool, screen Screen) string {
	p := newPage(screen)
	head := count(len(s.hosts), "host") + " judged by " + count(s.judged, "rule")
	if len(s.failed) > 0 {
		head += " · " + count(len(s.failed), "tape") + " could not be read"
	}
	p.hang(plain, "", head)
	s.table(p, all)
	s.frequent(p)
	if len(s.failed) > 0 {
		p.blank()
		p.line(bold, "NOT READ")
		for _, f := range s.failed {
			p.hang(plain, "    ", f.name+": "+f.why)
		}
	}
	return p.String()
}

func (s *Summary) table(p *page, all bool) {
	slices.SortStableFunc(s.hosts, func(a, b hostRow) int {
		order := 0
		for _, h := range advise.Harms() {
			order = cmp.Or(order, cmp.Compare(b.by[h], a.by[h]))
		}
		return cmp.Or(order, cmp.Compare(a.name, b.name))
	})
	names := len("host")
	for _, h := range s.hosts {
		names = max(names, min(width(clean(h.name)), 32))
	}
	p.blank()
	p.line(bold, columns("host", names+2)+"danger  outage  slow  note  unknown  worst")
	quiet := 0
	for _, h := range s.hosts {
		if h.worst == "" && !all {
			quiet++
			continue
		}
		p.hang(plain, fmt.Sprintf("%s%6s  %6s  %4s  %4s  %7s  ", columns(clean(h.name), names+2), digits(h.by[rule.Danger]),
			digits(h.by[rule.Outage]), digits(h.by[rule.Slow]), digits(h.by[rule.Note]), digits(h.unknown)), h.worst)
	}
	if quiet > 0 {
		p.para(dim, 0, count(quiet, "host")+" with nothing worse than a note (--all lists them)")
	}
}

// digits writes a count; nothing is a dot, so that numbers stand out.
func digits(n int) string {
	if n == 0 {
		return "."
	}
	return fmt.Sprint(n)
}

func (s *Summary) frequent(p *page) {
	list := slices.SortedFunc(maps.Values(s.rules), func(a, b *ruleCount) int {
		return cmp.Or(cmp.Compare(slices.Index(advise.Harms(), a.harm), slices.Index(advise.Harms(), b.harm)),
			cmp.Compare(b.hosts, a.hosts), strings.Compare(a.id, b.id))
	})
	if len(list) == 0 {
		return
	}
	p.blank()
	p.line(bold, "BY RULE")
	for i, r := range list {
		if i == maxFrequent {
			p.para(dim, 4, "and "+count(len(list)-maxFrequent, "other rule"))
			return
		}
		p.hang(plain, fmt.Sprintf("    %-8s", r.harm), r.id+" on "+count(r.hosts, "host"))
	}
}
