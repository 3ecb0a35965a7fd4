package propose

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/strictyaml"
)

// From gives the spec of a server that exists: its storage as it was read, with the disks by their names in lasting. The notes
// say what a spec cannot.
func From(s *stack.Stack, name string, lasting Names) (sp spec.Spec, notes []string, err error) {
	db, several, err := one(s, name)
	if err != nil {
		return sp, nil, err
	}
	sp.Server = spec.Server{Product: db.Text("flavor"), Version: series(db.Text("version"))}
	if role(db) == spec.Replica {
		sp.Server.Role = spec.Replica
	}
	if sp.Server.Product == "" {
		sp.Server.Product = product.Of(db.Ref.Kind).Flavors[0].Name
	}
	if several {
		sp.Server.Name = sp.Server.Product + ":" + db.Ref.Name
	}
	all, known := s.Follow(db, "data")
	if !known || len(all) != 1 {
		return sp, nil, hint.With(fmt.Errorf("the filesystem of %s's data is not known, or there are several", db.Ref), "run as root; plumb stack shows what was seen")
	}
	fs := all[0]
	if sets, _ := s.Follow(fs, "dataset"); len(sets) == 1 {
		notes, err = fromDataset(s, sets[0], &sp, lasting)
		return sp, notes, err
	}
	return sp, nil, fromFilesystem(fs, &sp, lasting)
}

// one finds the server that is meant: by its name, or the only one.
func one(s *stack.Stack, name string) (db *stack.Thing, several bool, err error) {
	var names []string
	var kinds []string
	for _, flavor := range product.Private() {
		if kind := product.OfFlavor(flavor).Kind; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		for _, t := range s.OfKind(kind) {
			names = append(names, t.Ref.String())
			if name == "" || name == t.Ref.String() {
				db = t
			}
		}
	}
	switch {
	case db == nil && name != "":
		return nil, false, hint.Usage(name+" is not on this host", "there is "+strings.Join(names, ", "))
	case db == nil:
		return nil, false, hint.With(errors.New("no server that Plumb can provision was found here"), "plumb stack shows what was found")
	case name == "" && len(names) > 1:
		return nil, false, hint.Usage("several servers are here", "name one of "+strings.Join(names, ", "))
	}
	return db, len(s.OfKind(db.Ref.Kind)) > 1, nil
}

// series is the part of a version that a spec names: 10.11 of 10.11.19, and 17 of PostgreSQL's 17.2.
func series(version string) string {
	parts := strings.Split(version, ".")
	keep := 2
	if len(parts) == 2 {
		keep = 1
	}
	return strings.Join(parts[:min(keep, len(parts))], ".")
}

// fromDataset adds the pool of a dataset. If a spec cannot describe that pool, the spec uses it as it is.
func fromDataset(s *stack.Stack, ds *stack.Thing, sp *spec.Spec, lasting Names) (notes []string, err error) {
	pools, _ := s.Follow(ds, "pool")
	if len(pools) != 1 {
		return nil, fmt.Errorf("the pool of %s was not seen", ds.Ref.Name)
	}
	p := pools[0]
	disks := func(fact string) (all []spec.Disk) {
		for _, at := range p.List(fact) {
			all = append(all, spec.Disk{Path: lasting.disk(at)})
		}
		return all
	}
	made := spec.Pool{Name: p.Ref.Name, Layout: spec.Layout(p.Text("layout")), Data: disks("vdev_paths"), Special: disks("special_paths"), Log: disks("log_paths"), Cache: disks("cache_paths")}
	if made.Layout == "single" {
		made.Layout = spec.Stripe
	}
	vdevs, known := p.Int("vdevs")
	if made.Layout != spec.Stripe && known && vdevs > 1 && int64(len(made.Data))%vdevs == 0 {
		made.Width = len(made.Data) / int(vdevs)
	}
	sp.Pool = &made
	why := mistake(*sp)
	mirrored, _ := p.Bool("log_mirrored")
	redundant, _ := p.Bool("special_redundant")
	switch {
	case made.Layout != spec.Stripe && known && vdevs > 1 && made.Width == 0:
		why = "its groups are of different sizes"
	case len(made.Special) > 1 && !redundant:
		why = "its special devices are not mirrored, but those of a spec are"
	case len(made.Log) > 1 && !mirrored:
		why = "its log devices are not mirrored, but those of a spec are"
	}
	if why != "" {
		sp.Pool, sp.Use = nil, p.Ref.Name
		if no := mistake(*sp); no != "" {
			return nil, hint.With(fmt.Errorf("a spec can neither name the pool %s nor use it: %s", p.Ref.Name, why), no)
		}
		return []string{fmt.Sprintf("the pool %s is used as it is, because a spec cannot name it: %s", p.Ref.Name, why)}, nil
	}
	if ds.Text("encryptionroot") != "" {
		notes = append(notes, "the data are encrypted: add the file of the key, pool.key")
	}
	return notes, nil
}

// mistake says what is wrong with a spec, "" for nothing.
func mistake(sp spec.Spec) string {
	_, err := spec.Parse("the spec of this host", spec.Text(sp))
	if first, ok := errors.AsType[strictyaml.Error](err); ok {
		return first.Msg
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// fromFilesystem tells of which type the filesystem is, and on which device.
func fromFilesystem(fs *stack.Thing, sp *spec.Spec, lasting Names) error {
	sp.Filesystem = &spec.Filesystem{Type: fs.Text("fstype"), Device: spec.Disk{Path: lasting.of(fs.Text("source"))}}
	why := mistake(*sp)
	switch {
	case why == "":
		return nil
	case !slices.Contains(spec.Filesystems(), fs.Text("fstype")):
		why = "a spec can make ZFS pools, ext4, XFS and btrfs"
	}
	return hint.With(fmt.Errorf("%s is on %s on %s, which a spec cannot make", fs.Text("mountpoint"), fs.Text("fstype"), fs.Text("source")), why)
}
