package predict

import (
	"path"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/budget"
	"plumb/internal/catalog"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/provision"
	"plumb/internal/stack"
)

// Layout is what a plan makes, as far as a stack shows it.
type Layout struct {
	Server stack.Ref
	Was    string // the data directory as it is; "": where the volume of the role data will be
	// FSType is that of the filesystem on which the data will lie: zfs, fuse.zfs, ext4, xfs, btrfs.
	FSType  string
	Pool    string                 // "" without ZFS
	Made    map[string]stack.Value // facts of a pool or filesystem that is made: ashift, layout; nil: it is there
	Disks   []stack.Ref            // the whole disks under it, as far as they are known
	Unseen  bool                   // there are others
	Volumes []provision.Volume
	Memory  int64 // bytes that the server may take; 0: what the host leaves
}

const source = "the plan"

// Stack gives the stack as the layout makes it, with nothing known of the load of the server: it
// begins anew.
func (l Layout) Stack(s *stack.Stack, cat *catalog.Catalog) *stack.Stack {
	then := s.Clone()
	if l.Pool != "" {
		module(then)
		l.pool(then, cat)
	}
	for _, v := range l.Volumes {
		if v.Dataset != "" {
			l.dataset(then, cat, v)
		}
		if v.At != "" {
			l.filesystem(then, v)
		}
	}
	l.occupy(then)
	if db := then.Find(l.Server); db != nil {
		l.memory(then) // as it is now: what it has served, and how many came, is of the load
		advise.Unloaded(db, cat)
		l.places(then, db)
	}
	return then
}

// on adds the devices that the server lies on already: what the rules say of those is said of it too.
func (l Layout) on(s *stack.Stack) Layout {
	l.Disks = slices.Clone(l.Disks)
	for _, b := range s.OfKind("block") {
		if slices.Contains(b.List("servers"), l.Server.String()) && !slices.Contains(l.Disks, b.Ref) {
			l.Disks = append(l.Disks, b.Ref)
		}
	}
	return l
}

// occupy tells the disks of the plan what will lie on them.
func (l Layout) occupy(then *stack.Stack) {
	var roles []string
	for _, v := range l.Volumes {
		if v.Role != "" {
			roles = append(roles, v.Role)
		}
	}
	for _, ref := range l.Disks {
		if d := then.Find(ref); d != nil {
			d.Set("roles", stack.List(with(d.List("roles"), roles...)), source)
			d.Set("servers", stack.List(with(d.List("servers"), l.Server.String())), source)
		}
	}
}

// with gives a list with more in it, each once and in order.
func with(list []string, more ...string) []string {
	list = slices.Concat(list, more)
	slices.Sort(list)
	return slices.Compact(list)
}

// module adds the ZFS that will be installed.
func module(then *stack.Stack) {
	z := stack.NewThing("zfs", "module")
	if then.Find(z.Ref) == nil {
		z.Set("implementation", stack.Text("openzfs"), source)
		then.Add(source, stack.Observation{Things: []*stack.Thing{z}})
	}
}

// pool adds a pool that is not there yet.
func (l Layout) pool(then *stack.Stack, cat *catalog.Catalog) {
	ref := stack.Ref{Kind: "pool", Name: l.Pool}
	if then.Find(ref) != nil {
		return
	}
	p := stack.NewThing(ref.Kind, ref.Name)
	for name, f := range cat.Knobs("pool") {
		if text, ok := f.Knob.DefaultAt("", version(then)); ok {
			setting(p, f, name, text)
		}
	}
	for name, v := range l.Made {
		p.Set(name, v, source)
	}
	p.Link("disks", l.Disks...)
	for _, none := range []string{"log_disks", "cache_disks", "special_disks"} {
		p.Link(none)
	}
	p.Link("backing")
	then.Add(source, stack.Observation{Things: []*stack.Thing{p}})
}

