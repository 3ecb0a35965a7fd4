package view

import "strings"

// node is one place of a drawn tree: a name, what is worth saying about it,
// and what it stands on.
type node struct {
	rows []row
	kids []node
}

type row struct {
	name   string
	detail string
	ink    ink // of the name
}

// Pieces of the drawing, all three columns wide.
const (
	branch = "├─ "
	corner = "└─ "
	trunk  = "│  "
	gap    = "   "
)

// tree draws a node at the margin and its children under it.
func (p *page) tree(n node) {
	for i, r := range n.rows {
		if i == 0 {
			p.within(p.width, r.ink, clean(r.name)+"  ", plain, r.detail)
			continue
		}
		head := gap
		if len(n.kids) > 0 {
			head = trunk
		}
		p.branchLines(head, head, "", plain, r.detail)
	}
	p.kids(n, "")
}

func (p *page) kids(n node, prefix string) {
	names := nameWidth(n.kids, p.width/2)
	for i, kid := range n.kids {
		first, rest := branch, trunk
		if i == len(n.kids)-1 {
			first, rest = corner, gap
		}
		p.rows(kid, prefix+first, prefix+rest, names)
		p.kids(kid, prefix+rest)
	}
}

// rows writes the lines of one node. The lines of a wrapped detail carry the
// trunk of what hangs below, so that the drawing never breaks.
func (p *page) rows(n node, first, rest string, names int) {
	under := rest
	if len(n.kids) > 0 {
		under += "│"
	}
	for i, r := range n.rows {
		head := first
		if i > 0 {
			head = pad(rest, width(first))
		}
		name := clean(r.name)
		if width(name) > names {
			p.branchLines(head, under, "", r.ink, name)
			head, name = pad(rest, width(rest)+2), ""
		} else if names > 0 {
			name = columns(name, names+2)
		}
		if r.detail != "" || name != "" {
			p.branchLines(head, under, name, r.ink, r.detail)
		}
	}
}

// branchLines writes a name and its wrapped detail after a piece of drawing.
func (p *page) branchLines(head, under, name string, nameInk ink, detail string) {
	if name == "" && nameInk != plain {
		name, detail = detail, ""
	}
	indent := width(head) + width(name)
	if detail == "" {
		p.out.WriteString(strings.TrimRight(p.paint(dim, head)+p.paint(nameInk, name), " ") + "\n")
		return
	}
	for i, l := range wrap(clean(detail), p.width-indent) {
		if i == 0 {
			l = p.paint(dim, head) + p.paint(nameInk, name) + l
		} else {
			l = p.paint(dim, pad(under, indent)) + l
		}
		p.out.WriteString(strings.TrimRight(l, " ") + "\n")
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

// nameWidth is the width of the column of names of siblings. A name longer
// than limit stands alone, and what there is to say of it goes below.
func nameWidth(nodes []node, limit int) int {
	w := 0
	for _, n := range nodes {
		for _, r := range n.rows {
			if l := width(clean(r.name)); l <= limit {
				w = max(w, l)
			}
		}
	}
	return w
}
