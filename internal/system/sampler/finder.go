package sampler

import (
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
	servers := s.OfKind("process")
	for _, p := range servers[:min(len(servers), mostServers)] {
		pid, err := strconv.Atoi(p.Ref.Name)
		if err != nil || pid <= 0 {
			continue
		}
		m := member{of: p.Ref, pid: pid, many: product.Of(p.Text("engine")).SharesMemory}
		out = append(out, &processTime{member: m}, &processIO{member: m})
	}
	return out
}
