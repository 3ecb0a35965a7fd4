package catalog

import (
	"cmp"
	"maps"
	"slices"
)

// DefaultAt gives the default of a knob in a version. Of a version that is not known it is that of the
// oldest: advice for it holds in all later ones.
func (k *Knob) DefaultAt(flavour, version string) (text string, ok bool) {
	at, err := ParseVersion(version)
	for _, until := range slices.SortedFunc(maps.Keys(k.Before), func(a, b string) int {
		v, _ := ParseVersion(a)
		w, _ := ParseVersion(b)
		return cmp.Or(v.Compare(w), cmp.Compare(a, b))
	}) {
		if v, _ := ParseVersion(until); err != nil || at.Compare(v) < 0 {
			return k.Before[until], true
		}
	}
	if text, ok = k.Default[flavour]; !ok {
		text, ok = k.Default[""]
	}
	return text, ok
}
