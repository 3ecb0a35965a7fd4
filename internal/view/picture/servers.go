package picture

import (
	"cmp"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Servers gives the database servers of a stack, in order.
func Servers(s *stack.Stack) []*stack.Thing {
	var out []*stack.Thing
	for _, kind := range product.Kinds() {
		out = append(out, s.OfKind(kind)...)
	}
	return out
}

// Chosen gives the servers that only names, by kind or by name; all when it
// names none.
func Chosen(s *stack.Stack, only []string) []*stack.Thing {
	all := Servers(s)
	some := slices.DeleteFunc(slices.Clone(all), func(db *stack.Thing) bool {
		return !slices.Contains(only, db.Ref.Kind) && !slices.Contains(only, db.Ref.String())
	})
	if len(some) == 0 {
		return all
	}
	return some
}

// HostLine is the one line that says which machine this is.
func HostLine(s *stack.Stack) string {
	h := s.Host()
	if h == nil {
		return "host not seen"
	}
	parts := []string{cmp.Or(h.Text("hostname"), h.Ref.Name)}
	os := shortOS(h.Text("os"))
	if k := h.Text("kernel"); k != "" {
		os = strings.TrimPrefix(os+", Linux "+shortKernel(k), ", ")
	}
	parts = append(parts, os)
	var size []string
	if n, ok := h.Int("cpus"); ok {
		size = append(size, units.Count(int(n), "CPU"))
	}
	if n, ok := h.Int("memory_total"); ok {
		size = append(size, units.Bytes(n)+" memory")
	}
	parts = append(parts, strings.Join(size, ", "))
	where := []string{h.Text("cloud")}
	if where[0] == "none" || where[0] == "" {
		where[0] = h.Text("virtualization")
	}
	switch where[0] {
	case "none", "":
		where = nil
	case "other":
		where[0] = "virtual machine"
	}
	if in, ok := h.Bool("in_container"); ok && in {
		where = append(where, "in a container")
	}
	parts = append(parts, strings.Join(where, ", "))
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// shortOS leaves out what does not tell systems apart: Debian 12 for Debian
// GNU/Linux 12 (bookworm).
func shortOS(name string) string {
	name, _, _ = strings.Cut(name, " (")
	return strings.ReplaceAll(name, " GNU/Linux", "")
}

// shortKernel keeps the numbers of a kernel release: 6.12.48 of
// 6.12.48+deb13-cloud-amd64.
func shortKernel(release string) string {
	return cmp.Or(catalog.Numbers(release), release)
}

// productText names a server as its maker does.
func productText(db *stack.Thing) string {
	return strings.TrimSpace(product.Of(db.Ref.Kind).Label(db.Text("flavor")) + " " + db.Text("version"))
}

// ServerLine says what a server is and how long it has run.
func ServerLine(db *stack.Thing) string {
	parts := []string{productText(db)}
	if up, ok := db.Int("uptime"); ok {
		parts = append(parts, "up "+units.Age(up))
	}
	if far, ok := db.Bool("remote"); ok && far {
		parts = append(parts, "remote: this host says nothing about it")
	}
	if in, ok := db.Bool("logged_in"); ok && !in {
		parts = append(parts, "not logged in")
	}
	return strings.Join(parts, " · ")
}

// RolesByFilesystem groups the roles of a server by where they lie: data
// first, then in the order of their names. Roles that could not be placed
// come last, each alone.
func RolesByFilesystem(s *stack.Stack, db stack.Ref) [][]stack.Role {
	var out [][]stack.Role
	index := map[stack.Ref]int{}
	for _, r := range RoleOrder(s, db) {
		if i, ok := index[r.Filesystem]; ok && !r.Filesystem.IsZero() {
			out[i] = append(out[i], r)
			continue
		}
		index[r.Filesystem] = len(out)
		out = append(out, []stack.Role{r})
	}
	return out
}

// RoleOrder gives the roles of a server, its data first.
func RoleOrder(s *stack.Stack, db stack.Ref) []stack.Role {
	var mine []stack.Role
	for _, r := range s.Roles {
		if r.DB == db && r.Name != "pid" {
			mine = append(mine, r)
		}
	}
	slices.SortStableFunc(mine, func(a, b stack.Role) int { return rank(a) - rank(b) })
	return mine
}

func rank(r stack.Role) int {
	order := []string{"data", "redo", "wal", "journal", "undo", "doublewrite", "tablespace", "binlog", "relaylog", "temporary", "log"}
	i := slices.Index(order, r.Name)
	if i < 0 {
		i = len(order)
	}
	if r.Filesystem.IsZero() {
		i += 100
	}
	return i
}

// pathGroup is one path and the roles kept there.
type pathGroup struct {
	Names string
	Path  string
}

// Place is a filesystem, or what is known of it, and the paths of one server
// on it.
type Place struct {
	Paths []pathGroup
	Fs    *stack.Thing
}

// SamePath joins roles kept at one path: "data, undo  /var/lib/mysql".
func SamePath(roles []stack.Role) []pathGroup {
	var out []pathGroup
	for _, r := range roles {
		path := r.Path
		if r.Resolved != "" && r.Resolved != r.Path {
			path += " -> " + r.Resolved
		}
		i := slices.IndexFunc(out, func(g pathGroup) bool { return g.Path == path })
		if i < 0 {
			out = append(out, pathGroup{r.Name, path})
			continue
		}
		if !slices.Contains(strings.Split(out[i].Names, ", "), r.Name) {
			out[i].Names += ", " + r.Name
		}
	}
	return out
}

// filesystemName is what a person calls a filesystem: what is mounted.
func filesystemName(fs *stack.Thing) string {
	return cmp.Or(fs.Text("source"), fs.Ref.Name)
}
