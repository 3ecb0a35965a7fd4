package mysql

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// MySQL 8.0 and later keeps values by itself, wherever Plumb runs; what it
// does not keep goes into a file.
func TestPersists(t *testing.T) {
	off := map[string]stack.Value{"persisted_globals_load": stack.Bool(false)}
	for _, c := range []struct {
		name string
		standing
		knob  string
		to    stack.Value
		acts  string
		waits string
		notes int
	}{
		{"dynamic", standing{row: []string{"0"}}, "sync_binlog", stack.Int(1), "SET GLOBAL sync_binlog = 1; SET PERSIST_ONLY sync_binlog = 1", "", 0},
		{"on another machine", standing{row: []string{"0"}, remote: true}, "sync_binlog", stack.Int(1), "SET GLOBAL sync_binlog = 1; SET PERSIST_ONLY sync_binlog = 1", "", 0},
		{"in a container", standing{row: []string{"0"}, inside: true}, "sync_binlog", stack.Int(1), "SET GLOBAL sync_binlog = 1; SET PERSIST_ONLY sync_binlog = 1", "", 0},
		{"its own option file is not read", standing{row: []string{"0"}, facts: off, disk: tree(nil)}, "sync_binlog", stack.Int(1), "SET GLOBAL sync_binlog = 1; /etc/mysql/mariadb.conf.d/zz-plumb.cnf", "", 0},
		{"nor is there another", standing{row: []string{"0"}, facts: off, remote: true}, "sync_binlog", stack.Int(1), "SET GLOBAL sync_binlog = 1", "", 1},
		{"read at start", standing{row: []string{"4"}}, "innodb_read_io_threads", stack.Int(8), "SET PERSIST_ONLY innodb_read_io_threads = 8", "a restart of the server", 0},
		{"not persistible", standing{row: []string{"ON"}, disk: tree(nil)}, "innodb_doublewrite", stack.Text("OFF"), "/etc/mysql/mariadb.conf.d/zz-plumb.cnf", "a restart of the server", 0},
		{"between two that are on", standing{row: []string{"ON"}, disk: tree(nil)}, "innodb_doublewrite", stack.Text("DETECT_ONLY"), "SET GLOBAL innodb_doublewrite = 'DETECT_ONLY'; /etc/mysql/mariadb.conf.d/zz-plumb.cnf", "", 0},
		{"a switch", standing{row: []string{"OFF"}}, "general_log", stack.Bool(true), "SET GLOBAL general_log = 'ON'; SET PERSIST_ONLY general_log = 'ON'", "", 0},
		{"a fraction", standing{row: []string{"90.000000"}}, "innodb_max_dirty_pages_pct", stack.Float(75), "SET GLOBAL innodb_max_dirty_pages_pct = 75.000000; SET PERSIST_ONLY innodb_max_dirty_pages_pct = 75.000000", "", 0},
		{"a text with quotes", standing{row: []string{"a"}}, "general_log_file", stack.Text(`/a'b\c`), `SET GLOBAL general_log_file = '/a''b\\c'; SET PERSIST_ONLY general_log_file = '/a''b\\c'`, "", 0},
	} {
		c.version = oracle
		r, err := c.recipe(t, c.knob, c.to)
		if got := acts(r); err != nil || got != c.acts || r.Waits != c.waits || len(r.Notes) != c.notes || (r.Waits != "") != (r.Effect == catalog.Restart) {
			t.Errorf("%s: %s, waits for %q, %q, %v", c.name, got, r.Waits, r.Notes, err)
		}
	}
}

func acts(r change.Recipe) string {
	var out []string
	for _, a := range r.Acts {
		if a.Edit != nil {
			out = append(out, a.Edit.File)
			continue
		}
		out = append(out, a.Switch.Do[0].Statement)
	}
	return strings.Join(out, "; ")
}

