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
	p.rows(n, "", "", true, nameWidth([]node{n}))
	p.kids(n, "")
}

func (p *page) kids(n node, prefix string) {
	names := nameWidth(n.kids)
	for i, kid := range n.kids {
		first, rest := branch, trunk
		if i == len(n.kids)-1 {
			first, rest = corner, gap
		}
		p.rows(kid, prefix+first, prefix+rest, len(kid.kids) == 0, names)
		p.kids(kid, prefix+rest)
	}
}

// rows writes the lines of one node. The lines of a wrapped detail carry the
// trunk of what hangs below, so that the drawing never breaks.
func (p *page) rows(n node, first, rest string, leaf bool, names int) {
	under := rest
	if !leaf {
		under += "│"
	}
	for i, r := range n.rows {
		head := first
		if i > 0 {
			head = pad(rest, width(first))
		}
		name := ""
		if names > 0 {
			name = columns(clean(r.name), names+2)
		}
		hang := pad(under, width(first)+width(name))
		for j, l := range wrap(clean(r.detail), p.width-width(first)-width(name)) {
			if j == 0 {
				l = p.paint(dim, head) + p.paint(r.ink, name) + l
			} else {
				l = p.paint(dim, hang) + l
			}
			p.out.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

// nameWidth is the column at which the details of siblings start. A very long
// name does not push the others to the right.
func nameWidth(nodes []node) int {
	w := 0
	for _, n := range nodes {
		for _, r := range n.rows {
			if l := width(clean(r.name)); l <= 28 {
				w = max(w, l)
			}
		}
	}
	return w
}
