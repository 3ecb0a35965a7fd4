package metrics

import (
	"slices"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
)

// addRenamed adds a reading by the name that another exporter has for it, where
// such names are asked for, and tells whether that is in place of ours.
func (e *Exporter) addRenamed(fs *families, r series.Reading, labels []naming.Label) bool {
	a, ok := e.o.Compat.of(r.Of, r.Name, e.versionOf)
	if !ok {
		return false
	}
	a.add(fs, r.Value, labels)
	return !a.both
}

// add adds a value by this name, to labels of ours.
func (a alias) add(fs *families, value float64, labels []naming.Label) {
	all := slices.Clone(a.labels)
	for _, l := range labels {
		if to := a.rename[l.Name]; to != "" {
			l.Name = to
		}
		all = append(all, l)
	}
	fs.add(a.shape, value, all)
}

// versionOf is the version of a server of the picture; "" where it is not known.
func (e *Exporter) versionOf(ref stack.Ref) string {
	if e.picture == nil {
		return ""
	}
	t := e.picture.Find(ref)
	if t == nil {
		return ""
	}
	return t.Text("version")
}

// addStates adds what stays until somebody changes it, such as the size of
// memory, which pictures have and sources do not.
func (e *Exporter) addStates(fs *families) {
	if e.o.Compat == nil || !e.fresh(e.drawn, latePicture) {
		return
	}
	for _, t := range e.picture.Things {
		for name := range t.Facts {
			a, asked := e.o.Compat.of(t.Ref, name, e.versionOf)
			if !asked || e.o.Catalog.OverTime(t.Ref.Kind, name) != stack.State {
				continue
			}
			value, known := t.Number(name)
			if labels, ok := e.labelsOf(t.Ref); ok && known {
				a.add(fs, value, labels)
			}
		}
	}
}
