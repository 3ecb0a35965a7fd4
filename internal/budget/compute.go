package budget

import (
	"slices"

	"plumb/internal/product"
	"plumb/internal/stack"
)

// compute gives the memory domains of a host, control groups first, the host
// last. A stack without a host (a remote server) has none.
func compute(s *stack.Stack) []Domain {
	host := s.Host()
	if host == nil {
		return nil
	}
	total, ok := host.Int("memory_total")
	if !ok {
		return nil
	}
	servers := localServers(s)
	return append(groups(s, servers, total), machine(s, host, servers, total))
}

// server is a database on this host with what its process shows.
type server struct {
	thing   *stack.Thing
	process *stack.Thing // nil when not linked
	cgroup  *stack.Thing // nil when not known
}

func localServers(s *stack.Stack) []server {
	var out []server
	for _, t := range s.Things {
		if _, ok := models[t.Ref.Kind]; !ok {
			continue
		}
		if remote, _ := t.Bool("remote"); remote {
			continue
		}
		sv := server{thing: t}
		if p, _ := s.Follow(t, "process"); len(p) == 1 {
			sv.process = p[0]
			if g, _ := s.Follow(p[0], "cgroup"); len(g) == 1 {
				sv.cgroup = g[0]
			}
		}
		out = append(out, sv)
	}
	return out
}

// groups makes a domain for every control group that limits a server below
// the machine. The ARC and the rest of the host are not charged to it.
func groups(s *stack.Stack, servers []server, total int64) []Domain {
	var refs []stack.Ref
	for _, sv := range servers {
		if sv.cgroup == nil || slices.Contains(refs, sv.cgroup.Ref) {
			continue
		}
		if limit, ok := sv.cgroup.Int("memory_limit"); ok && limit < total {
			refs = append(refs, sv.cgroup.Ref)
		}
	}
	slices.SortFunc(refs, stack.Ref.Compare)
	var out []Domain
	for _, ref := range refs {
		group := s.Find(ref)
		limit, _ := group.Int("memory_limit")
		d := Domain{Ref: stack.Ref{Kind: "memory", Name: ref.Name}, Limit: limit}
		for _, sv := range servers {
			if sv.cgroup == group {
				d.add(sv)
			}
		}
		if anon, ok := group.Int("memory_anon"); ok {
			shared, _ := group.Int("memory_shmem") // shared_buffers; page cache to the kernel, but not to be dropped
			d.Measured = anon + shared
		} else {
			d.Unmeasured = ref.String() + " memory_anon is not known"
		}
		out = append(out, d)
	}
	return out
}

// machine makes the domain of the whole host.
func machine(s *stack.Stack, host *stack.Thing, servers []server, total int64) Domain {
	d := Domain{Ref: stack.Ref{Kind: "memory", Name: "host"}, Limit: total}
	for _, sv := range servers {
		d.add(sv)
	}
	d.addARC(s)
	d.addRest(s, host, servers, total)
	return d
}

func (d *Domain) add(sv server) {
	d.Servers = append(d.Servers, sv.thing.Ref)
	m := model{of: sv.thing}
	models[sv.thing.Ref.Kind](&m)
	d.Parts = append(d.Parts, m.parts...)
	d.Unknown = append(d.Unknown, m.unknown...)
}

// addARC adds the ZFS cache. Where a limit was set it is what the ARC may
// grow to; left alone, the ARC gives way, and what it takes now is expected.
func (d *Domain) addARC(s *stack.Stack) {
	zfs := s.Find(stack.Ref{Kind: "zfs", Name: "module"})
	if zfs == nil || len(s.OfKind("pool")) == 0 {
		return
	}
	m := model{of: zfs}
	size, limit := m.need("arc_size"), m.need("arc_limit")
	p := Part{Of: zfs.Ref, Name: "ARC", Expected: exactly(size), Worst: exactly(limit),
		Why: "its size now; at worst its limit"}
	if set, ok := zfs.Int("zfs_arc_max"); ok && set > 0 {
		p.Expected, p.Why = exactly(limit), "zfs_arc_max"
	}
	d.Parts = append(d.Parts, p)
	d.Unknown = append(d.Unknown, m.unknown...)
}

// addRest adds the kernel and all other processes: what is in use now and
// belongs neither to a server nor to the ARC. MemAvailable already counts
// page cache as free, and counts no ARC.
func (d *Domain) addRest(s *stack.Stack, host *stack.Thing, servers []server, total int64) {
	available, ok := host.Int("memory_available")
	if !ok {
		d.Unknown = append(d.Unknown, stack.Knob{Of: host.Ref, Name: "memory_available"})
		d.Unmeasured = "memory_available is not known"
		return
	}
	d.Measured = total - available
	rest := d.Measured
	for _, sv := range servers {
		held, ok := sv.held(host)
		if !ok {
			d.Parts = append(d.Parts, Part{Of: host.Ref, Name: "kernel and other processes",
				Why: "not known apart from " + sv.thing.Ref.String(), Expected: upTo(rest), Worst: upTo(rest)})
			return
		}
		rest -= held
	}
	if zfs := s.Find(stack.Ref{Kind: "zfs", Name: "module"}); zfs != nil {
		arc, _ := zfs.Int("arc_size")
		rest -= arc
	}
	rest = max(rest, 0)
	d.Parts = append(d.Parts, Part{Of: host.Ref, Name: "kernel and other processes",
		Why: "in use now beside the servers and the ARC", Expected: exactly(rest), Worst: exactly(rest)})
}

// held gives the memory a server has now. RSS does not count huge pages of a
// reserved pool, which the kernel takes out of what is available; PostgreSQL
// has all its shared memory there or none of it, and its first process, whose
// pages are counted, touches little of it.
func (sv server) held(host *stack.Thing) (int64, bool) {
	if sv.process == nil {
		return 0, false
	}
	rss, ok := sv.process.Int("rss")
	huge, known := sv.process.Int("huge_pages")
	if pool, _ := host.Int("huge_pages_total"); !known && pool > 0 {
		return 0, false
	}
	if huge > 0 && product.Of(sv.thing.Ref.Kind).SharesMemory {
		buffers, _ := sv.thing.Int("shared_buffers")
		shared, _ := sv.thing.Int("shared_memory_size")
		huge = max(huge, buffers, shared)
	}
	return rss + huge, ok
}
