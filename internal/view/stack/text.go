package stack

import (
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// Text draws what was seen of a host: from each database down through the
// filesystems and pools or volumes that hold its files to the disks.
// only, when not empty, names the servers to draw ("mysql" or "mysql:3306").
func Text(s *stack.Stack, cat *catalog.Catalog, only []string, screen page.Screen) string {
	p := page.NewPage(screen)
	v := picture.Facts{Cat: cat}
	p.Hang(page.Normal, "", picture.HostLine(s))
	if h := s.Host(); h != nil {
		if said := v.Said(h); said != "" {
			p.Hang(page.Dim, "", said)
		}
	}
	if m := s.Find(stack.Ref{Kind: "memory", Name: "host"}); m != nil {
		p.Hang(page.Dim, "", v.Memory(m))
	}
	d := picture.Draw(s, v)
	for _, db := range picture.Chosen(s, only) {
		p.Blank()
		p.Tree(d.Server(db))
	}
	if len(picture.Servers(s)) == 0 {
		p.Blank()
		p.Para(page.Normal, 0, picture.NoServers(s))
	}
	gaps := picture.About(s.Gaps, d.Drawn())
	if len(only) == 0 {
		unused(p, d.Unused())
		gaps = picture.InPicture(s.Gaps, d.Drawn())
	}
	picture.Gaps(p, s, v, slices.DeleteFunc(gaps, func(g stack.Gap) bool { return g.Probe == observe.VersionsProbe })) // said beside the server
	return p.String()
}

// unused lists what no server in the picture uses.
func unused(p *page.Page, nodes []page.Node) {
	if len(nodes) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Bold, "not used by a database seen here")
	p.Kids(page.Node{Kids: nodes}, "")
}
