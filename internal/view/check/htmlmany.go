package check

import (
	"fmt"
	htmltemplate "html/template"

	"plumb/internal/check"
	"plumb/internal/rule"
	"plumb/internal/units"
)

// maxPages is how many bytes of reports a page of many hosts holds. A browser
// still opens that; hosts beyond it have their line in the table alone.
const maxPages = 64 << 20

// AddPage takes one report into the summary, and its page as it is shown.
func (s *Summary) AddPage(name string, r check.Report, o PageOptions) error {
	s.Add(name, r)
	d := reportPage(r, o, fmt.Sprintf("host%d", len(s.hosts)))
	html, err := web("report").HTML(d)
	if err != nil {
		return fmt.Errorf("make the page of %s: %w", name, err)
	}
	if s.pages += len(html); s.pages <= maxPages {
		row := &s.hosts[len(s.hosts)-1]
		row.page, row.id = htmltemplate.HTML(html), d.ID // made by our own template, which escapes
	}
	return nil
}

// manyHTML is what the template is given of many hosts.
type manyHTML struct {
	Title   string
	Head    string
	Harms   []harmHTML // findings on all hosts
	Hosts   []manyHost
	Rules   []manyRule // the most frequent
	More    []manyRule // the others
	Failed  []failedHTML
	Without int // hosts whose report found no room
	Foot    []string
}

type manyHost struct {
	ID, Name string
	Counts   []harmHTML
	Unknown  int
	Worst    string
	Page     htmltemplate.HTML
}

type manyRule struct {
	Hosts int
	Harm  rule.Harm
	ID    string
}

type failedHTML struct{ Name, Why string }

// HTML makes one page of all hosts: by harm, the rules that fired most often,
// and behind the line of each host its report, which AddPage has kept.
func (s *Summary) HTML(plumb string) ([]byte, error) {
	html, err := web("many.html").HTML(s.page(plumb))
	if err != nil {
		return nil, fmt.Errorf("make the page of %s: %w", units.Count(len(s.hosts), "host"), err)
	}
	return html, nil
}

func (s *Summary) page(plumb string) *manyHTML {
	s.sort()
	d := &manyHTML{Title: "Check of " + units.Count(len(s.hosts), "host"), Head: units.Count(len(s.hosts), "host") + " judged by up to " + units.Count(s.judged, "rule") + ".",
		Foot: []string{"Made by Plumb " + plumb}}
	all := map[rule.Harm]int{}
	for _, h := range s.hosts {
		for harm, n := range h.by {
			all[harm] += n
		}
		if h.page == "" {
			d.Without++
		}
		d.Hosts = append(d.Hosts, manyHost{ID: h.id, Name: h.name, Counts: harmCounts(h.by), Unknown: h.unknown, Worst: h.worst, Page: h.page})
	}
	d.Harms = harmCounts(all)
	for _, r := range s.mostFrequent(true) {
		d.Rules = append(d.Rules, manyRule{r.hosts, r.harm, r.id})
	}
	n := min(maxFrequent, len(d.Rules))
	d.Rules, d.More = d.Rules[:n], d.Rules[n:]
	for _, f := range s.failed {
		d.Failed = append(d.Failed, failedHTML{f.name, f.why})
	}
	return d
}
