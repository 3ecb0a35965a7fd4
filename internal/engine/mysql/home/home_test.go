package home

import (
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/stack"
)

// A server that listens on all addresses by either of its protocols is closed there, and one that listens to nobody needs nothing.
func TestListeners(t *testing.T) {
	for want, is := range map[string]map[string]string{
		"":                                 {"bind_address": "127.0.0.1", "mysqlx_bind_address": "127.0.0.1", "skip_networking": "OFF"},
		"bind_address":                     {"bind_address": "*", "skip_networking": "OFF"}, // MariaDB has no other
		"mysqlx_bind_address":              {"bind_address": "127.0.0.1,::1", "mysqlx_bind_address": "*", "skip_networking": "OFF"},
		"bind_address mysqlx_bind_address": {"bind_address": "10.0.0.1, ::", "mysqlx_bind_address": "0.0.0.0", "skip_networking": "OFF"},
	} {
		if got := strings.Join(listeners(is), " "); got != want {
			t.Errorf("%v: %q, want %q", is, got, want)
		}
	}
	if got := listeners(map[string]string{"bind_address": "*", "skip_networking": "ON"}); got != nil {
		t.Errorf("without networking %v are open", got)
	}
}

func TestRenamed(t *testing.T) {
	edits := []change.Act{{Edit: &change.Edit{File: "/etc/my.cnf", Form: edit.OptionFile, Key: "mysqld/bind_address", Value: "127.0.0.1"}}}
	if got := renamed(edits, "mysqlx_bind_address"); len(got) != 1 || got[0].Edit.Key != "mysqld/loose_mysqlx_bind_address" || got[0].Edit.Value != "127.0.0.1" || edits[0].Edit.Key != "mysqld/bind_address" {
		t.Errorf("%+v", got[0].Edit)
	}
}

// A server of which something would go on naming the old place is refused.
func TestElsewhereIsRefused(t *testing.T) {
	const ask, data = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin_index', 'relay_log_index')", "/var/lib/mysql"
	known := hosttest.Catalog(t)
	name, file := "log_bin_index", data+"/bin.index"
	for what, c := range map[string]struct {
		of    string // from where pid_file is known
		at    string
		index string
		says  string
		kept  bool // by a mysqld_safe that was started without arguments
	}{
		"a setting in a file":  {stack.FromFile, data + "/x.pid", "./bin.000001\n", "pid_file is set to", false},
		"an index of paths":    {stack.FromDefault, data + "/x.pid", "./bin.000001\n" + data + "/bin.000002\n", "full path", false},
		"neither, and no file": {stack.FromDefault, data + "/x.pid", "./bin.000001\n", "set mysql:3306#datadir", false}, // there is no server here whose files could be edited
		"beside":               {stack.FromFile, "/var/lib/mysqld/x.pid", "./bin.000001\n", "set mysql:3306#datadir", false},
		"its command line":     {stack.FromCommand, data + "/x.pid", "./bin.000001\n", "pid_file is set to", false},
		"made by mysqld_safe":  {stack.FromCommand, data + "/x.pid", "./bin.000001\n", "set mysql:3306#datadir", true},
	} {
		var see stack.Observation
		db := see.New("mysql", "3306")
		db.Setting("pid_file", stack.Text(c.at), "test", stack.Origin{From: c.of})
		db.Setting("datadir", stack.Text(data+"/"), "test", stack.Origin{From: stack.FromFile})
		h := hosttest.Map{Files: map[string]string{file: c.index}, Queries: map[string]host.Rows{ask: {Values: [][]*string{{&name, &file}}}}}
		if c.kept {
			process := see.New("process", "77")
			process.Set("engine", stack.Text("mysql"), "test")
			process.Set("args", stack.List([]string{"/usr/sbin/mariadbd", "--datadir=" + data, "--pid-file=x.pid"}), "test")
			process.Set("listen", stack.List([]string{"tcp:127.0.0.1:3306"}), "test")
			h.Files["/proc/77/status"], h.Files["/proc/70/comm"], h.Files["/proc/70/cmdline"] = "PPid:\t70\n", "mysqld_safe\n", "/bin/sh\x00/usr/bin/mysqld_safe\x00"
		}
		var s stack.Stack
		s.Add("test", see)
		e := New(known, nil)
		if _, err := e.Elsewhere(t.Context(), h, &s, provision.Home{Server: db.Ref, Data: data}, "/srv/db"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
