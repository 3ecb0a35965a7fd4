package rehearse

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/product"
	"plumb/internal/search"
	"plumb/internal/stack"
)

// Tunable is a setting with a number that a search may choose. None of its values
// is less than safe: a test goes over all of them with the catalogue.
type Tunable struct {
	search.Dimension
	Kind   string             // in the catalogue: mysql, postgres, dataset
	Type   catalog.Type       // Bool: 0 is off, 1 is on
	Path   string             // what it sets in an experiment: server.settings.shared_buffers
	Also   map[string]float64 // other paths that are set to so many times its value
	Memory bool               // it is a share of memory: a server twice as large has twice the value
	Slow   bool               // trials of seconds show little of it
	On     string             // of a Bool: the word for on; "" for on
}

// Value gives a value as the catalogue has it.
func (d Tunable) Value(v float64) stack.Value {
	switch d.Type {
	case catalog.Bool:
		return stack.Bool(v > 0)
	case catalog.Float, catalog.Percent, catalog.Ratio:
		return stack.Float(v)
	}
	return stack.Int(int64(math.Round(v)))
}

// Text writes a value as the configuration takes it.
func (d Tunable) Text(v float64) string {
	units := product.Of(d.Kind).Notation == product.Units
	switch {
	case d.Type == catalog.Bool && v > 0:
		return cmp.Or(d.On, "on")
	case d.Type == catalog.Bool:
		return "off"
	case d.Type == catalog.Bytes && units:
		return strconv.FormatInt(int64(v)/1024, 10) + "kB"
	case d.Type == catalog.Bytes:
		return experiment.Bytes(v).String()
	case d.Type == catalog.Seconds && units:
		return strconv.FormatFloat(v, 'f', -1, 64) + "s"
	case d.Type == catalog.Millis && units:
		return strconv.FormatFloat(v, 'f', -1, 64) + "ms"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Read is the inverse of Text. It takes what people write too.
func (d Tunable) Read(text string) (v float64, ok bool) {
	if d.On != "" && text == d.On {
		return 1, true
	}
	value, err := catalog.ParseValue(&catalog.Fact{Type: d.Type}, text)
	if err != nil {
		return 0, false
	}
	if on, isBool := value.Bool(); isBool {
		return map[bool]float64{true: 1}[on], true
	}
	return value.Number()
}

// Sets gives all paths of a value, and what they are set to.
func (d Tunable) Sets(v float64) map[string]string {
	all := map[string]string{d.Path: d.Text(v)}
	for path, factor := range d.Also {
		all[path] = d.Text(v * factor)
	}
	return all
}

// pointIn reads a point out of a set-up; false when a dial is not set in it.
func pointIn(dials []Tunable, u experiment.Setup) (search.Point, bool) {
	p := make(search.Point, len(dials))
	for i, d := range dials {
		text, set := valueAt(u, d.Path)
		v, ok := d.Read(text)
		if !set || !ok {
			return nil, false
		}
		p[i] = v
	}
	return p, true
}

// valueAt gives what a path of a set-up is set to.
func valueAt(u experiment.Setup, path string) (text string, set bool) {
	if name, ok := strings.CutPrefix(path, "server.settings."); ok && u.Server != nil {
		text, set = u.Server.Settings[name]
	}
	if name, ok := strings.CutPrefix(path, "volume.properties."); ok {
		text, set = u.Volume.Properties[name]
	}
	return text, set
}

// dialsOf gives the settings of a server that a search may choose numbers for,
// those that matter most often first, and says what is left out and why. r is
// the report of the first stage: what its servers said of their settings tells
// which there are.
func dialsOf(engine string, measure time.Duration, arm experiment.Arm, r report.Report, cat *catalog.Catalog) (dials []Tunable, left []string) {
	l := dialLimits{setup: arm.Setup, measure: measure, memory: int64(arm.Setup.Server.Memory - arm.Setup.Volume.ARC)}
	inForce, version := told(r, arm.Name)
	has := func(name string) bool {
		f := cat.Fact(experiment.KindOf(engine), name)
		if f == nil || f.Knob == nil {
			return false
		}
		if _, there := inForce[name]; len(inForce) > 0 {
			return there
		}
		return f.Knob.Has(engine, version)
	}
	for _, d := range l.candidates(engine, has) {
		if d.Kind != "dataset" && !has(d.Name) {
			continue
		}
		d.within(cat.Fact(d.Kind, d.Name))
		if text, set := valueAt(arm.Setup, d.Path); set && d.Type == catalog.Bool {
			if _, plain := d.Read(text); !plain { // lz4 is a way of being on
				d.On = text
			}
		}
		d.Start = d.startOf(arm.Setup, inForce)
		if why := l.unfit(d); why != "" {
			left = append(left, d.Name+": "+why)
			continue
		}
		dials = append(dials, d)
	}
	return dials, left
}

// told gives the settings in force in an arm, or in another where it has none,
// and the version of its server.
func told(r report.Report, arm string) (inForce map[string]string, version string) {
	for _, rec := range r.Records {
		for word := range strings.FieldsSeq(rec.Program) { // "MariaDB 10.11.14"
			version = cmp.Or(version, versionOf(word))
		}
		if len(rec.Effective) > 0 && (inForce == nil || rec.Arm == arm) {
			inForce = rec.Effective
		}
	}
	return inForce, version
}

// within keeps a dial in the range that the catalogue knows.
func (d *Tunable) within(f *catalog.Fact) {
	if f == nil || f.Knob == nil {
		return
	}
	if least := f.Knob.Min; least != nil {
		d.Low = max(d.Low, *least)
		d.Grid = slices.DeleteFunc(d.Grid, func(v float64) bool { return v < *least })
	}
	if most := f.Knob.Max; most != nil {
		d.High = min(d.High, *most)
		d.Grid = slices.DeleteFunc(d.Grid, func(v float64) bool { return v > *most })
	}
}

// startOf is where the search begins: what the advice sets, or else the server
// has in force. A value below zero leaves the choice to the server.
func (d Tunable) startOf(u experiment.Setup, inForce map[string]string) float64 {
	text, set := valueAt(u, d.Path)
	if !set {
		text = inForce[d.Name]
	}
	factor := 1.0
	if number, unit, counted := strings.Cut(text, " "); counted { // PostgreSQL: "16384 8kB"
		if unit != "" && (unit[0] < '0' || unit[0] > '9') {
			unit = "1" + unit
		}
		factor, _ = strconv.ParseFloat(number, 64)
		text = unit
	}
	if v, ok := d.Read(text); ok && v*factor >= 0 {
		return v * factor
	}
	return math.NaN()
}
