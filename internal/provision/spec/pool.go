package spec

import (
	"regexp"
	"slices"
	"strings"

	"plumb/internal/strictyaml"
	"plumb/internal/units"
)

func (r *reader) pool(n *strictyaml.Node) {
	p := &Pool{}
	r.s.Pool = p
	at := map[string]*strictyaml.Node{}
	list := func(key string, into *[]Disk) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) { at[key] = n; *into = r.list(n, "pool."+key) }
	}
	r.doc.Object(n, "a pool", strictyaml.Fields{
		"name": func(n *strictyaml.Node) { p.Name = r.poolName(n) },
		"layout": func(n *strictyaml.Node) {
			at["layout"] = n
			if is := raids[strings.ToLower(n.Value)]; is != "" {
				r.doc.Errorf(n, "pool.layout is one of %s: what is called %s elsewhere is %s", strings.Join(layouts(), ", "), n.Value, is)
				return
			}
			p.Layout = Layout(r.doc.OneOf(n, "pool.layout", layouts()...))
		},
		"width":   func(n *strictyaml.Node) { at["width"] = n; p.Width = r.count(n, "pool.width", 1, mostDisks) },
		"disks":   list("disks", &p.Data),
		"special": list("special", &p.Special),
		"log":     list("log", &p.Log),
		"cache":   list("cache", &p.Cache),
		"key":     func(n *strictyaml.Node) { p.Key = r.path(n, "pool.key") },
	}, "name", "layout", "disks")
	if p.Layout != "" && len(p.Data) > 0 {
		r.groups(p, at)
		r.special(p, at["special"])
	}
}

// groups checks that the disks can stand together as the layout says.
func (r *reader) groups(p *Pool, at map[string]*strictyaml.Node) {
	width := p.Width
	switch n := at["width"]; {
	case n != nil && p.Layout == Stripe:
		r.doc.Errorf(n, "a stripe has no width: each of its disks is a vdev of its own")
		return
	case n != nil && width > 0 && len(p.Data)%width != 0:
		r.doc.Errorf(n, "%s not make groups of %d", units.Counted(len(p.Data), "disk", "does", "do"), width)
		return
	case width == 0:
		width = len(p.Data)
	}
	if least := p.Layout.least(); width < least {
		r.doc.Errorf(at["layout"], "%s needs groups of at least %d disks, and this has %d%s", p.Layout, least, width, p.Layout.instead(width))
	}
}

// special checks that the loss of as many disks as the data survive does not lose what lies on
// the special ones: without them all is lost. Groups that survive more, or fewer, zpool create refuses too.
func (r *reader) special(p *Pool, n *strictyaml.Node) {
	if n == nil || len(p.Special) == 0 {
		return
	}
	if want := p.Survives() + 1; len(p.Special) != want {
		r.doc.Errorf(n, "pool.special has %s, and needs %d: without the special vdev the pool is lost, so it must survive the loss of as many disks as a vdev of the data, which is %d", units.Count(len(p.Special), "disk"), want, want-1)
	}
}

// Survives is how many disks of one group may be lost.
func (p Pool) Survives() int {
	switch p.Layout {
	case Mirror:
		if p.Width > 0 {
			return p.Width - 1
		}
		return max(len(p.Data)-1, 0)
	case RAIDZ1:
		return 1
	case RAIDZ2:
		return 2
	case RAIDZ3:
		return 3
	}
	return 0
}

// layouts lists what a layout is called.
func layouts() []string {
	return []string{string(Stripe), string(Mirror), string(RAIDZ1), string(RAIDZ2), string(RAIDZ3)}
}

// raids are what people call layouts elsewhere.
var raids = map[string]string{"raid0": "stripe", "raid1": "mirror", "raid10": "mirror with pool.width 2", "raid5": "raidz1", "raid6": "raidz2", "raidz": "raidz1"}

// least is how many disks a group of the layout has at least to be worth it: with one less,
// raidz keeps no more data than a mirror.
func (l Layout) least() int {
	return map[Layout]int{Mirror: 2, RAIDZ1: 3, RAIDZ2: 4, RAIDZ3: 5}[l]
}

// instead says what so few disks can be.
func (l Layout) instead(width int) string {
	switch {
	case width == 1:
		return ": one disk is a stripe"
	case l != Mirror:
		return ": a mirror of them survives as much, and is faster"
	}
	return ""
}

// list reads the disks of one purpose.
func (r *reader) list(n *strictyaml.Node, what string) (all []Disk) {
	if strictyaml.IsList(n) && (len(n.Content) == 0 || len(n.Content) > mostDisks) {
		r.doc.Errorf(n, "%s has %d disks: 1 to %d are possible", what, len(n.Content), mostDisks)
		return nil
	}
	r.doc.Items(n, what, func(n *strictyaml.Node) { all = append(all, r.disk(n, "a disk of "+what)) })
	return all
}

// reserved are words that zpool create takes for something else than a pool's name.
var reserved = []string{"mirror", "raidz", "draid", "spare", "log", "cache", "special", "dedup"}

// diskLike is what disks are called on Solaris: pool_namecheck refused it up to some release.
var diskLike = regexp.MustCompile(`^c[0-9]`)

func (r *reader) poolName(n *strictyaml.Node) string {
	name := r.doc.Text(n, "pool.name")
	if name == "" {
		return ""
	}
	if !poolName.MatchString(name) {
		r.doc.Errorf(n, "pool.name must be a letter followed by letters, digits, -, _ and ., at most 64 characters: not %.80q", name)
		return ""
	}
	if i := slices.IndexFunc(reserved, func(word string) bool { return strings.HasPrefix(name, word) }); i >= 0 {
		r.doc.Errorf(n, "a pool's name cannot begin with %s: zpool create would take it for something else", reserved[i])
		return ""
	}
	if diskLike.MatchString(name) {
		r.doc.Errorf(n, "a pool's name cannot begin with c and a digit: older releases of ZFS take that for a disk")
		return ""
	}
	return name
}
