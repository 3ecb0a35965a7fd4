package page

import "strings"

// Node is one place of a drawn tree: a name, what is worth saying about it,
// and what it stands on.
type Node struct {
	Kind string // server, files, filesystem, dataset, pool, volume or disk; "" for a remark
	Rows []Row
	Kids []Node
}

// Row is a line of a tree: a name, and what there is to say of it.
type Row struct {
	Name   string
	Detail string
	Ink    Ink // of the name
}

// Pieces of the drawing, all three columns wide.
const (
	branch = "├─ "
	corner = "└─ "
	trunk  = "│  "
	gap    = "   "
)

// Tree draws a node at the margin and its children under it.
func (p *Page) Tree(n Node) {
	for i, r := range n.Rows {
		if i == 0 {
			p.Within(p.Width, r.Ink, oneLine(r.Name)+"  ", Normal, r.Detail)
			continue
		}
		head := gap
		if len(n.Kids) > 0 {
			head = trunk
		}
		p.branchLines(head, head, "", Normal, r.Detail)
	}
	p.Kids(n, "")
}

// Kids draws what hangs on a node.
func (p *Page) Kids(n Node, prefix string) {
	names := nameWidth(n.Kids, p.Width/2)
	for i, kid := range n.Kids {
		first, rest := branch, trunk
		if i == len(n.Kids)-1 {
			first, rest = corner, gap
		}
		p.rows(kid, prefix+first, prefix+rest, names)
		p.Kids(kid, prefix+rest)
	}
}

// rows writes the lines of one node. The lines of a wrapped detail carry the
// trunk of what hangs below, so that the drawing never breaks.
func (p *Page) rows(n Node, first, rest string, names int) {
	under := rest
	if len(n.Kids) > 0 {
		under += "│"
	}
	for i, r := range n.Rows {
		head := first
		if i > 0 {
			head = pad(rest, Width(first))
		}
		name := oneLine(r.Name)
		if Width(name) > names {
			p.branchLines(head, under, "", r.Ink, name)
			head, name = pad(rest, Width(rest)+2), ""
		} else if names > 0 {
			name = Columns(name, names+2)
		}
		if r.Detail != "" || name != "" {
			p.branchLines(head, under, name, r.Ink, r.Detail)
		}
	}
}

// branchLines writes a name and its wrapped detail after a piece of drawing.
func (p *Page) branchLines(head, under, name string, nameInk Ink, detail string) {
	if name == "" && nameInk != Normal {
		name, detail = detail, ""
	}
	indent := Width(head) + Width(name)
	if detail == "" {
		p.out.WriteString(strings.TrimRight(p.paint(Dim, head)+p.paint(nameInk, name), " ") + "\n")
		return
	}
	for i, l := range Wrap(oneLine(detail), p.Width-indent) {
		if i == 0 {
			l = p.paint(Dim, head) + p.paint(nameInk, name) + l
		} else {
			l = p.paint(Dim, pad(under, indent)) + l
		}
		p.out.WriteString(strings.TrimRight(l, " ") + "\n")
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Width(s))) }

// nameWidth is the width of the column of names of siblings. A name longer
// than limit stands alone, and what there is to say of it goes below.
func nameWidth(nodes []Node, limit int) int {
	w := 0
	for _, n := range nodes {
		for _, r := range n.Rows {
			if l := Width(oneLine(r.Name)); l <= limit {
				w = max(w, l)
			}
		}
	}
	return w
}