func TestRestart(t *testing.T) {
	for group, want := range map[string]string{
		"/system.slice/mariadb.service":             "mariadb.service",
		"/system.slice/mysql@3307.service":          "mysql@3307.service",
		"/system.slice/mysql@bootstrap.service":     "",
		"/system.slice/ssh.service":                 "",
		"/system.slice/mysql-of-another.service":    "",
		"/user.slice/user-0.slice/session-1.scope":  "",
		"/system.slice/docker-0123456789abcd.scope": "",
	} {
		r, err := standing{version: mariadb, row: readOnly, disk: tree(nil), group: group}.recipe(t, "innodb_read_io_threads", stack.Int(8))
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && (r.Restart != nil || r.Waits != "a restart of the server") ||
			want != "" && (len(r.Restart) != 1 || !slices.Equal(r.Restart[0].Argv, []string{"systemctl", "restart", want}) || r.Waits != "a restart of "+want) {
			t.Errorf("%s: %q, %v", group, r.Waits, r.Restart)
		}
	}
}

func TestMissingRight(t *testing.T) {
	for _, c := range []struct {
		grants, flavor string
		persists       bool
		want           string
	}{
		{"GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", flavorMariaDB, false, ""},
		{"GRANT PROCESS, BINLOG MONITOR ON *.* TO `plumb`@`localhost`", flavorMariaDB, false, "SUPER"},
		{"GRANT PROCESS, BINLOG ADMIN ON *.* TO `plumb`@`localhost`", flavorMariaDB, false, ""},
		{"GRANT `dba` TO `plumb`@`localhost`", flavorMariaDB, false, ""},
		{"GRANT PROCESS ON *.* TO `plumb`@`localhost`", flavorMySQL, true, "SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN"},
		{"GRANT SUPER ON *.* TO `plumb`@`localhost`", flavorMySQL, true, "SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN"},
		{"GRANT SUPER ON *.* TO `plumb`@`localhost`", flavorMySQL, false, ""},
		{"GRANT PROCESS ON *.* TO `plumb`@`localhost`", flavorMySQL, false, "SYSTEM_VARIABLES_ADMIN, or SUPER before 8.0"},
		{"GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `plumb`@`localhost`", flavorMySQL, true, "PERSIST_RO_VARIABLES_ADMIN"},
		{"GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `plumb`@`localhost`", flavorMySQL, false, ""},
		{"GRANT PERSIST_RO_VARIABLES_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `plumb`@`localhost`", flavorMySQL, true, ""},
	} {
		if got := missingRight(strings.Split(c.grants, "\n"), c.flavor, c.persists); got != c.want {
			t.Errorf("%s: %q", c.grants, got)
		}
	}
	r, err := standing{version: mariadb, row: syncBinlog, disk: tree(nil), grants: "GRANT PROCESS ON *.* TO `plumb`@`localhost`"}.recipe(t, "sync_binlog", stack.Int(1))
	if err != nil || len(r.Needs) != 1 || !strings.Contains(r.Needs[0], "SUPER, to set sync_binlog") {
		t.Errorf("%q, %v", r.Needs, err)
	}
}

func TestSets(t *testing.T) {
	row := []string{"TABLE", "SET", "", "", "", "NONE,FILE,TABLE", "NO", "GLOBAL", "REQUIRED"}
	r, err := standing{version: mariadb, row: row, disk: tree(nil)}.recipe(t, "log_output", stack.Text("table, file"))
	if err != nil || r.Acts[0].Switch.After != "FILE,TABLE" || r.Acts[1].Edit.Value != "FILE,TABLE" {
		t.Errorf("%s, %v", acts(r), err)
	}
	if _, err := (standing{version: mariadb, row: row, disk: tree(nil)}).recipe(t, "log_output", stack.Text("PRINTER")); err == nil || !strings.Contains(err.Error(), "not a value of log_output") {
		t.Errorf("%v", err)
	}
}

