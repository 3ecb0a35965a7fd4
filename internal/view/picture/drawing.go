package picture

import (
	"strings"

	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// Drawing walks down from the servers, one after another: from each database
// through the filesystems and pools or volumes that hold its files to the disks.
type Drawing struct {
	s     *stack.Stack
	v     Facts
	db    stack.Ref // the server from which it walks
	drawn map[stack.Ref]stack.Ref
}

// Draw begins a drawing of a host.
func Draw(s *stack.Stack, v Facts) *Drawing {
	return &Drawing{s: s, v: v, drawn: map[stack.Ref]stack.Ref{}}
}

// Drawn gives the things in the picture, each with the server under which it
// is: what it stands on is not drawn again.
func (t *Drawing) Drawn() map[stack.Ref]stack.Ref { return t.drawn }

// Server draws one server and all that it stands on.
func (t *Drawing) Server(db *stack.Thing) page.Node {
	t.db, t.drawn[db.Ref] = db.Ref, db.Ref
	n := page.Node{Kind: "server", Rows: []page.Row{{Name: db.Ref.String(), Detail: ServerLine(db), Ink: page.Bold}}}
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
	for _, roles := range RolesByFilesystem(t.s, db.Ref) {
		n.Kids = append(n.Kids, t.place(roles))
	}
	if len(n.Kids) == 0 {
		n.Kids = []page.Node{{Rows: []page.Row{{Detail: "where its files are is not known"}}}}
	}
	return n
}

// place draws the roles that share one filesystem, and that filesystem.
func (t *Drawing) place(roles []stack.Role) page.Node {
	n := page.Node{Kind: "files"}
	for _, g := range SamePath(roles) {
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

func (t *Drawing) filesystem(fs *stack.Thing) page.Node {
	datasets, _ := t.s.Follow(fs, "dataset")
	if len(datasets) == 1 {
		return t.dataset(fs, datasets[0])
	}
	n := t.node("filesystem", filesystemName(fs), t.v.Words(fs))
	if t.again(fs, &n) {
		return n
	}
	n.Kids = t.blocks(fs, "block")
	return n
}

// dataset draws a mounted dataset as one place: the two are one thing to a
// person.
func (t *Drawing) dataset(fs, ds *stack.Thing) page.Node {
	said := strings.ReplaceAll(fs.Text("fstype"), "fuse.zfs", "zfs-fuse")
	if m := fs.Text("mountpoint"); m != "" {
		said += " at " + m
	}
	n := t.node("dataset", ds.Ref.Name, said+" · "+t.v.Words(ds))
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

func (t *Drawing) pool(pool *stack.Thing) page.Node {
	n := t.node("pool", pool.Ref.Name, t.v.Words(pool))
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

func (t *Drawing) blocks(of *stack.Thing, link string) []page.Node {
	var out []page.Node
	list, _ := t.s.Follow(of, link)
	for _, b := range list {
		out = append(out, t.block(b))
	}
	return out
}

func (t *Drawing) block(b *stack.Thing) page.Node {
	n := t.node(blockKind(b), blockName(b), t.v.Words(b))
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

// blockKind tells a disk from what is made of disks.
func blockKind(b *stack.Thing) string {
	if b.Text("layer") == "disk" {
		return "disk"
	}
	return "volume"
}

func (t *Drawing) node(kind, name, detail string) page.Node {
	return page.Node{Kind: kind, Rows: []page.Row{{Name: name, Detail: strings.Trim(detail, " ·")}}}
}

// again marks a thing as drawn, and shortens it when it was drawn before.
func (t *Drawing) again(of *stack.Thing, n *page.Node) bool {
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

// Unused gives the pools and disks that no drawn server uses, in a line each:
// they share the machine's memory and time.
func (t *Drawing) Unused() []page.Node {
	var out []page.Node
	for _, kind := range []string{"pool", "block"} {
		for _, of := range t.s.OfKind(kind) {
			layer := of.Text("layer")
			small := kind == "block" && (layer != "disk" || of.Text("transport") == "none")
			if _, have := t.drawn[of.Ref]; !have && !small {
				named := map[string]string{"pool": "pool", "block": "disk"}[kind]
				out = append(out, t.node(named, of.Ref.Name, t.v.Words(of)))
			}
		}
	}
	return out
}
