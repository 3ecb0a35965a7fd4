package zfs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// Setter sets properties of datasets and pools, and parameters of the module.
type Setter struct{}

// Kinds implements change.Setter.
func (Setter) Kinds() []string { return []string{"dataset", "pool", "zfs"} }

// Recipe implements change.Setter.
func (Setter) Recipe(ctx context.Context, h host.Reader, s *stack.Stack, w change.Want) (change.Recipe, error) {
	a := alteration{ctx: ctx, h: h, seen: s, want: w, thing: s.Find(w.Knob.Of), name: w.Knob.Name, of: w.Knob.Of.Name}
	switch {
	case w.Image && w.Knob.Of.Kind != "zfs":
		return change.Recipe{}, &change.Refusal{Why: "a pool is not a file of an image", What: "run plumb fix on the host that has it"}
	case w.Knob.Of.Kind == "zfs":
		return a.parameter()
	}
	if f, known := a.thing.Facts[a.name]; !known || f.Value.IsAbsent() && absentHere(f) {
		return change.Recipe{}, &change.Refusal{Why: fmt.Sprintf("the ZFS of this host has no property %s here", a.name), What: "zfs get all " + a.of + " lists what it has"}
	}
	if !h.About().Root {
		a.needs = []string{fmt.Sprintf("root, to set %s of %s", a.name, a.of)}
	}
	if w.Knob.Of.Kind == "pool" {
		return a.pool()
	}
	return a.dataset()
}

// absentHere tells whether a property is known not to exist.
func absentHere(f stack.Fact) bool { return f.Origin == nil }

// alteration is one knob on its way to another value.
type alteration struct {
	ctx   context.Context
	h     host.Reader
	seen  *stack.Stack
	want  change.Want
	thing *stack.Thing
	name  string
	of    string // the dataset or pool
	needs []string
	notes []string
}

// own are properties that are not inherited: without one of its own a dataset
// has none.
var own = []string{"quota", "refquota", "reservation", "refreservation", "snapshot_limit"}

// dataset sets a property of a dataset. Whether it is set here at all is part
// of the state: undoing one that was inherited makes it inherit again.
func (a *alteration) dataset() (change.Recipe, error) {
	if err := a.harmless(); err != nil {
		return change.Recipe{}, err
	}
	s := a.property()
	if slices.Contains(own, a.name) {
		s = a.limit()
	}
	effect := a.want.Fact.Knob.Effect
	if effect == catalog.NewWrites {
		a.notes = append(a.notes, "what is written already stays as it is: copy it to finish (for InnoDB tables OPTIMIZE TABLE, or dump and load)")
	}
	if children, known := a.heirs(); known && len(children) > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%s it: %s", units.Counted(len(children), "dataset", "below inherits", "below inherit"), few(children)))
	}
	return change.Recipe{Effect: effect, Lasts: "the pool", Acts: []change.Act{{Switch: s}}, Notes: a.notes, Needs: a.needs}, nil
}

// property sets what is inherited unless it is set here.
func (a *alteration) property() *change.Switch {
	none := zfs.Inherit(a.name, a.of)
	if o := a.thing.Facts[a.name].Origin; o != nil && o.From == stack.FromReceived {
		none = zfs.InheritReceived(a.name, a.of)
	}
	return &change.Switch{
		On:       "dataset " + a.of + " " + a.name,
		Inspect:  change.Inspection{Argv: zfs.LocalValue(a.name, a.of)},
		After:    a.want.To.String(),
		Do:       []change.Op{{Argv: zfs.Set(a.name, a.want.To.String(), a.of)}},
		Undo:     []change.Op{{Argv: zfs.Set(a.name, "{before}", a.of)}},
		UndoNone: []change.Op{{Argv: none}},
	}
}

// limit sets what is never inherited: 0 is shown for none, and must be written
// as none.
func (a *alteration) limit() *change.Switch {
	text := func(v string) string {
		if v == "0" {
			return "none"
		}
		return v
	}
	back := "{before}"
	if n, known := a.thing.Int(a.name); known && n == 0 {
		back = "none"
	}
	return &change.Switch{
		On:      "dataset " + a.of + " " + a.name,
		Inspect: change.Inspection{Argv: zfs.Value(a.name, a.of)},
		After:   a.want.To.String(),
		Do:      []change.Op{{Argv: zfs.Set(a.name, text(a.want.To.String()), a.of)}},
		Undo:    []change.Op{{Argv: zfs.Set(a.name, back, a.of)}},
	}
}

// harmless refuses what takes data away from those who use it.
func (a *alteration) harmless() error {
	to, _ := a.want.To.Int()
	used := func(fact string) int64 { n, _ := a.thing.Int(fact); return n }
	switch {
	case a.name == "volsize" && to < used("volsize"):
		return &change.Refusal{Why: "a smaller volume loses what is at its end", What: "make a new one and copy"}
	case a.name == "volsize":
		return &change.Refusal{Why: "undoing it would cut off what was written at the new end, so Plumb does not change it", What: "zfs set volsize=" + a.want.To.String() + " " + a.of}
	case a.name == "quota" && to > 0 && to < used("used"), a.name == "refquota" && to > 0 && to < used("referenced"):
		return &change.Refusal{Why: fmt.Sprintf("%s already contains more than that, so no write would succeed", a.of), What: "choose a larger one"}
	case slices.Contains([]string{"mountpoint", "canmount", "overlay"}, a.name):
		return &change.Refusal{Why: "it would move files away that are open", What: "stop the servers there, and use zfs set"}
	case a.name == "readonly" && a.want.To.String() == "on":
		return &change.Refusal{Why: "the servers there could no longer write", What: "stop them, and use zfs set"}
	}
	return nil
}

// heirs are the datasets that get the property from this one.
func (a *alteration) heirs() (names []string, known bool) {
	for _, t := range a.seen.OfKind("dataset") {
		f, have := t.Facts[a.name]
		if have && f.Origin != nil && f.Origin.From == stack.FromInherited && f.Origin.Of == a.of ||
			have && strings.HasPrefix(t.Ref.Name, a.of+"/") && f.Origin != nil && f.Origin.From == stack.FromDefault {
			names = append(names, t.Ref.Name)
		}
	}
	return names, true
}

func few(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + " ..."
	}
	return strings.Join(names, ", ")
}

// pool sets a property of a pool.
func (a *alteration) pool() (change.Recipe, error) {
	if m := a.seen.Find(stack.Ref{Kind: "zfs", Name: "module"}); m != nil && m.Text("implementation") == zfsFuse {
		return change.Recipe{}, &change.Refusal{Why: "zfs-fuse does not show the properties of a pool in a form that can be compared", What: "use zpool set"}
	}
	if !slices.Contains([]string{"autotrim", "autoexpand", "autoreplace", "failmode", "delegation", "listsnapshots", "multihost"}, a.name) {
		return change.Recipe{}, &change.Refusal{Why: fmt.Sprintf("%s is not set by Plumb", a.name), What: "use zpool set"}
	}
	s := &change.Switch{
		On:      "pool " + a.of + " " + a.name,
		Inspect: change.Inspection{Argv: zfs.PoolValue(a.name, a.of)},
		After:   a.want.To.String(),
		Do:      []change.Op{{Argv: zfs.SetPool(a.name, a.want.To.String(), a.of)}},
		Undo:    []change.Op{{Argv: zfs.SetPool(a.name, "{before}", a.of)}},
	}
	return change.Recipe{Effect: catalog.Now, Lasts: "the pool", Acts: []change.Act{{Switch: s}}, Notes: a.notes, Needs: a.needs}, nil
}
