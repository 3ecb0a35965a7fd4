package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// mongo prints steps as the nested YAML of mongod.conf. A knob is shown under
// its dotted path, such as storage.wiredTiger.engineConfig.cacheSizeGB.
func (e emitter) mongo(steps []advise.Step) {
	path := func(s advise.Step) string { return e.Name(s.Knob.Of.Kind, s.Knob.Name) }
	steps = slices.Clone(steps)
	slices.SortFunc(steps, func(a, b advise.Step) int { return cmp.Compare(path(a), path(b)) })
	var open []string
	for _, s := range steps {
		keys := strings.Split(path(s), ".")
		above := keys[:len(keys)-1]
		same := 0
		for same < len(above) && same < len(open) && above[same] == open[same] {
			same++
		}
		for i := same; i < len(above); i++ {
			e.Line(page.Normal, strings.Repeat("  ", i)+above[i]+":")
		}
		open = above
		inset := strings.Repeat("  ", len(above))
		r := emitter{Page: page.NewPage(page.Screen{Width: e.Width}), Facts: e.Facts}
		r.reason(s)
		for l := range strings.Lines(r.String()) {
			e.Line(page.Normal, inset+strings.TrimRight(l, "\n"))
		}
		leaf := keys[len(keys)-1]
		e.Line(page.Normal, inset+leaf+": "+mongoValue(leaf, e.TypeOf(product.Mongo, s.Knob.Name), s.To))
	}
}

// mongoValue writes a value in the unit that the option's name ends with.
func mongoValue(leaf string, t catalog.Type, v stack.Value) string {
	if n, ok := v.Int(); ok && t == catalog.Bytes {
		for suffix, unit := range map[string]float64{"GB": 1 << 30, "MB": 1 << 20} {
			if strings.HasSuffix(leaf, suffix) {
				return strconv.FormatFloat(float64(n)/unit, 'f', -1, 64)
			}
		}
	}
	if b, ok := v.Bool(); ok {
		return strconv.FormatBool(b)
	}
	if s, ok := v.Text(); ok {
		return strconv.Quote(s)
	}
	return v.String()
}
