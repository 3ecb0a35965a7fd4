package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// origin is what the server says of where a variable's value comes from.
type origin struct {
	from  string // one of the stack.From constants
	file  string
	usual string // the built-in default, where the server tells (MariaDB)
	tells bool   // usual is known
}

// settings sets every global variable with its origin and its next value.
func (l *look) settings() {
	l.origins = l.readOrigins()
	known := func(name string) bool { return l.has(name) || l.catalog.Fact("mysql", name) != nil }
	assigned := append(l.in.options.settings(l.in.groups, known), arguments(l.in.args, known)...)
	fromPersisted := l.persisted()
	next := last(append(slices.Clone(assigned), fromPersisted...))
	for _, name := range slices.Sorted(maps.Keys(l.variables)) {
		l.setting(name, l.variables[name], next[name])
	}
	l.absent()
	l.removed(assigned)
	l.nextChanges()
}

// setting sets one variable.
func (l *look) setting(name, raw string, win assigned) {
	f := l.catalog.Fact("mysql", name)
	if f != nil && f.Knob == nil {
		return // a status fact of the same name
	}
	v, ok := typed(f, raw)
	if !ok {
		v = stack.Text(raw)
		if f != nil {
			l.gap(fmt.Sprintf("%s = %q is not of type %s", name, raw, f.Type), "", name)
			return
		}
	}
	fact := stack.Fact{Value: v, Source: "@@" + name}
	if o, known := l.originOf(name, v, win); known {
		fact.Origin = &o
	}
	if n, differs := l.next(name, v, win); differs {
		fact.Next = &n
	}
	l.t.Facts[name] = fact
}

// originOf joins what the server says with the line we found. The line is
// ours: MariaDB before 10.5 and MySQL do not tell it.
func (l *look) originOf(name string, now stack.Value, win assigned) (stack.Origin, bool) {
	told, ok := l.origins[name]
	if !ok {
		return l.guessOrigin(name, now, win)
	}
	if name == "log_bin" && told.from == stack.FromDefault && win.name != "" {
		return win.origin, true // the option takes a name, the variable says ON or OFF: servers lose its origin
	}
	o := stack.Origin{From: told.from, File: told.file}
	if (told.from == stack.FromFile || told.from == stack.FromPersisted) && win.name != "" && win.origin.From != stack.FromCommand {
		if o.File == "" || sameFile(o.File, win.origin.File) {
			o.File, o.Line = win.origin.File, win.origin.Line
		}
	}
	return o, true
}

// guessOrigin is for MySQL 5.7, which does not tell: a value equal to what
// the files say comes from there; one equal to the default is the default.
func (l *look) guessOrigin(name string, now stack.Value, win assigned) (stack.Origin, bool) {
	f := l.catalog.Fact("mysql", name)
	if win.name != "" {
		if v, ok := typed(f, win.value); ok && v.Equal(now) {
			return win.origin, true
		}
		return stack.Origin{}, false
	}
	if usual, ok := l.catalogueDefault(name); ok && usual.Equal(now) {
		return stack.Origin{From: stack.FromDefault}, true
	}
	return stack.Origin{}, false
}

func (l *look) catalogueDefault(name string) (stack.Value, bool) {
	f := l.catalog.Fact("mysql", name)
	if f == nil || f.Knob == nil {
		return stack.Value{}, false
	}
	for _, flavor := range []string{l.in.flavor, ""} {
		if text, ok := f.Knob.Default[flavor]; ok {
			return typed(f, text)
		}
	}
	return stack.Value{}, false
}

// next tells the value after the next start where it differs. It is careful:
// a difference counts only when something shows that it is not the server's
// own rounding.
func (l *look) next(name string, now stack.Value, win assigned) (stack.Next, bool) {
	f := l.catalog.Fact("mysql", name)
	if f == nil || f.Knob == nil || l.in.process == nil || unlike(name) {
		return stack.Next{}, false
	}
	told, tells := l.origins[name]
	if win.name == "" {
		if !tells || told.from != stack.FromRuntime || !told.tells {
			return stack.Next{}, false
		}
		v, ok := typed(f, told.usual)
		return stack.Next{Value: v, Origin: stack.Origin{From: stack.FromDefault}}, ok && !v.Equal(now) && !computes(name)
	}
	v, ok := typed(f, win.value)
	if !ok || v.Equal(now) || f.Type == "text" && len(f.Knob.Values) == 0 || l.rounds(name, v, now) {
		return stack.Next{}, false
	}
	atRuntime := tells && told.from == stack.FromRuntime
	if !atRuntime && !l.changedSince(win.origin.File) {
		return stack.Next{}, false
	}
	return stack.Next{Value: v, Origin: win.origin}, true
}

