package catalog

import (
	"io/fs"
	"maps"
	"slices"
	"time"

	"plumb/internal/stack"
	"plumb/internal/strictyaml"
)

// Windows reads facts/*.yaml, knobs/*.yaml and samples/*.yaml, and gives the
// catalogue of what is known of a window of time: of each counter its rate, of
// each gauge its mean, least, most and growth, and the facts of windows/*.yaml,
// which are computed from several. Everything else is as in the catalogue of
// [Load]. Mistakes are reported as there.
func Windows(fsys fs.FS) (*Catalog, error) {
	all := func([]byte) bool { return true }
	l := loader{cat: &Catalog{Kinds: map[string]*Kind{}}}
	l.each(fsys, "facts", all, l.factsFile)
	l.each(fsys, "knobs", all, l.knobsFile)
	l.each(fsys, "samples", all, l.factsFile)
	for _, k := range l.cat.Kinds {
		for _, f := range slices.Collect(maps.Values(k.Facts)) {
			k.widen(f)
		}
	}
	l.each(fsys, "windows", all, l.factsFile)
	l.checkLinks()
	l.checkSinces()
	return l.cat, strictyaml.Join(l.errors)
}

// What is added to the name of a fact for what a window tells of it.
const (
	RateOf   = "_rate"   // of a counter, a second; of one that counts time, seconds a second: how many at a time
	LeastOf  = "_min"    // of a gauge
	MostOf   = "_max"    // of a gauge
	GrowthOf = "_growth" // of a gauge, a second, from the first reading of the window to the last
)

// widen adds what a window tells of one fact.
func (k *Kind) widen(f *Fact) {
	switch {
	case f.OverTime == stack.Counter:
		t := Rate
		if PerSecond(f.Type) != 1 {
			t = Float
		}
		k.derive(f, RateOf, t, f.Doc+"; a second")
	case f.OverTime == stack.Gauge && f.Type != Bool && f.Type != Text && f.Type != List:
		k.derive(f, LeastOf, f.Type, f.Doc+"; the least")
		k.derive(f, MostOf, f.Type, f.Doc+"; the most")
		k.derive(f, GrowthOf, Rate, f.Doc+"; by how much it grew a second")
		if f.Type == Int { // a mean of whole numbers is none
			mean := *f
			mean.Type = Float
			k.Facts[f.Name] = &mean
		}
	}
}

// derive declares a fact of the window, unless one of that name is there.
func (k *Kind) derive(f *Fact, suffix string, t Type, doc string) {
	if k.Facts[f.Name+suffix] != nil {
		return
	}
	k.Facts[f.Name+suffix] = &Fact{Kind: k.Name, Name: f.Name + suffix, Type: t, Doc: doc, From: f.From, OverTime: stack.Gauge, File: f.File, Line: f.Line}
}

// PerSecond is what a difference of a counter is multiplied with so that, by
// the second, it is seconds a second where the counter counts time.
func PerSecond(t Type) float64 {
	switch t {
	case Millis:
		return 1e-3
	case Micros:
		return 1e-6
	}
	return 1
}

// paces are how often a fact may be sampled.
var paces = map[string]time.Duration{"1s": time.Second, "10s": 10 * time.Second, "60s": time.Minute}
