package sampler

import (
	"plumb/internal/sample"
	"plumb/internal/stack"
)

// Finder makes the sources of storage.
type Finder struct{}

// Sources implements [sample.Finder].
func (Finder) Sources(s *stack.Stack) []sample.Source {
	var out []sample.Source
	if devices := devices(s); len(devices) > 0 {
		out = append(out, blockSource{sample.Named("block", devices...), devices})
	}
	return out
}
