package sampler

import (
	"fmt"
	"hash/fnv"

	"plumb/internal/sample"
	"plumb/internal/stack"
)

// Finder makes the sources of storage.
type Finder struct{}

// Sources implements [sample.Finder].
func (Finder) Sources(s *stack.Stack) []sample.Source {
	var out []sample.Source
	if devices := devices(s); len(devices) > 0 {
		out = append(out, blockSource{named("block", devices), devices})
	}
	return out
}

// named names a source after what it reads, so that one that reads more or less
// than before is another.
func named(what string, things []string) string {
	sum := fnv.New32a()
	for _, t := range things {
		fmt.Fprintf(sum, "%q", t)
	}
	return fmt.Sprintf("%s (%d, %08x)", what, len(things), sum.Sum32())
}
