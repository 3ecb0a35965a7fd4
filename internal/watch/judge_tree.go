package watch

import (
	"slices"

	"plumb/internal/product"
	"plumb/internal/stack"
)

// values are what the tree shows of each kind of thing.
var values = map[string][]labelled{
	"process":       {{"cpu_user_ms_rate", "processors, user"}, {"cpu_system_ms_rate", "system"}, {"threads", "threads"}, {"rss", "memory"}},
	"cgroup":        {{"cpu_usage_us_rate", "processors"}, {"psi_cpu_some_us_rate", "waits for processors"}, {"psi_io_some_us_rate", "waits for disks"}, {"psi_memory_some_us_rate", "waits for memory"}, {"memory_current", "memory"}},
	"cgroup_device": {{"reads_rate", "reads"}, {"writes_rate", "writes"}, {"limit_used", "of its limit"}},
	"filesystem":    {{"free", "free"}, {"used_percent", "used"}},
	"pool":          {{"txg_dirty", "dirty"}, {"txg_sync_us", "group written in"}},
	"block": {{"reads_rate", "reads"}, {"writes_rate", "writes"}, {"flushes_rate", "flushes"}, {"bytes_moved", "bytes"}, {"queue", "queue"}, {"read_response", "read takes"},
		{"write_response", "write takes"}, {"flush_response", "flush takes"}, {"response_ratio", "times unloaded"}, {"capacity_used", "of capacity"}},
	"host": {{"cpu_user_ms_rate", "processors, user"}, {"cpu_system_ms_rate", "system"}, {"cpu_iowait_ms_rate", "idle, disks waited for"}, {"cpu_steal_ms_rate", "stolen"},
		{"psi_cpu_some_us_rate", "waits for processors"}, {"psi_io_some_us_rate", "waits for disks"}, {"psi_memory_some_us_rate", "waits for memory"}, {"dirty", "dirty"}, {"memory_available", "memory available"}},
	"zfs": {{"arc_size", "ARC"}, {"arc_target", "aims at"}, {"tx_delayed_rate", "writes slowed"}, {"tx_throttled_rate", "writes stopped"}},
}

// Shows tells whether the tree has a value of things of a kind. Of what only a window tells, nothing else is exported.
func Shows(kind, name string) bool {
	return slices.ContainsFunc(values[kind], func(v labelled) bool { return v.name == name })
}

// tree gives a server and what it stands on, top down.
func (j *Judge) tree(w *judged, db *stack.Thing, verdicts []Verdict) []Node {
	t := tree{j: j, s: w.stack, verdicts: verdicts, server: db.Ref, seen: map[stack.Ref]bool{}}
	t.add(db, 0, product.Of(db.Ref.Kind).Label(db.Text("flavor"))+" "+db.Text("version"))
	for _, p := range t.follow(db, "process") {
		t.add(p, 1, "process "+p.Ref.Name)
		for _, g := range t.follow(p, "cgroup") {
			t.add(g, 2, "group "+g.Ref.Name)
			for _, l := range t.follow(g, "devices") {
				t.add(l, 3, "limit "+l.Ref.Name)
			}
		}
	}
	for _, fs := range t.follow(db, "storage") {
		label := fs.Text("mountpoint")
		if kind := fs.Text("fstype"); kind != "" {
			label += " (" + kind + ")"
		}
		t.add(fs, 1, label)
		depth := 2
		for _, ds := range t.follow(fs, "dataset") {
			t.add(ds, 2, ds.Ref.Name)
			for _, p := range t.follow(ds, "pool") {
				t.add(p, 3, "pool "+p.Ref.Name)
				depth = 4
			}
		}
		for _, b := range t.follow(fs, "block") {
			t.add(b, depth, b.Ref.Name)
		}
		for _, b := range t.follow(fs, "disks") {
			t.add(b, depth, b.Ref.Name)
		}
	}
	for _, z := range w.stack.OfKind("zfs") {
		t.add(z, 1, "ZFS")
	}
	if h := w.stack.Host(); h != nil {
		t.add(h, 1, h.Text("hostname"))
	}
	return t.nodes
}

type tree struct {
	j        *Judge
	s        *stack.Stack
	verdicts []Verdict
	server   stack.Ref
	seen     map[stack.Ref]bool
	nodes    []Node
}

func (t *tree) follow(from *stack.Thing, link string) []*stack.Thing {
	all, _ := t.s.Follow(from, link)
	slices.SortFunc(all, func(a, b *stack.Thing) int { return a.Ref.Compare(b.Ref) })
	return all
}

// add adds a thing, once.
func (t *tree) add(x *stack.Thing, depth int, label string) {
	if t.seen[x.Ref] {
		return
	}
	t.seen[x.Ref] = true
	n := Node{Of: x.Ref, Depth: depth, Label: label}
	for _, v := range values[x.Ref.Kind] {
		if number, ok := x.Number(v.name); ok {
			n.Values = append(n.Values, Rate{v.name, v.label, number, unitOf(t.j.cat, x.Ref.Kind, v.name)})
		}
	}
	for _, v := range t.verdicts {
		if n.Verdict == "" && v.Server == t.server && (slices.Contains(v.Things, x.Ref) || depth == 0 && len(v.Things) == 0) {
			n.Verdict = v.ID
		}
	}
	t.nodes = append(t.nodes, n)
}
