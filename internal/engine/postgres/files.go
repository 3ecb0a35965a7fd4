package postgres

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/stack"
)

// ownLines reads the configuration files ourselves.
func (l *look) ownLines(hint string) (lines []assigned, complete bool) {
	if l.in.process == nil || l.in.data == "" {
		l.gap("the configuration files cannot be seen from here", hint, "next_changes", "config_errors")
		return nil, false
	}
	f := files{most: l.in.local.Lines}
	if err := f.readConfig(l.ctx, l.h, l.in.root, l.configFile(), nil); err != nil {
		l.gap(err.Error(), "run as root", "next_changes", "config_errors")
		return nil, false
	}
	auto := l.in.data + autoFile
	before := len(f.lines)
	if err := f.readConfig(l.ctx, l.h, l.in.root, auto, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.gap(err.Error(), "run as root", "next_changes", "config_errors")
		return f.lines, false
	}
	for i := range f.lines[before:] {
		f.lines[before+i].origin.From = stack.FromPersisted
	}
	if f.cut != "" {
		l.gap(f.cut, "", "next_changes", "config_errors")
		return f.lines, false
	}
	l.t.Set("config_errors", stack.List(f.bad), l.configFile())
	return f.lines, true
}

func (l *look) configFile() string {
	if s, ok := l.settings["config_file"]; ok && s.value != "" {
		return Under(l.in.data, s.value)
	}
	if a, ok := last(l.in.args)["config_file"]; ok {
		return Under(l.in.data, a.value)
	}
	return path.Join(l.in.data, "postgresql.conf")
}

// withoutLogin sets what files and the command line say. It is what the
// server took at its start only if no file was changed since, so the source
// names the file.
func (l *look) withoutLogin() {
	if l.in.process == nil {
		return
	}
	if l.in.data != "" {
		l.t.Set("data_path", stack.Text(l.in.data), "the server's working directory")
	}
	version, err := l.h.ReadFile(l.ctx, l.in.root+l.in.data+"/PG_VERSION")
	if v := strings.TrimSpace(string(version)); err == nil && v != "" {
		l.t.Set("version", stack.Text(v), "PG_VERSION")
	}
	if n, ok := l.in.process.Int("started"); ok {
		l.t.Set("uptime", stack.Int(n), "process "+l.in.process.Ref.Name)
	}
	lines, _ := l.ownLines("run as root")
	winners := last(append(lines, l.in.args...))
	for _, name := range slices.Sorted(maps.Keys(winners)) {
		win := winners[name]
		f := l.catalog.Fact("postgres", name)
		if f == nil || f.Knob == nil {
			continue
		}
		v, ok := typed(f, baseUnit(name), win.value)
		if !ok {
			continue
		}
		source := win.origin.File
		if source == "" {
			source = "command line"
		}
		l.t.Setting(name, v, source, win.origin)
	}
}
