package picture

import (
	"cmp"

	"plumb/internal/product"
	"plumb/internal/stack"
)

// ThingName is what people call a thing: vda, pool tank, this host. Servers
// keep the form that flags take, mysql:3306.
func ThingName(s *stack.Stack, r stack.Ref) string {
	switch r.Kind {
	case "host":
		return "this host"
	case "zfs":
		return "ZFS"
	case "dataset", "block":
		return r.Name
	case "memory":
		if r.Name == "host" {
			return "the memory budget"
		}
		return "the memory budget of " + r.Name
	case "filesystem":
		if fs := s.Find(r); fs != nil {
			return "filesystem " + cmp.Or(fs.Text("mountpoint"), r.Name)
		}
	case "cgroup":
		return "control group " + r.Name
	}
	if product.IsServer(r.Kind) {
		return r.String()
	}
	return r.Kind + " " + r.Name
}
