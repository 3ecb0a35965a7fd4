package check

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

//go:embed html/*
var webPages embed.FS

// PageOptions say what a page shows.
type PageOptions struct {
	Only    []string                // kinds or servers, as in Options
	Explain func(*rule.Rule) string // the text that explains a rule; nil: the one that it has
}

// HTML makes one page of the report of one host, for those who were not there:
// all that was found, and nothing cut.
func HTML(r check.Report, o PageOptions) ([]byte, error) {
	html, err := web("check.html").HTML(reportPage(r, o, ""))
	if err != nil {
		return nil, fmt.Errorf("make the page of %s: %w", cmp.Or(hostName(r.Stack), "this host"), err)
	}
	return html, nil
}

func web(name string) page.Web {
	return page.Web{Files: webPages, Name: name, Styles: []string{"check.css"}, Funcs: template.FuncMap{"ticks": ticks, "counted": units.Count[int]}}
}

// piece is a piece of a sentence: plain, or what stood between backticks.
type piece struct{ Text, Code string }

// ticks finds what a sentence has between backticks; one that has no fellow
// is a character like others.
func ticks(s string) []piece {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 {
		return []piece{{Text: s}}
	}
	var out []piece
	for i, p := range parts {
		if i%2 == 1 && p != "" {
			out = append(out, piece{Code: p})
		} else {
			out = append(out, piece{Text: p})
		}
	}
	return out
}

// reportHTML is what the template is given of one host.
type reportHTML struct {
	ID       string // where links to it lead, among many; "" when it is alone
	Title    string
	Name     string
	Answer   string
	Meta     []string
	Harms    []harmHTML
	Host     []string // what is worth saying of the machine
	Servers  []drawnHTML
	Unused   []drawnHTML
	Remarks  []string // beside the drawing
	Groups   []groupHTML
	Settled  []string
	Steps    []stepHTML
	ByHand   []adviceHTML
	NextHead string
	Next     []nextHTML
	Waiting  []waitingHTML
	Unseen   []picture.Unseen
	Foot     []string
}

// harmHTML is how many findings have a harm.
type harmHTML struct {
	Harm rule.Harm
	N    int
}

// groupHTML are the findings of one harm.
type groupHTML struct {
	Harm     rule.Harm
	Heading  string
	Findings []findingHTML
}

// nextHTML says when to ask again about one server.
type nextHTML struct {
	Text  string
	Rules []string
}

// waitingHTML is one reason for which rules could not be judged.
type waitingHTML struct {
	What      string // "48 facts of mysql:3306"
	All       string // which; "" when that says it
	Why, Hint string
	Rules     []string
}

// reportPage prepares the page of one host.
func reportPage(r check.Report, o PageOptions, id string) *reportHTML {
	c := CheckPage{Facts: picture.Facts{Cat: r.Catalog}, r: r, all: true}
	d := &reportHTML{ID: id, Name: cmp.Or(hostName(r.Stack), "this host"), Answer: answer(r), Meta: hostMeta(r), Foot: readHow(r)}
	d.Title = "Check of " + d.Name
	if o.Explain == nil {
		o.Explain = func(r *rule.Rule) string { return r.Explain }
	}
	d.Harms = harmCounts(countHarms(r.Advice.Findings))
	c.drawStack(d, o)
	for _, h := range advise.Harms() {
		g := groupHTML{Harm: h, Heading: harmHeading(h)}
		for _, f := range r.Advice.Findings {
			if f.Rule.Harm == h {
				g.Findings = append(g.Findings, c.findingHTML(f, o.Explain(f.Rule)))
			}
		}
		if len(g.Findings) > 0 {
			d.Groups = append(d.Groups, g)
		}
	}
	for _, k := range r.Advice.Conflicts {
		d.Settled = append(d.Settled, c.settled(k))
	}
	for i, s := range r.Advice.Plan.Steps {
		d.Steps = append(d.Steps, c.stepHTML(i+1, s))
	}
	d.ByHand = c.byHand()
	d.NextHead = "Next: check again under load" + afterwards(r.Advice.Plan)
	for _, f := range r.Advice.Foretold {
		d.Next = append(d.Next, nextHTML{Text: f.Server.String() + ": " + when(f) + page.Join(f.About) + ".", Rules: f.Rules})
	}
	for _, u := range (CheckPage{}).alike(r.Advice.Unknown) { // in short: what was not seen is told in full below
		d.Waiting = append(d.Waiting, c.waitingHTML(u))
	}
	d.Unseen = c.AllUnseen(r.Stack, r.Stack.Gaps)
	return d
}

