package record

import (
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// metric is how a series is called in Prometheus: as view/metrics calls it.
type metric struct {
	name, help string
	counter    bool
	scale      float64 // to the base unit
}

var baseUnits = map[catalog.Type]struct {
	own, base string
	scale     float64
}{
	catalog.Bytes:   {"_bytes", "_bytes", 1},
	catalog.Millis:  {"_ms", "_seconds", 1e-3},
	catalog.Micros:  {"_us", "_seconds", 1e-6},
	catalog.Seconds: {"_seconds", "_seconds", 1},
	catalog.Percent: {"_percent", "_ratio", 1e-2},
	catalog.Ratio:   {"_ratio", "_ratio", 1},
}

// metricOf gives the name of a fact; false for what is no number.
func metricOf(f *catalog.Fact) (metric, bool) {
	if f == nil || f.Type == catalog.Text || f.Type == catalog.List {
		return metric{}, false
	}
	m := metric{name: f.Name, help: f.Doc, counter: f.OverTime == stack.Counter, scale: 1}
	if u, ok := baseUnits[f.Type]; ok {
		m.name, m.scale = strings.TrimSuffix(m.name, u.own)+u.base, u.scale
	}
	if base, ok := strings.CutSuffix(m.name, "_count"); ok && !m.counter { // that end is a histogram's
		m.name = base + "_number"
	}
	m.name = "plumb_" + f.Kind + "_" + strings.Map(nameRune, m.name)
	return m, true
}

// nameRune keeps what a name may hold.
func nameRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
		return r
	case r >= 'A' && r <= 'Z':
		return r + ('a' - 'A')
	}
	return '_'
}

// alone are kinds of which a host has one thing.
var alone = []string{"host", "zfs", "memory"}

// labelsOf gives the labels by which a thing is known; false for a process that
// is no server's.
func labelsOf(of stack.Ref, servers map[stack.Ref]stack.Ref) (labels map[string]string, ok bool) {
	switch {
	case slices.Contains(alone, of.Kind):
		return nil, true
	case product.IsServer(of.Kind):
		return map[string]string{"server": of.String()}, true
	case of.Kind == "process":
		server, known := servers[of]
		return map[string]string{"server": server.String()}, known
	case of.Kind == "block":
		return map[string]string{"device": of.Name}, true
	case of.Kind == "cgroup_device":
		if i := strings.LastIndexByte(of.Name, '@'); i >= 0 {
			return map[string]string{"cgroup": of.Name[:i], "device": of.Name[i+1:]}, true
		}
	}
	return map[string]string{strings.Map(nameRune, of.Kind): of.Name}, true
}

// serversOf tells of every process of a picture whose server it is.
func serversOf(s *stack.Stack, into map[stack.Ref]stack.Ref) {
	for _, kind := range product.Kinds() {
		for _, t := range s.OfKind(kind) {
			of, _ := s.Follow(t, "process")
			for _, p := range of {
				into[p.Ref] = t.Ref
			}
		}
	}
}
