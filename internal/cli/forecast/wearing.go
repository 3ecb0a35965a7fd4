package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"plumb/internal/forecast/model"
	"plumb/internal/stack"
	"plumb/internal/watch/record"
)

// wearing gathers what the drives of a recording told, each by what tells it from all others (wwid): after a reboot, or
// when it was replaced, its name can be that of another one.
type wearing struct {
	is    map[string]string       // what has a name, or had it last; nothing where that is not known
	named map[string]string       // by that: the name that it was seen with last
	since map[string]time.Time    // when a name became another drive's
	told  map[string][]model.Worn // by that, or by the name where it is not known
	names map[string]bool         // of drives that told something
}

func newWearing() wearing {
	return wearing{map[string]string{}, map[string]string{}, map[string]time.Time{}, map[string][]model.Worn{}, map[string]bool{}}
}

// item takes what is recorded of one moment.
func (w wearing) item(i record.Item) error {
	if i.Picture != nil {
		w.picture(i.Picture.OfKind("block"), i.At)
	}
	if i.Batch != nil {
		for _, r := range i.Batch.Readings {
			if r.Of.Kind == "block" && r.Name == "nvme_used" {
				w.take(r.Of.Name, i.Batch.At, r.Value)
			}
		}
	}
	return nil
}

func (w wearing) picture(blocks []*stack.Thing, at time.Time) {
	alike := map[string]int{}
	for _, t := range blocks {
		alike[t.Text("wwid")]++
	}
	for _, t := range blocks {
		if id := t.Text("wwid"); id != "" && alike[id] == 1 { // some volumes all have the same
			w.name(t.Ref.Name, id, at)
		}
		if used, is := t.Number("nvme_used"); is {
			w.take(t.Ref.Name, at, used)
		}
	}
}

// name takes which drive has a name.
func (w wearing) name(name, id string, at time.Time) {
	w.named[id] = name
	switch w.is[name] {
	case id:
		return
	case "": // what it told before that was known
		w.told[id] = append(w.told[id], w.told[name]...)
		delete(w.told, name)
	default:
		w.since[name] = at
	}
	w.is[name] = id
}

func (w wearing) take(name string, at time.Time, used float64) {
	id := cmp.Or(w.is[name], name)
	w.told[id], w.names[name] = append(w.told[id], model.Worn{At: at, Percent: used}), true
}

// drives are those that have a name at the end.
func (w wearing) drives() (all []drive) {
	for _, name := range slices.Sorted(maps.Keys(w.names)) {
		id := cmp.Or(w.is[name], name)
		if now := cmp.Or(w.named[id], name); now != name {
			continue // it has another one since
		}
		d := drive{name: name, told: w.told[id]}
		if since, is := w.since[name]; is {
			d.note = fmt.Sprintf("%s: until %s this name was that of another drive, whose readings do not count", name, since.Format(time.DateOnly))
		}
		all = append(all, d)
	}
	return all
}