// unlike lists variables that show something else than what is set.
func unlike(name string) bool {
	return slices.Contains([]string{"log_bin", "open_files_limit", "performance_schema", "event_scheduler", "gtid_mode"}, name) ||
		strings.HasPrefix(name, "wsrep_")
}

// computes lists variables whose shown default is not what an unset one gets.
func computes(name string) bool {
	return slices.Contains([]string{"back_log", "thread_cache_size", "table_definition_cache", "innodb_open_files",
		"innodb_buffer_pool_size_max", "innodb_buffer_pool_size_auto_min", "innodb_io_capacity_max", "innodb_log_write_ahead_size",
		"innodb_log_file_buffering", "innodb_buffer_pool_chunk_size", "innodb_log_file_mmap", "thread_pool_size", "thread_stack", "host_cache_size"}, name)
}

// rounds reports whether the server made now out of then: the buffer pool is
// rounded up to whole chunks in every instance.
func (l *look) rounds(name string, then, now stack.Value) bool {
	if name != "innodb_buffer_pool_size" {
		return false
	}
	a, _ := then.Int()
	b, _ := now.Int()
	chunk, ok := whole(l.variables["innodb_buffer_pool_chunk_size"])
	if !ok || chunk <= 0 {
		return false
	}
	if n, ok := whole(l.variables["innodb_buffer_pool_instances"]); ok && n > 0 && n <= 64 {
		chunk *= n
	}
	return a > 0 && b >= a && b-a < chunk
}

// changedSince reports whether a file was changed after the server started.
// Without both times it is not known, and then it does not count.
func (l *look) changedSince(file string) bool {
	started, ok := l.started()
	at := l.in.options.changed(file)
	return ok && file != "" && !at.IsZero() && at.After(started.Add(2*time.Second))
}

func (l *look) started() (time.Time, bool) {
	if n, ok := whole(l.status["uptime"]); ok {
		return l.h.About().Taken.Add(-time.Duration(n) * time.Second), true
	}
	if l.in.process != nil {
		if n, ok := l.in.process.Int("started"); ok {
			return l.h.About().Taken.Add(-time.Duration(n) * time.Second), true
		}
	}
	return time.Time{}, false
}

// absent marks catalogued settings that this server does not have.
func (l *look) absent() {
	for name := range l.catalog.Knobs("mysql") {
		if _, have := l.t.Facts[name]; !have && !l.has(name) {
			l.t.SetAbsent(name, "SHOW GLOBAL VARIABLES")
		}
	}
}

// nextChanges lists what the next start changes, for people.
func (l *look) nextChanges() {
	if l.in.process == nil {
		return
	}
	if len(l.in.options.gaps) > 0 {
		return // the gap about unreadable files covers it
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(l.t.Facts)) {
		f := l.t.Facts[name]
		if f.Next == nil {
			continue
		}
		kind := l.catalog.Fact("mysql", name)
		out = append(out, fmt.Sprintf("%s: %s now, %s then (%s)", name,
			catalog.Show(kind, f.Value), catalog.Show(kind, f.Next.Value), originText(f.Next.Origin)))
	}
	l.t.Set("next_changes", stack.List(out), "option files against the values in force")
}

func originText(o stack.Origin) string {
	if o.File == "" {
		if o.From == stack.FromDefault {
			return "the built-in default: no option file sets it"
		}
		return o.From
	}
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// sameFile compares the name a server gives with ours, which may be a
// symbolic link to it.
func sameFile(a, b string) bool {
	return a == b || b != "" && strings.HasSuffix(a, b[strings.LastIndexByte(b, '/'):])
}
