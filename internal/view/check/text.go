package check

import (
	"fmt"
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

// Options say how much of a report to show.
type Options struct {
	All  bool     // notes in full, every case, every reason
	Only []string // kinds or servers; when any server is among them, the others are not drawn
}

// Text writes the report of one host as text.
func Text(r check.Report, o Options, screen page.Screen) string {
	c := CheckPage{Page: page.NewPage(screen), Facts: picture.Facts{Cat: r.Catalog}, r: r, all: o.All}
	c.Hang(page.Normal, "", strings.TrimPrefix(picture.HostLine(r.Stack)+" · "+factCount(r.Stack)+c.taken(), " · "))
	if nothingToSay(r) {
		c.quiet()
		return c.String()
	}
	for _, db := range picture.Chosen(r.Stack, o.Only) {
		c.server(db)
	}
	if len(picture.Servers(r.Stack)) == 0 {
		c.Blank()
		c.Para(page.Normal, 0, picture.NoServers(r.Stack))
	}
	for _, h := range advise.Harms() {
		c.harm(h)
	}
	c.conflicts()
	c.unknown()
	c.foretold()
	c.foot()
	return c.String()
}

// nothingToSay reports whether there is nothing to say: no finding, and no rule that
// waits for a fact.
func nothingToSay(r check.Report) bool {
	return len(r.Advice.Findings) == 0 && len(r.Advice.Unknown) == 0 && len(picture.OfHost(r.Stack.Gaps)) == 0 && len(picture.Servers(r.Stack)) > 0
}

// CheckPage is the page that the report of one host is written on.
type CheckPage struct {
	*page.Page
	picture.Facts
	r   check.Report
	all bool
}

func factsIn(s *stack.Stack) (n int) {
	for _, t := range s.Things {
		n += len(t.Facts)
	}
	return n
}

// rulesUnknown counts the rules that could not be judged for at least one thing.
func rulesUnknown(r check.Report) int {
	rules := map[string]bool{}
	for _, u := range r.Advice.Unknown {
		for _, id := range u.Rules {
			rules[id] = true
		}
	}
	return len(rules)
}

func factCount(s *stack.Stack) string {
	text := units.Count(factsIn(s), "fact")
	if len(s.Gaps) > 0 {
		text += fmt.Sprintf(", %d not visible", len(s.Gaps))
	}
	return text
}

// taken says when a tape was made: what it holds may be old.
func (c CheckPage) taken() string {
	if c.r.From == "" || c.r.Stack.TakenAt.IsZero() {
		return ""
	}
	return " · taken " + units.Minute(c.r.Stack.TakenAt)
}

// quiet writes the rest of a healthy host: a line for each server, and one
// that says that nothing is out of line.
func (c CheckPage) quiet() {
	for _, db := range picture.Servers(c.r.Stack) {
		text := db.Ref.String() + " · " + picture.ServerLine(db)
		if groups := picture.RolesByFilesystem(c.r.Stack, db.Ref); len(groups) > 0 {
			if fs := c.r.Stack.Find(groups[0][0].Filesystem); fs != nil {
				text += " · " + groups[0][0].Name + " on " + picture.InShort(c.r.Stack, fs)
			}
		}
		c.Hang(page.Normal, "", text)
		c.version(db)
	}
	c.Para(page.Normal, 0, fmt.Sprintf("Nothing is out of line: %s judged, nothing was changed.", units.Count(c.r.Judged, "rule")))
	c.foretold()
}

// server writes a server and where its files lie.
func (c CheckPage) server(db *stack.Thing) {
	c.Blank()
	c.Labelled(page.Bold, db.Ref.String()+"  ", page.Normal, picture.ServerLine(db))
	c.version(db)
	var places []picture.Place
	var lost []string
	for _, roles := range picture.RolesByFilesystem(c.r.Stack, db.Ref) {
		fs := c.r.Stack.Find(roles[0].Filesystem)
		if fs == nil {
			lost = append(lost, roles[0].Name)
			continue
		}
		places = append(places, picture.Place{Paths: picture.SamePath(roles), Fs: fs})
	}
	c.places(places)
	if lost = slices.Compact(lost); len(lost) > 0 {
		c.Hang(page.Normal, "  not placed: ", strings.Join(lost, ", "))
	}
}

// version says that a server is of a version that Plumb does not know.
func (c CheckPage) version(db *stack.Thing) {
	if why := c.Cat.Standing(db).Say(db.Text("version")); why != "" {
		c.Hang(page.Normal, "  ", why)
	}
}

// places writes the paths of a server, filesystem by filesystem. What a
// filesystem is stands to the right of its first path where all of them fit,
// and otherwise on a line below its paths.
func (c CheckPage) places(list []picture.Place) {
	names, paths, wheres := 0, 0, 0
	seen := map[stack.Ref]bool{}
	var text []string
	for _, pl := range list {
		text = append(text, page.Clean(c.Where(c.r.Stack, pl.Fs, seen)))
		wheres = max(wheres, page.Width(text[len(text)-1]))
		for _, g := range pl.Paths {
			names, paths = max(names, page.Width(g.Names)), max(paths, page.Width(page.Clean(g.Path)))
		}
	}
	beside := 2+names+2+paths+2+wheres <= c.Width
	if !beside {
		names = min(names, c.Width*5/8)
	}
	for i, pl := range list {
		for j, g := range pl.Paths {
			head := "  " + page.Columns(g.Names, names+2)
			switch {
			case beside && j == 0:
				c.Line(page.Normal, head+page.Columns(page.Clean(g.Path), paths+2)+text[i])
			case page.Width(head)+page.Width(page.Clean(g.Path)) <= c.Width:
				c.Line(page.Normal, head+g.Path)
			default:
				c.Hang(page.Normal, "  ", g.Names)
				c.Within(c.Width, page.Normal, "      ", page.Normal, g.Path)
			}
		}
		if !beside {
			c.Within(c.Width, page.Normal, "    ", page.Normal, text[i])
		}
	}
}

// harm writes all findings of one harm under its heading.
func (c CheckPage) harm(h rule.Harm) {
	started := false
	for _, f := range c.r.Advice.Findings {
		if f.Rule.Harm != h {
			continue
		}
		if !started {
			c.Blank()
			c.Line(harmInk(h), harmHeading(h))
		} else if h != rule.Note || c.all {
			c.Blank()
		}
		started = true
		c.finding(f)
	}
}

func harmHeading(h rule.Harm) string {
	switch h {
	case rule.Danger:
		return "DANGER: data can be lost or damaged"
	case rule.Outage:
		return "OUTAGE: a server can stop, or not start again"
	case rule.Slow:
		return "SLOW: the server works harder than it must"
	}
	return "NOTE: worth knowing"
}

func harmInk(h rule.Harm) page.Ink {
	switch h {
	case rule.Danger:
		return page.Red
	case rule.Outage:
		return page.Yellow
	}
	return page.Bold
}
