package explain

import (
	"maps"
	"slices"
	"strings"

	"plumb/internal/product"
	"plumb/internal/rule"
	"plumb/internal/view/page"
)

// Limit writes all there is to say of one verdict of watch: when it is raised,
// the mechanism, what speaks against it, what brings it about, what to do.
func Limit(l *rule.Limit, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Sides("", page.Bold, l.ID, page.Dim, "verdict of plumb watch · "+strings.Join(l.Servers, ", "))
	p.Para(page.Normal, 0, blanks(l.Title))
	section(p, "WHY")
	prose(p, l.Explain)
	section(p, "RAISED WHEN")
	p.Para(page.Normal, 4, "in three of the last five windows of 5 s, until four in a row say it is not so:")
	byServer(p, l.Servers, l.When)
	for _, b := range bindings(l.For) {
		p.Hang(page.Dim, "    ", "where "+b)
	}
	if len(l.Share) > 0 {
		section(p, "COSTS")
		byServer(p, l.Servers, l.Share)
	}
	section(p, "AGAINST IT IS")
	for _, a := range l.Against {
		p.Hang(page.Normal, "    ", a.Says)
	}
	list(p, "BROUGHT ABOUT BY", l.Causes)
	section(p, "DO")
	for _, d := range l.Do {
		p.Hang(page.Normal, "    ", blanks(d))
	}
	list(p, "RULES ABOUT THE SAME", l.Rules)
	list(p, "SOURCES", l.Sources)
	return p.String()
}

func list(p *page.Page, title string, all []string) {
	if len(all) == 0 {
		return
	}
	section(p, title)
	for _, s := range all {
		p.Hang(page.Normal, "    ", s)
	}
}

// byServer writes one expression for all servers, or one for each.
func byServer(p *page.Page, servers []string, of map[string]string) {
	all := slices.Compact(slices.Sorted(maps.Values(of)))
	if len(all) == 1 {
		p.Hang(page.Cyan, "    ", all[0])
		return
	}
	for _, kind := range servers {
		if of[kind] != "" {
			p.Hang(page.Cyan, "    "+product.Of(kind).Label("")+": ", of[kind])
		}
	}
}

// bindings lists what all kinds of server bind, each once.
func bindings(of map[string][]string) (out []string) {
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		for _, b := range of[kind] {
			if !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	return out
}
