package postgres

import (
	"path"
	"strings"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// roles says what the server keeps where.
func (l *look) roles() {
	if l.in.process == nil {
		return
	}
	if l.in.data == "" {
		l.gap("the data directory is not known", observe.LoginHint(l.h, false)+"; "+grantsHint,
			"storage", "data", "wal", "temporary", "tablespace", "log")
		return
	}
	l.role("data", l.in.data)
	l.role("wal", l.in.data+"/pg_wal") // often a symbolic link: placement follows it
	if l.settings == nil {
		l.gap("the paths in force are not known without a login", grantsHint, "temporary", "log")
		l.tablespaceLinks()
		return
	}
	l.tablespaces()
	l.logRole()
}

func (l *look) role(name, dir string) {
	l.obs.Roles = append(l.obs.Roles, stack.Role{DB: l.t.Ref, Name: name, Path: dir, PID: l.in.pid})
}

// tablespaces asks for tablespaces outside the data directory. Temporary
// files lie in base/pgsql_tmp, or in the tablespaces temp_tablespaces names.
func (l *look) tablespaces() {
	rows, ok := l.query("pg_tablespace", `SELECT spcname, pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global') ORDER BY 1`, "tablespace", "temporary")
	if !ok {
		return
	}
	l.t.Link("tablespace")
	temporary := splitNames(l.settings["temp_tablespaces"].value)
	found := false
	for _, row := range rows.Values {
		location := host.Text(row, 1)
		if location == "" {
			continue
		}
		location = Under(l.in.data, location)
		l.role("tablespace", location)
		for _, name := range temporary {
			if name == host.Text(row, 0) {
				l.role("temporary", location)
				found = true
			}
		}
	}
	if !found {
		l.role("temporary", l.in.data+"/base") // base/pgsql_tmp is made when it is needed
	}
}

// tablespaceLinks reads the links in pg_tblspc.
func (l *look) tablespaceLinks() {
	found, err := l.h.Glob(l.ctx, host.Verbatim(l.in.root+l.in.data)+"/pg_tblspc/*")
	if err != nil {
		l.gap(err.Error(), "run as root", "tablespace")
		return
	}
	l.t.Link("tablespace")
	for _, link := range found {
		if target, err := l.h.Readlink(l.ctx, link); err == nil && path.IsAbs(target) {
			l.role("tablespace", target)
		}
	}
}

func (l *look) logRole() {
	if on, _ := ParseBool(l.settings["logging_collector"].value); !on {
		l.t.Link("log") // standard error, wherever the service manager takes it
		return
	}
	dir, readable := l.settings["log_directory"]
	if !readable || strings.TrimSpace(dir.value) == "" {
		l.gap("log_directory is not readable for this role", grantsHint, "log")
		return
	}
	l.role("log", Under(l.in.data, dir.value))
}