func hostName(s *stack.Stack) string {
	if h := s.Host(); h != nil {
		return cmp.Or(h.Text("hostname"), h.Ref.Name)
	}
	return ""
}

// answer is the sentence that the page begins with.
func answer(r check.Report) string {
	fs := r.Advice.Findings
	if len(fs) > 0 {
		return findingsText(fs) + "."
	}
	if nothingToSay(r) {
		return "Nothing is out of line."
	}
	return "Nothing is out of line in what could be seen."
}

// hostMeta is the line of facts below the answer.
func hostMeta(r check.Report) []string {
	_, machine, _ := strings.Cut(picture.HostLine(r.Stack), " · ")
	facts := strings.Split(machine, " · ")
	facts = append(facts, readAt(r.Stack), readAs(r.Stack), factCount(r.Stack), units.Count(r.Judged, "rule")+" judged", "nothing was changed")
	facts = slices.DeleteFunc(facts, func(f string) bool { return f == "" })
	return facts
}

func readAt(s *stack.Stack) string {
	if s.TakenAt.IsZero() {
		return "when it was read is not known"
	}
	return "read on " + s.TakenAt.UTC().Format("2 January 2006 at 15:04") + " UTC"
}

func readAs(s *stack.Stack) string {
	if s.Root {
		return "as root"
	}
	return "without root's rights"
}

// readHow says by what, when and as whom the host was read.
func readHow(r check.Report) []string {
	by := "Made by Plumb"
	if r.Plumb != "" {
		by += " " + r.Plumb
	}
	out := []string{by, readAt(r.Stack) + " " + readAs(r.Stack)}
	if r.From != "" {
		out = append(out, "from the tape "+path.Base(r.From))
	}
	return out
}

// harmCounts gives all harms, the worst first.
func harmCounts(by map[rule.Harm]int) []harmHTML {
	var out []harmHTML
	for _, h := range advise.Harms() {
		out = append(out, harmHTML{h, by[h]})
	}
	return out
}

// drawnHTML is one place of the drawing.
type drawnHTML struct {
	Kind    string
	Rows    []page.Row
	Kids    []drawnHTML
	Leaves  bool // several kids stand side by side, and nothing below them
	Breadth int  // how many stand side by side where it is broadest
}

// drawStack draws each server down to its disks, and says what is worth
// knowing of the machine.
func (c CheckPage) drawStack(d *reportHTML, o PageOptions) {
	s := c.r.Stack
	if h := s.Host(); h != nil {
		d.Host = append(d.Host, c.Said(h))
	}
	if m := s.Find(stack.Ref{Kind: "memory", Name: "host"}); m != nil {
		d.Host = append(d.Host, c.Memory(m))
	}
	d.Host = slices.DeleteFunc(d.Host, func(t string) bool { return t == "" })
	drawing := picture.Draw(s, c.Facts)
	for _, db := range picture.Chosen(s, o.Only) {
		d.Servers = append(d.Servers, drawnOf(drawing.Server(db)))
	}
	if len(picture.Servers(s)) == 0 {
		d.Remarks = append(d.Remarks, picture.NoServers(s))
	}
	if len(o.Only) == 0 {
		for _, n := range drawing.Unused() {
			d.Unused = append(d.Unused, drawnOf(n))
		}
	}
}

func drawnOf(n page.Node) drawnHTML {
	d := drawnHTML{Kind: n.Kind, Leaves: len(n.Kids) > 1}
	for _, r := range n.Rows {
		r.Detail = strings.ReplaceAll(r.Detail, " -> ", " → ")
		d.Rows = append(d.Rows, r)
	}
	for _, k := range n.Kids {
		kid := drawnOf(k)
		d.Kids, d.Breadth = append(d.Kids, kid), d.Breadth+kid.Breadth
		d.Leaves = d.Leaves && len(k.Kids) == 0
	}
	d.Breadth = max(1, d.Breadth)
	return d
}

func (c CheckPage) waitingHTML(u advise.Unknown) waitingHTML {
	w := waitingHTML{What: c.needs(u.Needs), All: c.allNeeds(u.Needs), Why: u.Why, Hint: u.Hint, Rules: u.Rules}
	if strings.ReplaceAll(w.What, string(page.NoBreak), " ") == w.All {
		w.All = ""
	}
	return w
}

// allNeeds names all facts that are missing, thing by thing.
func (c CheckPage) allNeeds(list []string) string {
	var all []string
	for _, n := range c.byThing(list) {
		all = append(all, strings.Join(n.facts, ", ")+" of "+n.thing)
	}
	return strings.Join(all, "; ")
}
