package coverage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Product is something with a version that a rule was judged on.
type Product struct {
	Name    string // as in the key range of a rule
	Version string // numbers with dots; "" where it tells none
}

// String gives the name and the version: mariadb 10.11.19.
func (p Product) String() string { return strings.TrimSpace(p.Name + " " + p.Version) }

// compare orders products: by name, then older ones first.
func (p Product) compare(o Product) int {
	a, _ := catalog.ParseVersion(p.Version)
	b, _ := catalog.ParseVersion(o.Version)
	return cmp.Or(cmp.Compare(p.Name, o.Name), a.Compare(b), cmp.Compare(p.Version, o.Version))
}

// numbered is a product with the numbers of a version.
func numbered(name, version string) Product {
	v, err := catalog.ParseVersion(version)
	if err != nil {
		return Product{Name: name}
	}
	return Product{name, v.String()}
}

// productsOf lists the products that a verdict is about. known is false when
// one of its things does not tell what it is: such a meeting proves nothing.
func productsOf(s *stack.Stack, v rule.Evaluation) (on []Product, known bool) {
	kernel := len(v.Things) == 0 || slices.ContainsFunc(v.Rule.Claims(), func(c rule.Claim) bool { return c.Part() == rule.PartLinux })
	kernel = kernel || slices.Contains(v.Rule.Kinds(), "host")
	for _, ref := range v.Things {
		t := s.Find(ref)
		switch kind := ref.Kind; {
		case product.IsServer(kind):
			if t == nil || t.Text("version") == "" || rule.ServerProduct(t) == "" {
				return nil, false
			}
			on = append(on, numbered(rule.ServerProduct(t), t.Text("version")))
			if galera, _ := t.Bool("galera"); galera {
				on = append(on, Product{Name: "galera"})
			}
		case kind == "zfs", kind == "pool", kind == "dataset":
			on = append(on, zfsOf(s)...)
		case kind == "filesystem":
			kernel = true
			on = append(on, filesystemOf(s, t)...)
		case kind == "block":
			kernel = true
			on = append(on, deviceOf(t)...)
			if t != nil && t.Text("layer") == "zvol" {
				on = append(on, zfsOf(s)...)
			}
		case kind == "cgroup":
			kernel = true
			if n, ok := intOf(t, "hierarchy"); ok {
				on = append(on, Product{"cgroup", strconv.FormatInt(n, 10)})
			}
		case kind == "process":
			kernel = true
			on = append(on, servedBy(s, ref)...)
		default: // memory is the kernel's
			kernel = true
		}
	}
	if kernel {
		on = append(on, linuxOf(s)...)
	}
	slices.SortFunc(on, Product.compare)
	return slices.Compact(on), true
}

// servedBy gives the servers that a process is, as far as they tell.
func servedBy(s *stack.Stack, process stack.Ref) (on []Product) {
	for _, kind := range product.Kinds() {
		for _, t := range s.OfKind(kind) {
			if slices.Contains(t.Links["process"], process) && rule.ServerProduct(t) != "" && t.Text("version") != "" {
				on = append(on, numbered(rule.ServerProduct(t), t.Text("version")))
			}
		}
	}
	return on
}

func zfsOf(s *stack.Stack) []Product {
	t := s.Find(stack.Ref{Kind: "zfs", Name: "module"})
	if t == nil || t.Text("implementation") == "" {
		return nil
	}
	return []Product{numbered(t.Text("implementation"), t.Text("version"))}
}

// filesystemOf gives the product of a filesystem, of which the kernel's
// version is the version.
func filesystemOf(s *stack.Stack, t *stack.Thing) []Product {
	if t == nil {
		return nil
	}
	switch fstype := t.Text("fstype"); {
	case fstype == "zfs", fstype == "fuse.zfs":
		return zfsOf(s)
	case fstype == "ext2", fstype == "ext3":
		return []Product{{Name: "ext3"}}
	case fstype == "nfs", fstype == "nfs4":
		return []Product{{Name: "nfs"}}
	case fstype == "ext4", fstype == "xfs", fstype == "btrfs", fstype == "overlay":
		return []Product{{Name: fstype}}
	}
	return nil
}

// deviceOf gives what kind of device a block device is, where that is one
// that rules are about.
func deviceOf(t *stack.Thing) (on []Product) {
	if t == nil {
		return nil
	}
	for _, name := range []string{t.Text("layer"), t.Text("transport"), t.Text("cloud_volume")} {
		switch name {
		case "nvme", "md", "bcache", "loop", "zvol", "ebs", "azure-disk":
			on = append(on, Product{Name: name})
		case "rbd":
			on = append(on, Product{Name: "ceph"})
		}
	}
	return on
}

func intOf(t *stack.Thing, fact string) (int64, bool) {
	if t == nil {
		return 0, false
	}
	return t.Int(fact)
}

// linuxOf gives the kernel: the release it is built from where that is known.
func linuxOf(s *stack.Stack) []Product {
	h := s.Host()
	if h == nil {
		return nil
	}
	if release := cmp.Or(h.Text("kernel_upstream"), h.Text("kernel")); release != "" {
		return []Product{numbered("linux", release)}
	}
	return nil
}
