package stack

import (
	"slices"
	"strings"

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
	v := picture.FactsOf(cat)
	p.Hang(page.Normal, "", picture.HostLine(s))
	if h := s.Host(); h != nil {
		if said := v.Said(h); said != "" {
			p.Hang(page.Dim, "", said)
		}
	}
	if m := s.Find(stack.Ref{Kind: "memory", Name: "host"}); m != nil {
		p.Hang(page.Dim, "", v.Memory(m))
	}
	t := &trace{s: s, v: v, drawn: map[stack.Ref]stack.Ref{}}
	for _, db := range picture.Chosen(s, only) {
		p.Blank()
		t.db = db.Ref
		t.drawn[db.Ref] = db.Ref
		p.Tree(t.server(db))
	}
	if len(picture.Servers(s)) == 0 {
		p.Blank()
		p.Para(page.Normal, 0, picture.NoServers(s))
	}
	gaps := picture.About(s.Gaps, t.drawn)
	if len(only) == 0 {
		unused(p, s, v, t.drawn)
		gaps = picture.InPicture(s.Gaps, t.drawn)
	}
	picture.Gaps(p, s, v, slices.DeleteFunc(gaps, func(g stack.Gap) bool { return g.Probe == observe.VersionsProbe })) // said beside the server
	return p.String()
}

// trace walks down from the servers, one after another. drawn are the things
// already in the picture, with the server under which they are: what they
// stand on is not drawn again.
type trace struct {
	s     *stack.Stack
	v     picture.Facts
	db    stack.Ref // the server from which it walks
	drawn map[stack.Ref]stack.Ref
}

func (t *trace) server(db *stack.Thing) page.Node {
	n := page.Node{Rows: []page.Row{{Name: db.Ref.String(), Detail: picture.ServerLine(t.s, db), Ink: page.Bold}}}
	if why := t.v.Cat.Standing(db).Say(db.Text("version")); why != "" {
		n.Rows = append(n.Rows, page.Row{Detail: why})
	}
	if said := t.v.Said(db); said != "" {
		n.Rows = append(n.Rows, page.Row{Detail: said})
	}
	limits, _ := t.s.Follow(db, "memory")
	for _, m := range limits {
		if m.Ref.Name != "host" {
			n.Rows = append(n.Rows, page.Row{Detail: "control group " + m.Ref.Name + " · " + t.v.Memory(m)})
		}
	}
	for _, roles := range picture.RolesByFilesystem(t.s, db.Ref) {
		n.Kids = append(n.Kids, t.place(roles))
	}
	if len(n.Kids) == 0 {
		n.Kids = []page.Node{{Rows: []page.Row{{Detail: "where its files lie is not known"}}}}
	}
	return n
}

// place draws the roles that share one filesystem, and that filesystem.
func (t *trace) place(roles []stack.Role) page.Node {
	var n page.Node
	for _, g := range picture.SamePath(roles) {
		n.Rows = append(n.Rows, page.Row{Name: g.Names, Detail: g.Path, Ink: page.Cyan})
	}
	fs := t.s.Find(roles[0].Filesystem)
	if fs == nil {
		why := "not placed"
		if g, ok := t.s.GapFor(roles[0].DB, roles[0].Name); ok {
			why += ": " + g.Why
		}
		n.Kids = []page.Node{{Rows: []page.Row{{Detail: why}}}}
		return n
	}
	n.Kids = []page.Node{t.filesystem(fs)}
	return n
}

func (t *trace) filesystem(fs *stack.Thing) page.Node {
	datasets, _ := t.s.Follow(fs, "dataset")
	if len(datasets) == 1 {
		return t.dataset(fs, datasets[0])
	}
	n := t.node(picture.FilesystemName(fs), t.v.Words(fs))
	if t.again(fs, &n) {
		return n
	}
	n.Kids = t.blocks(fs, "block")
	return n
}

// dataset draws a mounted dataset as one place: the two are one thing to a
// person.
func (t *trace) dataset(fs, ds *stack.Thing) page.Node {
	said := strings.ReplaceAll(fs.Text("fstype"), "fuse.zfs", "zfs-fuse")
	if m := fs.Text("mountpoint"); m != "" {
		said += " at " + m
	}
	n := t.node(ds.Ref.Name, said+" · "+t.v.Words(ds))
	if t.again(ds, &n) {
		return n
	}
	t.drawn[fs.Ref] = t.db
	pools, _ := t.s.Follow(ds, "pool")
	for _, pool := range pools {
		n.Kids = append(n.Kids, t.pool(pool))
	}
	return n
}

func (t *trace) pool(pool *stack.Thing) page.Node {
	n := t.node(pool.Ref.Name, t.v.Words(pool))
	if t.again(pool, &n) {
		return n
	}
	backing, _ := t.s.Follow(pool, "backing")
	if len(backing) == 0 {
		n.Kids = t.blocks(pool, "disks")
	}
	for _, part := range []string{"log", "cache", "special"} {
		for _, k := range t.blocks(pool, part+"_disks") {
			k.Rows[0].Detail = part + " device · " + k.Rows[0].Detail
			n.Kids = append(n.Kids, k)
		}
	}
	for _, fs := range backing {
		k := t.filesystem(fs)
		k.Rows[0].Detail = "holds the vdev files · " + k.Rows[0].Detail
		n.Kids = append(n.Kids, k)
	}
	return n
}

func (t *trace) blocks(of *stack.Thing, link string) []page.Node {
	var out []page.Node
	list, _ := t.s.Follow(of, link)
	for _, b := range list {
		out = append(out, t.block(b))
	}
	return out
}

func (t *trace) block(b *stack.Thing) page.Node {
	n := t.node(picture.BlockName(b), t.v.Words(b))
	if t.again(b, &n) {
		return n
	}
	n.Kids = t.blocks(b, "on")
	for _, link := range []string{"backing", "dataset"} {
		under, _ := t.s.Follow(b, link)
		for _, u := range under {
			if link == "dataset" {
				n.Kids = append(n.Kids, t.dataset(u, u))
				continue
			}
			n.Kids = append(n.Kids, t.filesystem(u))
		}
	}
	return n
}

func (t *trace) node(name, detail string) page.Node {
	return page.Node{Rows: []page.Row{{Name: name, Detail: strings.Trim(detail, " ·")}}}
}

// again marks a thing as drawn, and shortens it when it was drawn before.
func (t *trace) again(of *stack.Thing, n *page.Node) bool {
	if under, have := t.drawn[of.Ref]; have {
		n.Rows[0].Detail = "drawn above"
		if under != t.db {
			n.Rows[0].Detail += ", under " + under.String()
		}
		return true
	}
	t.drawn[of.Ref] = t.db
	return false
}

// unused names the pools, filesystems and disks that no drawn server uses,
// in a line each: they share the machine's memory and time.
func unused(p *page.Page, s *stack.Stack, v picture.Facts, drawn map[stack.Ref]stack.Ref) {
	var out []page.Node
	for _, kind := range []string{"pool", "block"} {
		for _, t := range s.OfKind(kind) {
			layer := t.Text("layer")
			small := kind == "block" && (layer != "disk" || t.Text("transport") == "none")
			if _, have := drawn[t.Ref]; !have && !small {
				out = append(out, page.Node{Rows: []page.Row{{Name: t.Ref.Name, Detail: v.Words(t)}}})
			}
		}
	}
	if len(out) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Bold, "not used by a database seen here")
	p.Kids(page.Node{Kids: out}, "")
}
