package home

import (
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
)

func TestNames(t *testing.T) {
	for setting, want := range map[string]bool{
		"/var/lib/pg": true, "/var/lib/pg/x": true, "cp %p /var/lib/pg/archive": true, "/var/lib/pg2": false, "/var/lib/pg2 /var/lib/pg": true, "": false, "test '/var/lib/pg'": true,
	} {
		if names(setting, "/var/lib/pg") != want {
			t.Errorf("%q: %v", setting, !want)
		}
	}
}

// Elsewhere edits the file of Debian's packages that says where the data are, and nothing that only the server calls its own.
func TestElsewhere(t *testing.T) {
	const file, data = "/etc/postgresql/15/main/postgresql.conf", "/var/lib/postgresql/15/main"
	rows := func(cells ...string) host.Rows {
		var row []*string
		for _, c := range cells {
			row = append(row, &c)
		}
		return host.Rows{Values: [][]*string{row}}
	}
	const where, others = "SELECT sourcefile, setting FROM pg_file_settings WHERE lower(name) = 'data_directory' ORDER BY seqno DESC LIMIT 1", "SELECT name, setting FROM pg_settings WHERE vartype = 'string' ORDER BY name"
	for name, c := range map[string]struct {
		file, setting string
		uid           uint32
		other, value  string
		refused       string
	}{
		"as Debian has it":    {file, data + "/", 7, "log_directory", "log", ""},
		"of its command line": {"", data, 7, "log_directory", "log", "but by how it is started"},
		"of another":          {file, "/srv/x", 7, "log_directory", "log", "but by how it is started"},
		"of somebody's":       {"/etc/crontab", data, 7, "log_directory", "log", "but by how it is started"},
		"whose it is not":     {file, data, 8, "log_directory", "log", "does not belong"},
		"named elsewhere":     {file, data, 7, "archive_command", "cp %p " + data + "/a", "archive_command"},
	} {
		h := hosttest.Map{Stats: map[string]host.Stat{file: {UID: c.uid}, "/etc/crontab": {UID: c.uid}}, Queries: map[string]host.Rows{where: rows(c.file, c.setting), others: rows(c.other, c.value)}}
		acts, err := Engine{}.Elsewhere(t.Context(), h, nil, provision.Home{Data: data, UID: 7}, "/srv/pg")
		switch {
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v", name, err)
		case c.refused == "" && (err != nil || len(acts) != 1 || acts[0].Edit.File != file || acts[0].Edit.Value != "/srv/pg"):
			t.Errorf("%s: %+v, %v", name, acts, err)
		}
	}
}
