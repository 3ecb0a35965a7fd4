package metrics

import (
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// sampled tells whether a fact of the catalogue of windows is read again and
// again, or computed of such, rather than derived from one that is.
func sampled(k *catalog.Kind, f *catalog.Fact) bool {
	if f.OverTime != stack.Counter && f.OverTime != stack.Gauge {
		return false
	}
	for _, suffix := range []string{catalog.RateOf, catalog.LeastOf, catalog.MostOf, catalog.GrowthOf} {
		base, ok := strings.CutSuffix(f.Name, suffix)
		if from := k.Facts[base]; ok && from != nil && from.File == f.File && from.Line == f.Line {
			return false
		}
	}
	return true
}
