package record

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch/record"
)

// OpenMetrics writes values with their times, for promtool tsdb
// create-blocks-from openmetrics. The form wants all values of one name
// together, and a recording has those of one moment together: so it is read as
// often as it takes to do that in bounded memory.
type OpenMetrics struct {
	Catalog *catalog.Catalog
	Labels  map[string]string // that all series get besides
	// Each reads the recording from its beginning.
	Each func(do func(record.Item) error) error
	// Twice is how many values Write left out, because the clock was set back and their time is there already.
	Twice int

	most    int // samples in memory at a time; 0: mostSamples
	servers map[stack.Ref]stack.Ref
	names   map[series.ID]named
}

const mostSamples = 4 << 20 // 16 bytes each

type named struct {
	naming.Shape // its name without the ending of a counter, which is the form's
	labels       string
	known        bool
}

type sample struct {
	ms    int64
	value float64
}

// Write writes them all.
func (o *OpenMetrics) Write(to io.Writer) error {
	o.servers, o.names = map[stack.Ref]stack.Ref{}, map[series.ID]named{}
	if o.most == 0 {
		o.most = mostSamples
	}
	sizes := map[string]int{}
	err := o.read(func(n named, _ sample) { sizes[n.Name]++ })
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(to, 1<<16)
	for _, part := range parts(sizes, o.most) {
		if err := o.part(w, part); err != nil {
			return err
		}
	}
	if _, err := w.WriteString("# EOF\n"); err != nil {
		return err
	}
	return w.Flush()
}

// parts puts names together as long as there is room.
func parts(sizes map[string]int, most int) (all []map[string]bool) {
	room := 0
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if room -= sizes[name]; room < 0 {
			all, room = append(all, map[string]bool{}), most-sizes[name]
		}
		all[len(all)-1][name] = true
	}
	return all
}

// read gives all values that have a name, in the order of time.
func (o *OpenMetrics) read(do func(named, sample)) error {
	return o.Each(func(i record.Item) error {
		if i.Picture != nil {
			maps.Copy(o.servers, naming.Servers(i.Picture))
			clear(o.names) // a process may now be known
		}
		if i.Batch == nil {
			return nil
		}
		ms := i.At.UnixMilli()
		for _, r := range i.Batch.Readings {
			n := o.name(r)
			if n.known && !math.IsNaN(r.Value) && !math.IsInf(r.Value, 0) {
				do(n, sample{ms, r.Value * n.Scale})
			}
		}
		return nil
	})
}

func (o *OpenMetrics) name(r series.Reading) named {
	id := series.ID{Of: r.Of, Name: r.Name}
	n, known := o.names[id]
	if known {
		return n
	}
	labels, ok := naming.LabelsOf(r.Of, o.servers)
	if ok {
		n.Shape, n.known = naming.ShapeOf(o.Catalog.Fact(r.Of.Kind, r.Name))
		if n.Counter {
			n.Name = strings.TrimSuffix(n.Name, naming.Total)
		}
		n.labels = labelText(labels, o.Labels)
	}
	if len(o.names) < 1<<17 {
		o.names[id] = n
	}
	return n
}

// family is all values of one name.
type family struct {
	naming.Shape
	series map[string][]sample
}

// part writes the families of some names.
func (o *OpenMetrics) part(w *bufio.Writer, names map[string]bool) error {
	families := map[string]*family{}
	err := o.read(func(n named, s sample) {
		if !names[n.Name] {
			return
		}
		f := families[n.Name]
		if f == nil {
			f = &family{n.Shape, map[string][]sample{}}
			families[n.Name] = f
		}
		// After the clock was set back, what is already there is not there twice.
		switch had := f.series[n.labels]; {
		case len(had) == 0 || had[len(had)-1].ms < s.ms:
			f.series[n.labels] = append(had, s)
		case had[len(had)-1].ms > s.ms:
			o.Twice++
		}
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		families[name].write(w)
	}
	return w.Flush()
}

// write writes one family. An error of w comes with its Flush.
func (f *family) write(w *bufio.Writer) {
	kind, suffix := "gauge", ""
	if f.Counter {
		kind, suffix = "counter", naming.Total
	}
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.Name, escape(f.Help), f.Name, kind)
	for _, labels := range slices.Sorted(maps.Keys(f.series)) {
		for _, s := range f.series[labels] {
			fmt.Fprintf(w, "%s%s%s %s %d.%03d\n", f.Name, suffix, labels, strconv.FormatFloat(s.value, 'g', -1, 64), s.ms/1000, s.ms%1000)
		}
	}
}

// labelText is labels as they are written, sorted by name. A thing's own label stays
// what it is, as in remote write: without it, two things would be one series.
func labelText(own []naming.Label, more map[string]string) string {
	all := maps.Clone(more)
	if all == nil {
		all = map[string]string{}
	}
	for _, l := range own {
		all[l.Name] = l.Value
	}
	if len(all) == 0 {
		return ""
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+`="`+escape(all[name])+`"`)
	}
	return "{" + strings.Join(list, ",") + "}"
}

func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(text, "?"))
}
