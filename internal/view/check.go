package view

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// CheckOptions say how much of a report to show.
type CheckOptions struct {
	All  bool     // notes in full, every case, every reason
	Only []string // kinds or servers; when any server is among them, the others are not drawn
}

// Check writes the report of one host as text.
func Check(r check.Report, o CheckOptions, screen Screen) string {
	c := checkPage{page: newPage(screen), facts: factsOf(r.Catalog), r: r, all: o.All}
	c.hang(plain, "", strings.TrimPrefix(hostLine(r.Stack)+" · "+factCount(r.Stack)+c.taken(), " · "))
	if nothingToSay(r) {
		c.quiet()
		return c.String()
	}
	for _, db := range chosen(r.Stack, o.Only) {
		c.server(db)
	}
	if len(servers(r.Stack)) == 0 {
		c.blank()
		c.para(plain, 0, noServers(r.Stack))
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
	return len(r.Advice.Findings) == 0 && len(r.Advice.Unknown) == 0 && len(ofHost(r.Stack.Gaps)) == 0 && len(servers(r.Stack)) > 0
}

type checkPage struct {
	*page
	facts
	r   check.Report
	all bool
}

func factCount(s *stack.Stack) string {
	n := 0
	for _, t := range s.Things {
		n += len(t.Facts)
	}
	text := count(n, "fact")
	if len(s.Gaps) > 0 {
		text += fmt.Sprintf(", %d not visible", len(s.Gaps))
	}
	return text
}

// taken says when a tape was made: what it holds may be old.
func (c checkPage) taken() string {
	if c.r.From == "" || c.r.Stack.TakenAt.IsZero() {
		return ""
	}
	return " · taken " + c.r.Stack.TakenAt.UTC().Format("2006-01-02 15:04") + " UTC"
}

// quiet writes the rest of a healthy host: a line for each server, and one
// that says that nothing is out of line.
func (c checkPage) quiet() {
	for _, db := range servers(c.r.Stack) {
		text := db.Ref.String() + " · " + serverLine(c.r.Stack, db)
		if groups := rolesByFilesystem(c.r.Stack, db.Ref); len(groups) > 0 {
			if fs := c.r.Stack.Find(groups[0][0].Filesystem); fs != nil {
				text += " · " + groups[0][0].Name + " on " + inShort(c.r.Stack, fs)
			}
		}
		c.hang(plain, "", text)
		c.version(db)
	}
	c.para(plain, 0, fmt.Sprintf("Nothing is out of line: %s judged, nothing was changed.", count(c.r.Judged, "rule")))
	c.foretold()
}

// server writes a server and where its files lie.
func (c checkPage) server(db *stack.Thing) {
	c.blank()
	c.labelled(bold, db.Ref.String()+"  ", plain, serverLine(c.r.Stack, db))
	c.version(db)
	var places []place
	var lost []string
	for _, roles := range rolesByFilesystem(c.r.Stack, db.Ref) {
		fs := c.r.Stack.Find(roles[0].Filesystem)
		if fs == nil {
			lost = append(lost, roles[0].Name)
			continue
		}
		places = append(places, place{samePath(roles), fs})
	}
	c.places(places)
	if lost = slices.Compact(lost); len(lost) > 0 {
		c.hang(plain, "  not placed: ", strings.Join(lost, ", "))
	}
}

// version says that a server is of a version that Plumb does not know.
func (c checkPage) version(db *stack.Thing) {
	if why := c.cat.Standing(db).Say(db.Text("version")); why != "" {
		c.hang(plain, "  ", why)
	}
}

// places writes the paths of a server, filesystem by filesystem. What a
// filesystem is stands to the right of its first path where all of them fit,
// and otherwise on a line below its paths.
func (c checkPage) places(list []place) {
	names, paths, wheres := 0, 0, 0
	seen := map[stack.Ref]bool{}
	var text []string
	for _, pl := range list {
		text = append(text, clean(c.where(c.r.Stack, pl.fs, seen)))
		wheres = max(wheres, width(text[len(text)-1]))
		for _, g := range pl.paths {
			names, paths = max(names, width(g.names)), max(paths, width(clean(g.path)))
		}
	}
	beside := 2+names+2+paths+2+wheres <= c.width
	if !beside {
		names = min(names, c.width*5/8)
	}
	for i, pl := range list {
		for j, g := range pl.paths {
			head := "  " + columns(g.names, names+2)
			switch {
			case beside && j == 0:
				c.line(plain, head+columns(clean(g.path), paths+2)+text[i])
			case width(head)+width(clean(g.path)) <= c.width:
				c.line(plain, head+g.path)
			default:
				c.hang(plain, "  ", g.names)
				c.within(c.width, plain, "      ", plain, g.path)
			}
		}
		if !beside {
			c.within(c.width, plain, "    ", plain, text[i])
		}
	}
}

// harm writes all findings of one harm under its heading.
func (c checkPage) harm(h rule.Harm) {
	started := false
	for _, f := range c.r.Advice.Findings {
		if f.Rule.Harm != h {
			continue
		}
		if !started {
			c.blank()
			c.line(harmInk(h), harmHeading(h))
		} else if h != rule.Note || c.all {
			c.blank()
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

func harmInk(h rule.Harm) ink {
	switch h {
	case rule.Danger:
		return red
	case rule.Outage:
		return yellow
	}
	return bold
}
