package rehearse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// explicitlySet are the origins of settings that somebody chose. A role's own settings
// in PostgreSQL, which are told as of run time, are not the server's.
func explicitlySet(kind string, o *stack.Origin) bool {
	if o == nil {
		return false
	}
	switch o.From {
	case stack.FromFile, stack.FromCommand, stack.FromPersisted:
		return true
	case stack.FromRuntime:
		return kindOf(kind).runtime
	}
	return false
}

// take gives the sandbox the settings of the server as it is: what its
// configuration or somebody at run time has set, with the values in force,
// less what a private server must not have.
func (d *draft) take() {
	d.settings, d.create, d.excluded = map[string]string{}, map[string]string{}, nil
	kind := d.server.Ref.Kind
	var unsure []string
	told := map[string][]string{}
	for _, name := range d.chosen() {
		v, _ := d.inForce(name)
		f := d.cat.Fact(kind, name)
		value := d.written(name, v)
		out, why := excluded(kind, name, value)
		switch {
		case out && why != "" && !isOff(value):
			told[why] = append(told[why], name)
		case out || !settable.MatchString(name) || d.fixed(name):
		case f == nil && kindOf(kind).plugins && !beginsKnown(name):
			unsure = append(unsure, name)
		case d.followsPool(name):
		case atCreation(kind, name):
			d.create[name] = value
		default:
			d.settings[optionOf(kind, name)] = value
		}
	}
	for _, why := range slices.Sorted(maps.Keys(told)) {
		d.excluded = append(d.excluded, fmt.Sprintf("Left out of the sandbox: %s; %s.", units.Some(told[why], 3), why))
	}
	if len(unsure) > 0 {
		d.excluded = append(d.excluded, fmt.Sprintf("Left out of the sandbox, because they may belong to plugins: %s.", units.Some(unsure, 3)))
	}
	kindOf(kind).format(d)
	d.caches()
	d.clients()
}

// chosen names the settings that the server has not by default, sorted.
func (d *draft) chosen() []string {
	if d.want.Settings != nil {
		return slices.Sorted(maps.Keys(d.want.Settings))
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(d.server.Facts)) {
		fact := d.server.Facts[name]
		f := d.cat.Fact(d.server.Ref.Kind, name)
		if fact.Value.IsAbsent() || f != nil && f.Knob == nil || !explicitlySet(d.server.Ref.Kind, fact.Origin) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// inForce gives a setting of the server as it is.
func (d *draft) inForce(name string) (stack.Value, bool) {
	text, asked := d.want.Settings[name]
	if !asked {
		return d.server.Get(name)
	}
	if f := d.cat.Fact(d.server.Ref.Kind, name); f != nil {
		if v, err := catalog.ParseValue(f, text); err == nil {
			return v, true
		}
	}
	return stack.Text(text), true
}

// written writes a value as the configuration file of the sandbox takes it,
// smaller where it is a cache.
func (d *draft) written(name string, v stack.Value) string {
	if n, ok := v.Int(); ok {
		v = stack.Int(d.scaled(name, n))
	}
	t := catalog.Text
	if f := d.cat.Fact(d.server.Ref.Kind, name); f != nil {
		t = f.Type
	}
	return strings.TrimSpace(catalog.Native(d.server.Ref.Kind, t, v))
}

// isOff tells whether a value says that there is nothing to speak of.
func isOff(value string) bool {
	return slices.Contains([]string{"", "off", "0", "no", "false", "none"}, strings.ToLower(value))
}

// optionOf is what the option file calls a variable.
func optionOf(kind, name string) string {
	return cmp.Or(kindOf(kind).options[name], name)
}

// atCreation tells the settings that count when the data is made, and that the
// lab can give to whatever makes it.
func atCreation(kind, name string) bool { return slices.Contains(kindOf(kind).atCreation, name) }

// fixed tells the settings that are decided by how the data directory was made,
// and cannot be given to whatever makes the sandbox's.
func (d *draft) fixed(name string) bool {
	f := d.cat.Fact(d.server.Ref.Kind, name)
	return f != nil && f.Knob != nil && f.Knob.Effect == catalog.Recreate && !atCreation(d.server.Ref.Kind, name)
}

// caches gives a smaller sandbox smaller caches, also where the server has its
// defaults: they stand to its data as the real ones do.
func (d *draft) caches() {
	sizesItself, _ := d.server.Bool("innodb_dedicated_server")
	var names []string
	if d.size.scale < 1 {
		names = slices.Collect(maps.Keys(kindOf(d.server.Ref.Kind).caches))
	}
	if sizesItself {
		names = append(names, "innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_files_in_group")
	}
	for _, name := range names {
		v, _ := d.inForce(name)
		if _, isNumber := v.Int(); isNumber {
			d.settings[name] = d.written(name, v)
		}
	}
}

// followsPool tells the settings that divide a buffer pool up. A pool below
// 1 GB has one part, whatever is asked, and a smaller one has other chunks.
func (d *draft) followsPool(name string) bool {
	switch name {
	case "innodb_buffer_pool_chunk_size":
		return d.size.scale < 1
	case "innodb_buffer_pool_instances", "innodb_page_cleaners":
		v, _ := d.inForce("innodb_buffer_pool_size")
		n, ok := v.Int()
		return !ok || d.scaled("innodb_buffer_pool_size", n) < 1<<30
	}
	return false
}

// sessions are those of the load, and a few more of those who look after it.
func (d *draft) sessions() int64 {
	const watchers = 20
	return int64(d.threads() + watchers)
}

// clients lets as many connect as there are sessions.
func (d *draft) clients() {
	need := d.sessions()
	have := int64(100)
	if v, ok := d.inForce("max_connections"); ok {
		have, _ = v.Int()
	}
	if need > have {
		d.settings["max_connections"] = fmt.Sprint(need)
	}
}