// dataset adds a dataset with what it inherits: of the nearest that is there, or ZFS's defaults.
func (l Layout) dataset(then *stack.Stack, cat *catalog.Catalog, v provision.Volume) {
	ref := stack.Ref{Kind: "dataset", Name: v.Dataset}
	if then.Find(ref) != nil {
		return
	}
	ds := stack.NewThing(ref.Kind, ref.Name)
	above := nearest(then, v.Dataset)
	for name, f := range cat.Knobs("dataset") {
		if above != nil {
			inherit(ds, above, name)
			continue
		}
		if text, ok := f.Knob.DefaultAt("", version(then)); ok && f.Knob.Has("", version(then)) {
			setting(ds, f, name, text)
		}
	}
	ds.Set("dataset_type", stack.Text("filesystem"), source)
	ds.Set("snapshots", stack.Int(0), source)
	ds.Absent(source, "snapshot_newest", "snapshot_newest_age", "snapshot_newest_txg", "clone_of", "keystatus")
	for name, text := range v.Properties {
		if f := cat.Fact("dataset", name); f != nil {
			setting(ds, f, name, text)
		}
	}
	ds.Link("pool", stack.Ref{Kind: "pool", Name: l.Pool})
	then.Add(source, stack.Observation{Things: []*stack.Thing{ds}})
}

// inherit gives a dataset what another has that stands above it.
func inherit(ds, above *stack.Thing, name string) {
	f, known := above.Facts[name]
	switch {
	case !known || name == "mountpoint" || name == "canmount" || strings.HasSuffix(name, "quota") || strings.HasSuffix(name, "reservation"):
	case f.Value.IsAbsent():
		ds.SetAbsent(name, f.Source)
	case f.Origin != nil && f.Origin.From == stack.FromDefault:
		ds.Setting(name, f.Value, source, *f.Origin)
	default:
		ds.Setting(name, f.Value, source, stack.Origin{From: stack.FromInherited, Of: above.Ref.Name})
	}
}

// nearest finds the dataset that is there and stands above a name; nil when none does.
func nearest(s *stack.Stack, name string) *stack.Thing {
	for name = path.Dir(name); name != "."; name = path.Dir(name) {
		if t := s.Find(stack.Ref{Kind: "dataset", Name: name}); t != nil {
			return t
		}
	}
	return nil
}

// version is that of the host's ZFS; "" when it is not known.
func version(s *stack.Stack) string {
	if z := s.Find(stack.Ref{Kind: "zfs", Name: "module"}); z != nil {
		return z.Text("version")
	}
	return ""
}

func setting(t *stack.Thing, f *catalog.Fact, name, text string) {
	if v, err := catalog.ParseValue(f, text); err == nil {
		t.Setting(name, v, source, stack.Origin{From: stack.FromDefault})
	}
}

// filesystem adds what is mounted at a volume's place.
func (l Layout) filesystem(then *stack.Stack, v provision.Volume) {
	ref := l.mountedAs(then, v)
	if then.Find(ref) != nil {
		return
	}
	f := stack.NewThing(ref.Kind, ref.Name)
	f.Set("fstype", stack.Text(l.FSType), source)
	f.Set("mountpoint", stack.Text(v.At), source)
	f.Set("mount_root", stack.Text("/"), source)
	f.Set("dev", stack.Text(source+" "+v.At), source)
	f.Set("read_only", stack.Bool(false), source)
	f.Set("cow", stack.Bool(l.Pool != "" || l.FSType == "btrfs"), source)
	f.Set("used_percent", stack.Float(0), source)
	f.Link("disks", l.Disks...)
	if v.Dataset != "" {
		f.Set("source", stack.Text(v.Dataset), source)
		f.Set("options", stack.List([]string{"rw"}), source)
		f.Absent(source, "inodes", "inodes_free")
		f.Link("dataset", stack.Ref{Kind: "dataset", Name: v.Dataset})
		f.Link("block")
	} else {
		for name, value := range l.Made {
			f.Set(name, value, source)
		}
		f.Link("dataset")
	}
	then.Add(source, stack.Observation{Things: []*stack.Thing{f}})
	observe.TellDisks(then, f, !l.Unseen)
}

