package zfs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// readDatasets reads the properties of every filesystem and volume. The
// tab-separated form is used with every version: it is exact, and one that is
// cut at the size limit still tells what came before.
func (l *look) readDatasets(ctx context.Context) {
	out, err := l.output(ctx, l.tools.Datasets()...)
	cut := errors.Is(err, host.ErrTooLarge)
	if err != nil && !cut {
		why, hint := because(err)
		l.obs.Gap(stack.Ref{}, "the ZFS datasets could not be read: "+why, hint)
		return
	}
	l.datasets, l.properties, l.settings = map[string]*stack.Thing{}, map[string]*catalog.Fact{}, l.catalog.Knobs("dataset")
	for _, p := range l.catalog.ReadFrom("dataset", "zfs get ") {
		l.properties[p.Name] = p.Fact
	}
	var order []string
	for _, p := range zfs.ParseProperties(out) {
		if strings.ContainsAny(p.Of, "@#") {
			continue
		}
		t := l.datasets[p.Of]
		if t == nil {
			t = l.obs.New("dataset", p.Of)
			l.datasets[p.Of] = t
			order = append(order, p.Of)
			t.Link("pool", stack.Ref{Kind: "pool", Name: zfs.PoolOf(p.Of)})
		}
		l.setProperty(t, p, "zfs get")
	}
	if cut && len(order) > 0 { // the last one may lack properties: do not call those absent
		last := order[len(order)-1]
		l.gap(l.datasets[last].Ref, err, "*")
		l.obs.Gap(stack.Ref{}, "there are more ZFS datasets than could be read: what comes after "+last+" is missing", "")
		order = order[:len(order)-1]
	}
	for _, name := range order {
		l.markAbsent(l.datasets[name], "zfs get")
	}
	if !cut { // with a part of the datasets missing, sums would be too small, and the nearest quota may be missing too
		l.sparse()
		l.tellQuotas()
	}
	for name, p := range l.pools {
		if t := l.datasets[name]; t != nil {
			if age, ok := t.Int("age"); ok {
				p.Set("age", stack.Int(age), "zfs get creation "+name)
			}
		}
	}
}

func (l *look) setProperty(t *stack.Thing, p zfs.Property, source string) {
	if f := l.properties[p.Name]; f != nil {
		if v, ok := l.value(p.Value, f); ok {
			t.Set(f.Name, v, source)
		}
		return
	}
	if f := l.settings[p.Name]; f != nil {
		if v, ok := l.value(p.Value, f); ok {
			t.Setting(p.Name, v, source, origin(p.Source))
		}
	}
}

// value reads a property's text; "-" means that the property says nothing. A
// time is a moment, and recorded as seconds ago.
func (l *look) value(s string, f *catalog.Fact) (stack.Value, bool) {
	if s == "-" {
		return stack.Value{}, false
	}
	switch f.Type {
	case catalog.Bytes, catalog.Int:
		if s == "none" { // 0, as zfs get -p prints it
			return stack.Int(0), true
		}
		n, ok := zfs.ParseSize(s)
		return stack.Int(n), ok
	case catalog.Float, catalog.Percent: // 1.53, 1.53x or 12%
		x, err := strconv.ParseFloat(strings.TrimRight(s, "x%"), 64)
		return stack.Float(x), err == nil
	case catalog.Seconds:
		n, ok := zfs.ParseCount(s)
		return stack.Int(max(0, l.h.About().Taken.Unix()-n)), ok
	}
	return stack.Text(s), true
}

// markAbsent records which properties this type of dataset, or this version,
// does not have: `zfs get all` prints every one there is.
func (l *look) markAbsent(t *stack.Thing, source string) {
	for _, all := range []map[string]*catalog.Fact{l.properties, l.settings} {
		for _, f := range all {
			if _, have := t.Facts[f.Name]; !have {
				t.SetAbsent(f.Name, source)
			}
		}
	}
}

// origin reads the source column of zfs get and zpool get.
func origin(s string) stack.Origin {
	if of, ok := strings.CutPrefix(s, "inherited from "); ok {
		return stack.Origin{From: stack.FromInherited, Of: of}
	}
	switch s {
	case "local":
		return stack.Origin{From: stack.FromLocal}
	case "received":
		return stack.Origin{From: stack.FromReceived}
	case "temporary": // a mount option
		return stack.Origin{From: stack.FromRuntime}
	case "-": // fixed when the dataset was made, or computed
		return stack.Origin{From: stack.FromComputed}
	}
	return stack.Origin{From: stack.FromDefault}
}

// sortedNames lists the datasets that were seen.
func (l *look) sortedNames() []string {
	return slices.Sorted(maps.Keys(l.datasets))
}
