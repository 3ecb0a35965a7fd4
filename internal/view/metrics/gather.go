package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
)

// Gather implements prometheus.Gatherer. It asks nobody.
func (e *Exporter) Gather() ([]*dto.MetricFamily, error) {
	all := e.collect()
	out := make([]*dto.MetricFamily, len(all))
	for i, f := range all {
		out[i] = f.message()
	}
	return out, nil
}

// collect makes the families of what is known now. What watch concludes comes
// first; the rest is for facts, whole things at a time.
func (e *Exporter) collect() []*family {
	e.mu.Lock()
	defer e.mu.Unlock()
	fs := newFamilies()
	e.forget()
	e.aboutUs(fs)
	e.aboutSending(fs)
	e.aboutSources(fs)
	e.aboutMoment(fs)
	e.aboutFindings(fs)
	e.aboutPoints(fs)
	e.aboutBackups(fs)
	e.aboutArchives(fs)
	e.aboutHost(fs)
	e.aboutStatements(fs)
	e.addStates(fs)
	left, unnamed := e.aboutFacts(fs)
	fs.gauge("plumb_series_left_out", "series that are not shown because there would be more than --max-series of them", float64(left))
	fs.gauge("plumb_readings_unnamed", "readings that are not shown because the catalogue has no such fact: a mistake of Plumb's", float64(unnamed))
	return fs.sorted()
}

// forget drops sources that are no more. One that runs is heard of in each of its
// periods, if only that it is late; one that ended with its server is not after the
// picture that has the server no more.
func (e *Exporter) forget() {
	now := e.o.Now()
	maps.DeleteFunc(e.sources, func(_ string, s *source) bool {
		silent := now.Sub(s.heard)
		return silent > forgotten || s.heard.Before(e.drawn) && silent > max(latePeriods*s.last.Every, lateMoment)
	})
	maps.DeleteFunc(e.unkept, func(_ string, heard time.Time) bool { return now.Sub(heard) > forgotten })
}

// reading is a value of a source that is not late.
type reading struct {
	series.Reading
	came time.Time
}

// aboutFacts adds the readings of things, those that matter most first, until
// there is no room, and gives how many series are left out, and how many
// readings have no name.
func (e *Exporter) aboutFacts(fs *families) (left, unnamed int) {
	byThing := map[stack.Ref][]reading{}
	for _, s := range e.sources {
		if !e.fresh(s.came, latePeriods*s.last.Every) {
			continue
		}
		for _, r := range s.last.Readings {
			byThing[r.Of] = append(byThing[r.Of], reading{r, s.came})
		}
	}
	e.ofWindow(byThing)
	for _, ref := range e.inOrder(byThing) {
		labels, ok := e.labelsOf(ref)
		if !ok || onlyByOthers(ref.Kind) && !e.o.Compat.names(ref.Kind) {
			continue
		}
		had := append(byThing[ref], e.limitsOf(ref)...)
		if fs.series+len(had) >= e.o.MostSeries {
			left += len(had)
			continue
		}
		// Of two sources with one value the later is right.
		slices.SortStableFunc(had, func(a, b reading) int { return b.came.Compare(a.came) })
		for _, r := range had {
			if !e.addFact(fs, r.Reading, labels) {
				unnamed++
			}
		}
	}
	return left, unnamed
}

// addFact adds one reading by our name, or by that of another exporter where
// those are asked for and have one.
func (e *Exporter) addFact(fs *families, r series.Reading, labels []naming.Label) bool {
	if e.addRenamed(fs, r, labels) {
		return true
	}
	id := series.ID{Of: stack.Ref{Kind: r.Of.Kind}, Name: r.Name}
	s, known := e.shapes[id]
	if !known {
		s, _ = naming.ShapeOf(e.o.Catalog.Fact(r.Of.Kind, r.Name))
		if len(e.shapes) < 10*MostSeries { // names come from sources of ours: there is no end only by a mistake
			e.shapes[id] = s
		}
	}
	if s.Name == "" {
		return false
	}
	fs.add(s, r.Value, labels)
	return true
}

// ofWindow adds what only a window tells: values of the moment's tree that are
// computed from several.
func (e *Exporter) ofWindow(byThing map[stack.Ref][]reading) {
	if !e.fresh(e.judged, lateMoment) {
		return
	}
	for _, n := range e.moment.Tree {
		k := e.o.Catalog.Kinds[n.Of.Kind]
		for _, v := range n.Values {
			if k == nil || k.Facts[v.Name] == nil || k.Facts[v.Name].OverTime != stack.Gauge || !sampled(k, k.Facts[v.Name]) {
				continue
			}
			byThing[n.Of] = append(byThing[n.Of], reading{series.Reading{Of: n.Of, Name: v.Name, Value: v.Value}, time.Time{}})
		}
	}
}

func (e *Exporter) labelsOf(ref stack.Ref) ([]naming.Label, bool) {
	if l, ok := e.labels[ref]; ok {
		return l, true
	}
	l, ok := naming.LabelsOf(ref, e.servers)
	if ok && len(e.labels) < 10*MostSeries {
		e.labels[ref] = l
	}
	return l, ok
}

// inOrder gives things by how much they matter: servers, what the host as a
// whole has, what servers lie on, and then the rest.
func (e *Exporter) inOrder(byThing map[stack.Ref][]reading) []stack.Ref {
	rank := func(r stack.Ref) int {
		switch {
		case product.IsServer(r.Kind):
			return 0
		case slices.Contains(naming.Alone, r.Kind):
			return 1
		case r.Kind == "process", r.Kind == "pool":
			return 2
		case r.Kind == "block" && e.carries(r):
			return 3
		case r.Kind == "cgroup", r.Kind == "cgroup_device":
			return 4
		case r.Kind == "filesystem":
			return 5
		case r.Kind == "block":
			return 6
		}
		return 7
	}
	return slices.SortedFunc(maps.Keys(byThing), func(a, b stack.Ref) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Compare(b)) })
}

// carries tells whether a server keeps something on a device.
func (e *Exporter) carries(ref stack.Ref) bool {
	if e.picture == nil {
		return false
	}
	t := e.picture.Find(ref)
	return t != nil && len(t.List("servers")) > 0
}
