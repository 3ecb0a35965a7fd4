package rule

import (
	"maps"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/strictyaml"
)

// Part is a part of a host that a claim can be about. Products of one part
// are alternatives: a rule for MySQL and MariaDB has met its server when it
// has met one of them.
type Part string

// The parts.
const (
	PartServer     Part = "server"
	PartCluster    Part = "cluster" // what joins servers
	PartZFS        Part = "zfs"
	PartFilesystem Part = "filesystem"
	PartDevice     Part = "device"
	PartGroup      Part = "control group"
	PartLinux      Part = "linux"
)

// Claim is the versions of one product that a rule speaks of.
type Claim struct {
	Product string          // as in the rule's key range: mariadb, openzfs, linux
	Ranges  []catalog.Range // none: every version
	Text    string          // as written: "2.0-2.3.8, 2.4.0-2.4.3"; "any" for every version
}

// anyVersion is how a claim about every version is written.
const anyVersion = "any"

// Has reports whether a claim is about a version. One that is not known, ""
// or no number, is only in a claim about every version.
func (c Claim) Has(version string) bool {
	if len(c.Ranges) == 0 {
		return true
	}
	v, err := catalog.ParseVersion(version)
	return err == nil && slices.ContainsFunc(c.Ranges, func(r catalog.Range) bool { return r.Has(v) })
}

// Part is the part of a host that the claim's product is.
func (c Claim) Part() Part { return products()[c.Product] }

// products lists what a claim can be about.
func products() map[string]Part {
	all := map[string]Part{
		"galera":  PartCluster,
		"openzfs": PartZFS, "zfs-fuse": PartZFS,
		"ext3": PartFilesystem, "ext4": PartFilesystem, "xfs": PartFilesystem, "btrfs": PartFilesystem, "nfs": PartFilesystem, "overlay": PartFilesystem,
		"nvme": PartDevice, "md": PartDevice, "bcache": PartDevice, "loop": PartDevice, "zvol": PartDevice,
		"ebs": PartDevice, "azure-disk": PartDevice, "ceph": PartDevice,
		"cgroup": PartGroup,
		"linux":  PartLinux,
	}
	for _, s := range product.Servers() {
		for _, name := range s.Claims() {
			all[name] = PartServer
		}
	}
	return all
}

// Claims lists the versions that the rule speaks of: what its key range says,
// and for parts of which that says nothing, every product of the kinds it binds.
func (r *Rule) Claims() []Claim {
	out := slices.Clone(r.Range)
	said := map[Part]bool{}
	for _, c := range r.Range {
		said[c.Part()] = true
	}
	for _, b := range r.For {
		for _, product := range productsOf(b.Kind) {
			c := Claim{Product: product, Text: anyVersion}
			if !said[c.Part()] && !slices.ContainsFunc(out, func(have Claim) bool { return have.Product == product }) {
				out = append(out, c)
			}
		}
	}
	return out
}

// productsOf lists what things of a kind can be, where a rule that binds one
// is about it.
func productsOf(kind string) []string {
	switch kind {
	case "zfs", "pool", "dataset":
		return []string{"openzfs", "zfs-fuse"}
	}
	return product.Of(kind).Claims()
}

// claims reads the key range: {mysql: "8.0.30-", mariadb: any}.
func (d *reader) claims(n *strictyaml.Node) {
	d.doc.Entries(n, "range", func(key, value *strictyaml.Node) {
		known := products()
		if known[key.Value] == "" {
			names := slices.Sorted(maps.Keys(known))
			d.doc.Errorf(key, "there is no product %s%s (known: %s)", key.Value, strictyaml.Meant(key.Value, names), strings.Join(names, ", "))
			return
		}
		c := Claim{Product: key.Value, Text: strings.TrimSpace(d.doc.Text(value, "a range of versions"))}
		if c.Text == "" {
			d.doc.Errorf(value, "a range of versions is written \"8.0.30-\", \"-5.7\", \"10.5-11.3\", several with commas, or any")
			return
		}
		if c.Text != anyVersion {
			var err error
			if c.Ranges, err = catalog.ParseRanges(c.Text); err != nil {
				d.doc.Errorf(value, "%v, or any", err)
				return
			}
		}
		d.rule.Range = append(d.rule.Range, c)
	})
}
