package sampler

import (
	"fmt"
	"strconv"

	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/stack"
)

// Finder makes the sources of the system.
type Finder struct{}

// mostServers bounds how many servers are read: as many as are looked at in detail.
const mostServers = 256

// Sources implements [sample.Finder].
func (Finder) Sources(s *stack.Stack) []sample.Source {
	host := s.Host()
	if host == nil {
		return nil
	}
	page, _ := host.Int("page_size")
	out := []sample.Source{kernelSource{of: host.Ref, page: page}}
	servers, others := s.OfKind("process"), &otherProcesses{servers: map[int]bool{}}
	for _, p := range servers[:min(len(servers), mostServers)] {
		pid, err := strconv.Atoi(p.Ref.Name)
		if err != nil || pid <= 0 {
			continue
		}
		others.servers[pid] = true
		m := member{of: p.Ref, pid: pid, many: product.Of(p.Text("engine")).SharesMemory}
		out = append(out, &processTime{member: m}, &processIO{member: m})
	}
	return append(append(out, others), groups(s)...)
}

// groups makes the sources of the control groups of servers: one of each,
// whichever server leads to it.
func groups(s *stack.Stack) (out []sample.Source) {
	devices, list := map[string]string{}, []string{}
	for _, d := range s.OfKind("block") {
		if dev := d.Text("dev"); dev != "" {
			devices[dev] = d.Ref.Name
			list = append(list, d.Ref.Name+" "+dev)
		}
	}
	seen := map[stack.Ref]bool{}
	for _, p := range s.OfKind("process") {
		pid, err := strconv.Atoi(p.Ref.Name)
		of, _ := s.Follow(p, "cgroup")
		if err != nil || len(of) != 1 || seen[of[0].Ref] || len(seen) == mostServers {
			continue
		}
		seen[of[0].Ref] = true
		g := group{of: of[0].Ref, pid: pid, devices: devices, name: sample.Named(fmt.Sprintf("control group of %d", pid), list...)}
		out = append(out, &groupTime{group: g}, &groupState{group: g})
	}
	return out
}