// In an image only files count, and they are named as the image sees them.
func TestImage(t *testing.T) {
	for _, c := range []struct {
		disk map[string]string
		want string
	}{
		{tree(nil), "/etc/mysql/mariadb.conf.d/zz-plumb.cnf"},
		{map[string]string{"/etc/my.cnf": "[mysqld]\nsync_binlog=0\n!includedir /etc/my.cnf.d\n", "/etc/my.cnf.d/server.cnf": ""}, "/etc/my.cnf.d/zz-plumb.cnf"},
		{map[string]string{"/etc/my.cnf": "[mysqld]\ndatadir=/var/lib/mysql\n"}, "/etc/my.cnf"},
		{nil, ""},
	} {
		fact := hosttest.Catalog(t).Fact("mysql", "sync_binlog")
		h := hosttest.Map{Files: c.disk}
		r, err := NewSetter(hosttest.Catalog(t), nil).Recipe(t.Context(), h, &stack.Stack{},
			change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "mysql", Name: "3306"}, Name: "sync_binlog"}, To: stack.Int(1), Fact: fact, Image: true})
		if (err == nil) != (c.want != "") || acts(r) != c.want {
			t.Errorf("%s, want %s: %v", acts(r), c.want, err)
		}
	}
}

// The pool grows in steps of whole units, as far as it may while it runs and
// memory is left.
func TestPoolSteps(t *testing.T) {
	const mib = 1 << 20
	row := []string{"134217728", "BIGINT UNSIGNED", "2097152", "9223372036854775807", "1048576", "", "NO", "GLOBAL", "REQUIRED"}
	disk := tree(map[string]string{"/proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"})
	for _, c := range []struct {
		name    string
		version string
		facts   map[string]stack.Value
		to      int64
		steps   int
		last    string
		waits   bool
		why     string
	}{
		{"by chunks and instances", oracle, map[string]stack.Value{"innodb_buffer_pool_chunk_size": stack.Int(128 * mib), "innodb_buffer_pool_instances": stack.Int(2)}, 1000 * mib, 4, "1073741824", false, ""},
		{"up to the largest", mariadb, map[string]stack.Value{"innodb_buffer_pool_size_max": stack.Int(2048 * mib)}, 1152 * mib, 8, "1207959552", false, ""},
		{"beyond the largest", mariadb, map[string]stack.Value{"innodb_buffer_pool_size_max": stack.Int(128 * mib)}, 1152 * mib, 0, "", true, ""},
		{"smaller", mariadb, map[string]stack.Value{"innodb_buffer_pool_size_max": stack.Int(2048 * mib)}, 64 * mib, 1, "67108864", false, ""},
		{"more than there is", mariadb, map[string]stack.Value{"innodb_buffer_pool_size_max": stack.Int(1 << 43)}, 8192 * mib, 0, "", false, "must stay free"},
	} {
		c.facts["innodb_buffer_pool_size"] = stack.Int(128 * mib)
		r, err := standing{version: c.version, row: row, disk: disk, facts: c.facts}.recipe(t, "innodb_buffer_pool_size", stack.Int(c.to))
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || len(r.Acts) != c.steps+1 || (r.Waits != "") != c.waits || c.steps > 0 && r.Acts[c.steps-1].Switch.After != c.last {
			t.Errorf("%s: %s, %q, %v", c.name, acts(r), r.Waits, err)
		}
		for _, a := range r.Acts[:c.steps] {
			if growing := c.to > 128*mib; (a.Switch.Guard != nil) != growing {
				t.Errorf("%s: guard %v", c.name, a.Switch.Guard)
			}
		}
	}
}

// TestRecipeUnreached: whoever is root already is not told to become it.
func TestRecipeUnreached(t *testing.T) {
	cat := hosttest.Catalog(t)
	for root, want := range map[bool]string{false: "is it running? run as root, or give a login with --dsn", true: "is it running? give a login with --dsn"} {
		_, err := NewSetter(cat, nil).Recipe(t.Context(), hosttest.Map{Who: host.About{Root: root}}, &stack.Stack{},
			change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "mysql", Name: "3306"}, Name: "sync_binlog"}, To: stack.Int(1), Fact: cat.Fact("mysql", "sync_binlog")})
		if r, ok := errors.AsType[*change.Refusal](err); !ok || r.What != want {
			t.Errorf("root %v: %v", root, err)
		}
	}
}
