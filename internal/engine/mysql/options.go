package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// optionFacts says which option files there are. It needs no login.
func (l *look) optionFacts() {
	if l.in.process == nil {
		return
	}
	o := l.in.options
	l.t.Set("option_files", stack.List(o.paths()), "option files")
	l.t.Set("option_file_errors", stack.List(o.errors), "option files")
	for _, why := range o.gaps {
		l.gap(why, filesHint(l.h), "next_changes", "removed_options", "ignored_options")
	}
}

// filesHint says what makes an option file readable.
func filesHint(h host.Reader) string {
	if h.About().Root {
		return "where the server reads it all the same, because root started it, let the user it runs as read it too"
	}
	return "run as root"
}

// withoutLogin sets what option files, command line and program tell. A value
// that is in no file is not known: it may be the default.
func (l *look) withoutLogin() {
	if l.in.process == nil {
		return
	}
	if l.in.version != "" {
		l.t.Set("version", stack.Text(l.in.version), l.in.exe+" --version")
	}
	if l.in.flavor != "" {
		l.t.Set("flavor", stack.Text(l.in.flavor), l.in.exe+" --version")
	}
	known := func(name string) bool { return knownBeforeLogin(name) || l.catalog.Fact("mysql", name) != nil }
	for name, a := range l.in.winners(known) {
		f := l.catalog.Fact("mysql", name)
		if f == nil || f.Knob == nil {
			continue
		}
		v, ok := typed(f, a.value)
		if name == "log_bin" && !ok {
			v, ok = stack.Bool(true), true
		}
		if ok {
			l.t.Setting(name, v, originText(a.origin), a.origin)
		}
	}
	if dir := l.t.Text("datadir"); dir != "" {
		l.t.Set("data_path", stack.Text(strings.TrimSuffix(dir, "/")), l.t.Facts["datadir"].Source)
	}
}

// removed lists settings in option files that this version does not have, or
// no option sets, apart by whether the server is known to start with them: this version does
// with some that it once had, and it did when the file is older than the
// server's start.
func (l *look) removed(all []assigned) {
	if l.in.process == nil || len(l.in.options.gaps) > 0 {
		return
	}
	unproven := func(a assigned) bool {
		return !a.loose && a.origin.From != stack.FromCommand && l.changedSince(a.origin.File)
	}
	fatal, ignored := []string{}, []string{}
	for _, a := range all {
		if l.has(a.name) && Optionless(a.name) && unproven(a) {
			fatal = append(fatal, fmt.Sprintf("%s (%s): no option sets this variable", a.name, originText(a.origin)))
			continue
		}
		if a.name == "innodb_log_file_size" && l.has("innodb_redo_log_capacity") && setsCapacity(all) {
			ignored = append(ignored, fmt.Sprintf("%s (%s): innodb_redo_log_capacity is set too and rules", a.name, originText(a.origin)))
			continue
		}
		f := l.catalog.Fact("mysql", a.name)
		if f == nil || f.Knob == nil || l.has(a.name) || f.Knob.Has(l.in.flavor, l.in.version) {
			continue
		}
		line := fmt.Sprintf("%s (%s)", a.name, originText(a.origin))
		if f.Knob.Removed != "" {
			line += ": " + f.Knob.Removed
		}
		if !unproven(a) || f.Knob.Ignores(l.in.flavor, l.in.version) {
			ignored = append(ignored, line)
		} else {
			fatal = append(fatal, line)
		}
	}
	if _, known := l.started(); known {
		l.t.Set("removed_options", stack.List(fatal), "option files")
		l.t.Set("ignored_options", stack.List(ignored), "option files")
	}
}

func setsCapacity(all []assigned) bool {
	return slices.ContainsFunc(all, func(a assigned) bool { return a.name == "innodb_redo_log_capacity" })
}

// persisted reads mysqld-auto.cnf of MySQL and Percona Server 8.0 and later.
func (l *look) persisted() []assigned {
	if l.isMariaDB() || l.in.process == nil || !l.has("persisted_globals_load") {
		return nil
	}
	if on, _ := Truth(l.variables["persisted_globals_load"]); !on || slices.Contains(l.in.args, "--no-defaults") {
		return nil
	}
	file := strings.TrimSuffix(l.variables["datadir"], "/") + "/mysqld-auto.cnf"
	text, err := l.h.ReadFile(l.ctx, l.in.root+file)
	if missing(err) {
		l.t.Set("persisted", stack.Int(0), file)
		return nil
	}
	if err != nil {
		l.gap(fmt.Sprintf("read %s: %v", file, hint.Cause(err)), "run as root", "persisted", "next_changes")
		return nil
	}
	all, err := parsePersisted(text, file)
	if err != nil {
		l.gap(err.Error(), "", "persisted", "next_changes")
		return nil
	}
	if st, err := l.h.Stat(l.ctx, l.in.root+file); err == nil {
		l.in.options.files = append(l.in.options.files, optionFile{path: file, modified: st.Modified})
	}
	l.t.Set("persisted", stack.Int(int64(len(all))), file)
	return all
}

// names gives sorted keys.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
