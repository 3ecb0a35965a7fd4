package view

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Report is all that a check of one host found.
type Report struct {
	Stack   *stack.Stack
	Catalog *catalog.Catalog
	Advice  advise.Advice
	Judged  int    // rules that were asked
	Plumb   string // version of this program
	From    string // the tape that was read; "" for this host
}

// CheckOptions say how much of a report to show.
type CheckOptions struct {
	All  bool     // notes in full, every case, every reason
	Only []string // kinds or servers; when any server is among them, the others are not drawn
}

// Check writes the report of one host as text.
func Check(r Report, o CheckOptions, screen Screen) string {
	c := checkPage{page: newPage(screen), facts: facts{r.Catalog}, r: r, all: o.All}
	c.hang(plain, "", hostLine(r.Stack)+" · "+factCount(r.Stack))
	if r.quiet() {
		c.quiet()
		return c.String()
	}
	for _, db := range chosen(r.Stack, o.Only) {
		c.server(db)
	}
	if len(servers(r.Stack)) == 0 {
		c.blank()
		c.para(plain, 0, noServers)
	}
	for _, h := range advise.Harms() {
		c.harm(h)
	}
	c.conflicts()
	c.unknown()
	c.foot()
	return c.String()
}

// quiet reports whether there is nothing to say: no finding, and no rule that
// waits for a fact.
func (r Report) quiet() bool {
	return len(r.Advice.Findings) == 0 && len(r.Advice.Unknown) == 0 && len(servers(r.Stack)) > 0
}

type checkPage struct {
	*page
	facts
	r   Report
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

// quiet writes the rest of a healthy host: a line for each server, and one
// that says that nothing is out of line.
func (c checkPage) quiet() {
	for _, db := range servers(c.r.Stack) {
		text := db.Ref.String() + " · " + serverLine(c.r.Stack, db)
		if groups := rolesByFilesystem(c.r.Stack, db.Ref); len(groups) > 0 {
			if where := c.where(groups[0][0]); where != "" {
				text += " · " + groups[0][0].Name + " on " + where
			}
		}
		c.hang(plain, "", text)
	}
	c.line(plain, fmt.Sprintf("Nothing is out of line: %s judged, nothing was changed.", count(c.r.Judged, "rule")))
}

// server writes a server and where its files lie.
func (c checkPage) server(db *stack.Thing) {
	c.blank()
	c.labelled(bold, db.Ref.String()+"  ", plain, serverLine(c.r.Stack, db))
	var rows [][3]string
	var lost []string
	for _, roles := range rolesByFilesystem(c.r.Stack, db.Ref) {
		where := c.where(roles[0])
		if where == "" {
			lost = append(lost, roles[0].Name)
			continue
		}
		for i, g := range samePath(roles) {
			if i > 0 {
				where = "the same"
			}
			rows = append(rows, [3]string{g.names, g.path, where})
		}
	}
	if lost = slices.Compact(lost); len(lost) > 0 {
		rows = append(rows, [3]string{"not placed", strings.Join(lost, ", "), ""})
	}
	c.places(rows)
}

// places writes rows of role, path and place in columns. Many roles stand on
// a line of their own, and a place that does not fit beside a long path goes
// below it.
func (c checkPage) places(rows [][3]string) {
	names, paths := 0, 0
	for _, r := range rows {
		names, paths = max(names, min(width(clean(r[0])), 22)), max(paths, min(width(clean(r[1])), 30))
	}
	for _, r := range rows {
		if width(clean(r[0])) > names {
			c.line(plain, "  "+r[0])
			r[0] = ""
		}
		head := "  " + columns(clean(r[0]), names+2) + columns(clean(r[1]), paths+2)
		if room := c.width - width(head); room >= min(width(r[2]), 26) {
			c.hang(plain, head, r[2])
			continue
		}
		c.line(plain, head)
		c.para(plain, 4+names, r[2])
	}
}

// where says in a few words where a role lies: filesystem, what matters of
// it, and the disks at the bottom; "" when it is not known.
func (c checkPage) where(r stack.Role) string {
	fs := c.r.Stack.Find(r.Filesystem)
	if fs == nil {
		return ""
	}
	parts := []string{filesystemName(fs) + " " + fs.Text("fstype")}
	datasets, _ := c.r.Stack.Follow(fs, "dataset")
	for _, ds := range datasets {
		if n, ok := ds.Int("recordsize"); ok {
			parts[0] += ", " + bytesText(n) + " records"
		}
		pools, _ := c.r.Stack.Follow(ds, "pool")
		for _, pool := range pools {
			parts = append(parts, strings.TrimSpace("pool "+pool.Ref.Name+" "+pool.Text("layout")))
		}
	}
	disks, _ := c.r.Stack.Follow(fs, "disks")
	var names []string
	for _, d := range disks {
		names = append(names, d.Ref.Name)
	}
	if len(names) > 0 {
		parts = append(parts, "on "+few(names, 4))
	}
	return strings.Join(parts, " · ")
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
			started = true
		}
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

// foot counts, and says what to type next.
func (c checkPage) foot() {
	c.blank()
	fs := c.r.Advice.Findings
	parts := []string{count(len(fs), "finding")}
	by := countHarms(fs)
	for _, h := range advise.Harms() {
		if by[h] > 0 {
			parts[0] += fmt.Sprintf(", %d %s", by[h], h)
		}
	}
	parts = append(parts, count(c.r.Judged, "rule")+" judged, nothing was changed")
	if len(fs) == 0 {
		parts[0] = "Nothing is out of line in what could be seen"
	}
	c.hang(plain, "", strings.Join(parts, " · "))
	if !c.r.Stack.Root && len(c.r.Stack.Gaps) > 0 {
		c.hang(plain, "", "Read without root's rights: sudo plumb check sees more.")
	}
	if len(fs) > 0 {
		c.hang(dim, "", "plumb explain "+fs[0].Rule.ID)
	}
}

func countHarms(fs []advise.Finding) map[rule.Harm]int {
	by := map[rule.Harm]int{}
	for _, f := range fs {
		by[f.Rule.Harm]++
	}
	return by
}
