package view

import (
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Stack draws what was seen of a host: from each database down through the
// filesystems and pools or volumes that hold its files to the disks.
// only, when not empty, names the servers to draw ("mysql" or "mysql:3306").
func Stack(s *stack.Stack, cat *catalog.Catalog, only []string, screen Screen) string {
	p := newPage(screen)
	v := factsOf(cat)
	p.hang(plain, "", hostLine(s))
	if h := s.Host(); h != nil {
		if said := v.said(h); said != "" {
			p.hang(dim, "", said)
		}
	}
	if m := s.Find(stack.Ref{Kind: "memory", Name: "host"}); m != nil {
		p.hang(dim, "", v.memory(m))
	}
	t := &trace{s: s, v: v, drawn: map[stack.Ref]stack.Ref{}}
	for _, db := range chosen(s, only) {
		p.blank()
		t.db = db.Ref
		t.drawn[db.Ref] = db.Ref
		p.tree(t.server(db))
	}
	if len(servers(s)) == 0 {
		p.blank()
		p.para(plain, 0, noServers(s))
	}
	gaps := about(s.Gaps, t.drawn)
	if len(only) == 0 {
		p.unused(s, v, t.drawn)
		gaps = inPicture(s.Gaps, t.drawn)
	}
	p.gaps(s, v, slices.DeleteFunc(gaps, func(g stack.Gap) bool { return g.Probe == observe.VersionsProbe })) // said beside the server
	return p.String()
}

// trace walks down from the servers, one after another. drawn are the things
// already in the picture, with the server under which they are: what they
// stand on is not drawn again.
type trace struct {
	s     *stack.Stack
	v     facts
	db    stack.Ref // the server from which it walks
	drawn map[stack.Ref]stack.Ref
}

func (t *trace) server(db *stack.Thing) node {
	n := node{rows: []row{{name: db.Ref.String(), detail: serverLine(t.s, db), ink: bold}}}
	if why := t.v.cat.Standing(db).Say(db.Text("version")); why != "" {
		n.rows = append(n.rows, row{detail: why})
	}
	if said := t.v.said(db); said != "" {
		n.rows = append(n.rows, row{detail: said})
	}
	limits, _ := t.s.Follow(db, "memory")
	for _, m := range limits {
		if m.Ref.Name != "host" {
			n.rows = append(n.rows, row{detail: "control group " + m.Ref.Name + " · " + t.v.memory(m)})
		}
	}
	for _, roles := range rolesByFilesystem(t.s, db.Ref) {
		n.kids = append(n.kids, t.place(roles))
	}
	if len(n.kids) == 0 {
		n.kids = []node{{rows: []row{{detail: "where its files lie is not known"}}}}
	}
	return n
}

// place draws the roles that share one filesystem, and that filesystem.
func (t *trace) place(roles []stack.Role) node {
	var n node
	for _, g := range samePath(roles) {
		n.rows = append(n.rows, row{name: g.names, detail: g.path, ink: cyan})
	}
	fs := t.s.Find(roles[0].Filesystem)
	if fs == nil {
		why := "not placed"
		if g, ok := t.s.GapFor(roles[0].DB, roles[0].Name); ok {
			why += ": " + g.Why
		}
		n.kids = []node{{rows: []row{{detail: why}}}}
		return n
	}
	n.kids = []node{t.filesystem(fs)}
	return n
}

func (t *trace) filesystem(fs *stack.Thing) node {
	datasets, _ := t.s.Follow(fs, "dataset")
	if len(datasets) == 1 {
		return t.dataset(fs, datasets[0])
	}
	n := t.node(filesystemName(fs), t.v.words(fs))
	if t.again(fs, &n) {
		return n
	}
	n.kids = t.blocks(fs, "block")
	return n
}

// dataset draws a mounted dataset as one place: the two are one thing to a
// person.
func (t *trace) dataset(fs, ds *stack.Thing) node {
	said := strings.ReplaceAll(fs.Text("fstype"), "fuse.zfs", "zfs-fuse")
	if m := fs.Text("mountpoint"); m != "" {
		said += " at " + m
	}
	n := t.node(ds.Ref.Name, said+" · "+t.v.words(ds))
	if t.again(ds, &n) {
		return n
	}
	t.drawn[fs.Ref] = t.db
	pools, _ := t.s.Follow(ds, "pool")
	for _, pool := range pools {
		n.kids = append(n.kids, t.pool(pool))
	}
	return n
}

func (t *trace) pool(pool *stack.Thing) node {
	n := t.node(pool.Ref.Name, t.v.words(pool))
	if t.again(pool, &n) {
		return n
	}
	backing, _ := t.s.Follow(pool, "backing")
	if len(backing) == 0 {
		n.kids = t.blocks(pool, "disks")
	}
	for _, part := range []string{"log", "cache", "special"} {
		for _, k := range t.blocks(pool, part+"_disks") {
			k.rows[0].detail = part + " device · " + k.rows[0].detail
			n.kids = append(n.kids, k)
		}
	}
	for _, fs := range backing {
		k := t.filesystem(fs)
		k.rows[0].detail = "holds the vdev files · " + k.rows[0].detail
		n.kids = append(n.kids, k)
	}
	return n
}

func (t *trace) blocks(of *stack.Thing, link string) []node {
	var out []node
	list, _ := t.s.Follow(of, link)
	for _, b := range list {
		out = append(out, t.block(b))
	}
	return out
}

func (t *trace) block(b *stack.Thing) node {
	n := t.node(blockName(b), t.v.words(b))
	if t.again(b, &n) {
		return n
	}
	n.kids = t.blocks(b, "on")
	for _, link := range []string{"backing", "dataset"} {
		under, _ := t.s.Follow(b, link)
		for _, u := range under {
			if link == "dataset" {
				n.kids = append(n.kids, t.dataset(u, u))
				continue
			}
			n.kids = append(n.kids, t.filesystem(u))
		}
	}
	return n
}

func (t *trace) node(name, detail string) node {
	return node{rows: []row{{name: name, detail: strings.Trim(detail, " ·")}}}
}

// again marks a thing as drawn, and shortens it when it was drawn before.
func (t *trace) again(of *stack.Thing, n *node) bool {
	if under, have := t.drawn[of.Ref]; have {
		n.rows[0].detail = "drawn above"
		if under != t.db {
			n.rows[0].detail += ", under " + under.String()
		}
		return true
	}
	t.drawn[of.Ref] = t.db
	return false
}

// unused names the pools, filesystems and disks that no drawn server uses,
// in a line each: they share the machine's memory and time.
func (p *page) unused(s *stack.Stack, v facts, drawn map[stack.Ref]stack.Ref) {
	var out []node
	for _, kind := range []string{"pool", "block"} {
		for _, t := range s.OfKind(kind) {
			layer := t.Text("layer")
			small := kind == "block" && (layer != "disk" || t.Text("transport") == "none")
			if _, have := drawn[t.Ref]; !have && !small {
				out = append(out, node{rows: []row{{name: t.Ref.Name, detail: v.words(t)}}})
			}
		}
	}
	if len(out) == 0 {
		return
	}
	p.blank()
	p.line(bold, "not used by a database seen here")
	p.kids(node{kids: out}, "")
}
