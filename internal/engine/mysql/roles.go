package mysql

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// maxTablespaces bounds tablespaces outside the data directory.
const maxTablespaces = 200

// roles says what the server keeps where. Settings without a known value give
// no role: without a login only what files and command line say is known.
func (l *look) roles() {
	if l.in.process == nil {
		return
	}
	datadir := l.dir("datadir", "")
	unread := l.variables == nil && len(l.in.options.gaps) > 0 // what is not set may be set there
	if datadir == "" || unread {
		l.gap("where it keeps its data is not known without a login", observe.LoginHint(l.h, false)+"; "+grantsHint,
			"storage", "data", "redo", "undo", "doublewrite", "temporary", "tablespace", "binlog", "relaylog")
		return
	}
	l.role("data", datadir)
	home := l.dir("innodb_data_home_dir", datadir)
	l.redoRole(datadir)
	l.role("undo", l.dir("innodb_undo_directory", datadir))
	l.doublewriteRole(datadir, home)
	if l.variables == nil {
		l.gap("the paths in force are not known without a login", grantsHint, "temporary", "tablespace", "binlog", "relaylog", "log")
		return
	}
	l.temporaryRoles(datadir)
	l.binlogRoles(datadir)
	l.logRole(datadir)
	l.tablespaceRoles(datadir)
}

// text gives a variable's value in force, or what files say.
func (l *look) text(name string) string {
	if v, ok := l.variables[name]; ok {
		return v
	}
	return l.t.Text(name)
}

// dir gives a directory setting as an absolute path; relative ones are under
// the data directory, as the server takes them. An empty one is fallback.
func (l *look) dir(name, datadir string) string {
	v := l.text(name)
	if v == "" {
		return datadir
	}
	return under(datadir, v)
}

func under(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	if dir == "" {
		return ""
	}
	return path.Join(dir, name)
}

func (l *look) role(name, at string) {
	r := stack.Role{DB: l.t.Ref, Name: name, Path: at, PID: l.in.pid}
	if at != "" && !slices.Contains(l.obs.Roles, r) {
		l.obs.Roles = append(l.obs.Roles, r)
	}
}

func (l *look) redoRole(datadir string) {
	dir := l.dir("innodb_log_group_home_dir", datadir)
	if l.has("innodb_redo_log_capacity") || l.variables == nil && l.in.flavor != flavorMariaDB && AtLeast(l.in.version, "8.0.30") {
		dir = path.Join(dir, "#innodb_redo")
	}
	l.role("redo", dir)
}

// doublewriteRole: MySQL 8.0.20 and later has files of its own, beside the
// system tablespace unless told otherwise; everything else keeps the
// doublewrite buffer inside the system tablespace.
func (l *look) doublewriteRole(datadir, home string) {
	if strings.EqualFold(l.text("innodb_doublewrite"), "OFF") || l.text("innodb_doublewrite") == "0" {
		l.t.Link("doublewrite")
		return
	}
	if p := l.text("innodb_parallel_doublewrite_path"); p != "" {
		l.role("doublewrite", path.Dir(under(datadir, p)))
		return
	}
	if l.has("innodb_doublewrite_dir") {
		l.role("doublewrite", under(datadir, cmp.Or(l.text("innodb_doublewrite_dir"), home)))
		return
	}
	l.role("doublewrite", home)
}

func (l *look) temporaryRoles(datadir string) {
	for p := range strings.SplitSeq(cmp.Or(l.text("tmpdir"), "/tmp"), ":") {
		l.role("temporary", under(datadir, p))
	}
	if p := l.text("innodb_tmpdir"); p != "" {
		l.role("temporary", under(datadir, p))
	}
	if l.has("innodb_temp_tablespaces_dir") {
		l.role("temporary", l.dir("innodb_temp_tablespaces_dir", datadir))
	}
	file, _, _ := strings.Cut(l.text("innodb_temp_data_file_path"), ":")
	if file != "" {
		l.role("temporary", path.Dir(under(l.dir("innodb_data_home_dir", datadir), file)))
	}
}

func (l *look) binlogRoles(datadir string) {
	if on, _ := Truth(l.variables["log_bin"]); !on {
		l.t.Link("binlog")
	} else if base := l.text("log_bin_basename"); base != "" {
		l.role("binlog", path.Dir(under(datadir, base)))
	}
	replica, known := l.t.Bool("is_replica")
	switch {
	case known && !replica:
		l.t.Link("relaylog")
	case known:
		base := cmp.Or(l.text("relay_log_basename"), l.text("relay_log"), "relay-bin")
		l.role("relaylog", path.Dir(under(datadir, base)))
	default:
		l.gap("whether it is a replica is not known", grantsHint, "relaylog")
	}
}

func (l *look) logRole(datadir string) {
	name := l.text("log_error")
	if name == "" || name == "stderr" {
		l.t.Link("log") // standard error: the service manager has it
		return
	}
	l.role("log", path.Dir(under(datadir, name)))
}

// tablespaceRoles finds the directories of tablespaces outside the data
// directory.
func (l *look) tablespaceRoles(datadir string) {
	rows, ok := l.query(Elsewhere(l.isMariaDB(), l.in.version)+" LIMIT 200", "tablespace")
	if !ok {
		return
	}
	l.t.Link("tablespace")
	dirs := outside(rowTexts(rows.Values), datadir)
	for _, d := range dirs {
		l.role("tablespace", d)
	}
	if len(rows.Values) >= maxTablespaces {
		l.gap("more than 200 tablespaces lie outside the data directory: only the first were looked at", "", "tablespaces_outside")
	}
}

func rowTexts(values [][]*string) []string {
	var out []string
	for _, row := range values {
		if len(row) > 0 && row[0] != nil {
			out = append(out, *row[0])
		}
	}
	return out
}

// outside gives the directories of the files that are not under dir. The
// directory of a file-per-table tablespace is the schema's; what was chosen
// is the one above it.
func outside(files []string, dir string) []string {
	var out []string
	for _, f := range files {
		f = path.Clean(f)
		if !path.IsAbs(f) || dir == "" || paths.Within(f, dir) {
			continue
		}
		if d := path.Dir(f); !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}