// mountedAs names the filesystem of a volume. At a place where another is mounted now, it is another: what is to be moved
// there is not there yet.
func (l Layout) mountedAs(then *stack.Stack, v provision.Volume) stack.Ref {
	ref := stack.Ref{Kind: "filesystem", Name: v.At}
	if now := then.Find(ref); now != nil && now.Text("dev") != source+" "+v.At && (v.Dataset == "" && v.Aside != "" || v.Dataset != "" && now.Text("source") != v.Dataset) {
		ref.Name += "#planned"
	}
	return ref
}

// places gives the server's roles the volumes that will hold them.
func (l Layout) places(then *stack.Stack, db *stack.Thing) {
	links := map[string][]stack.Ref{}
	for i := range then.Roles {
		r := &then.Roles[i]
		if r.DB != l.Server {
			continue
		}
		at := l.moved(*r)
		if v, ok := l.holds(at); ok {
			r.Path, r.Resolved, r.Filesystem = at, at, l.mountedAs(then, v)
		}
		if !r.Filesystem.IsZero() && r.Name != "pid" {
			links[r.Name] = append(links[r.Name], r.Filesystem)
			links["storage"] = append(links["storage"], r.Filesystem)
		}
	}
	for name, to := range links {
		delete(db.Links, name)
		db.Link(name, to...)
	}
}

// moved gives where what a role has is afterwards.
func (l Layout) moved(r stack.Role) string {
	now := r.Resolved
	if now == "" {
		now = r.Path
	}
	for _, v := range l.Volumes {
		if v.Role == r.Name && r.Name != "data" && !paths.Within(v.At, l.data()) {
			return v.At
		}
	}
	if paths.Within(now, l.Was) {
		return path.Join(l.data(), strings.TrimPrefix(now, l.Was))
	}
	return now
}

// data gives where the data directory will be.
func (l Layout) data() string {
	for _, v := range l.Volumes {
		if v.Role == "data" {
			return v.At
		}
	}
	return ""
}

// holds finds the volume that holds a path.
func (l Layout) holds(at string) (found provision.Volume, ok bool) {
	for _, v := range l.Volumes {
		if paths.Within(at, v.At) && (!ok || len(v.At) > len(found.At)) {
			found, ok = v, true
		}
	}
	return found, ok
}

// memory is what the rules may give the server: what the spec says is its own, whoever else draws on the memory of the host.
func (l Layout) memory(then *stack.Stack) {
	if l.Memory > 0 {
		budget.Own(then, l.Server, l.Memory)
	}
}

// after gives the stack with some steps done, and its memory counted again.
func (l Layout) after(s *stack.Stack, steps []advise.Step) *stack.Stack {
	then := s.Clone()
	for _, step := range steps {
		if t := then.Find(step.Knob.Of); t != nil {
			t.Setting(step.Knob.Name, step.To, source, stack.Origin{From: stack.FromLocal})
		}
	}
	budget.Apply(then)
	l.memory(then)
	return then
}

// Demand is what a server takes once some steps are done, beside what the spec says is its own.
type Demand struct {
	Least   int64  // what it takes at least
	Over    bool   // whether that is more than the spec says
	Unknown string // why nobody knows whether it is; "" when it is known, or nothing is said of its memory
}

// Demand gives it.
func (l Layout) Demand(s *stack.Stack, steps []advise.Step) Demand {
	if l.Memory == 0 {
		return Demand{}
	}
	then := l.after(s, steps)
	var all []*stack.Thing
	if db := then.Find(l.Server); db != nil {
		all, _ = then.Follow(db, "memory")
	}
	if len(all) != 1 {
		return Demand{Unknown: "the memory of the host is not known"}
	}
	least, known := all[0].Int("known")
	d := Demand{Least: least, Over: known && least > l.Memory}
	if _, whole := all[0].Int("expected"); !whole && !d.Over {
		d.Unknown = "not all that it takes is known"
		if g, ok := then.GapFor(all[0].Ref, "expected"); ok {
			d.Unknown = g.Why
		}
	}
	return d
}
