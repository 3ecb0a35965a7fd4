package postgres

import (
	"cmp"
	"errors"
	"path"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/statement"
	"plumb/internal/stack"
)

// standing is a server as a setter sees it: rows as PostgreSQL 17 gives them.
type standing struct {
	server string              // of serverQuery; "" for a superuser on a primary
	row    string              // of rowQuery
	files  []string            // of fileQuery
	more   map[string][]string // other queries: a header and rows
	disk   map[string]string
	group  string // the control group's path
	main   string // the main process of the group's unit, as systemd shows it
	facts  map[string]stack.Value
	next   map[string]stack.Value // what others wrote into files
}

const (
	superuser   = "postgres\tt\tf\t170002\ton\tt\tt\t\\N\tf\t/etc/postgresql/17/main/postgresql.conf"
	workMem     = "work_mem\t4096\tkB\tuser\tinteger\tdefault\t64\t2147483647\t\\N"
	connections = "max_connections\t100\t\tpostmaster\tinteger\tconfiguration file\t1\t262143\t\\N"
)

func (s standing) recipe(t *testing.T, name string, to stack.Value) (change.Recipe, error) {
	t.Helper()
	m, seen := machine(nil)
	query := func(q, header string, rows ...string) {
		m.Queries[q] = hosttest.Table(append([]string{header}, rows...)...)
	}
	query(serverQuery, "login\trolsuper\tstandby\tversion_num\tallow_alter_system\treloads\tfiles\tprovider\toperator\tconfig_file", cmp.Or(s.server, superuser))
	header := "name\tvalue\tunit\tcontext\tvartype\tsource\tmin_val\tmax_val\tenumvals"
	if s.row == "" {
		query(rowQuery(name), header)
	} else {
		query(rowQuery(name), header, s.row)
	}
	query(fileQuery, "sourcefile\tsourceline\tname\tsetting\tapplied\terror", s.files...)
	query(rolesQuery(name), "indb\tforrole\tconfig")
	for q, lines := range s.more {
		query(q, lines[0], lines[1:]...)
	}
	m.Files, m.Stats = map[string]string{}, map[string]host.Stat{}
	for file, text := range s.disk {
		m.Files[file] = text
		m.Stats[file] = host.Stat{}
	}
	if s.group != "" {
		m.Outputs = map[string]string{"systemctl show --property=MainPID " + path.Base(s.group): "MainPID=" + s.main + "\n"}
		group := stack.NewThing("cgroup", "unit")
		group.Set("path", stack.Text(s.group), "test")
		seen.OfKind("process")[0].Link("cgroup", group.Ref)
		seen.Add("group", stack.Observation{Things: []*stack.Thing{group}})
	}
	thing := stack.NewThing("postgres", "5433")
	for name, v := range s.facts {
		thing.Set(name, v, "test")
	}
	for name, v := range s.next {
		thing.Facts[name] = stack.Fact{Next: &stack.Next{Value: v}}
	}
	seen.Add("postgres", stack.Observation{Things: []*stack.Thing{thing}})
	cat := hosttest.Catalog(t)
	fact := cat.Fact("postgres", name)
	if fact == nil {
		fact = &catalog.Fact{Kind: "postgres", Name: name, Type: catalog.Text, Knob: &catalog.Knob{}}
	}
	return NewSetter(cat, nil).Recipe(t.Context(), m, seen, change.Want{Knob: stack.Knob{Of: thing.Ref, Name: name}, To: to, Fact: fact})
}

// What stands in the way is said before anything is done.
func TestRecipeRefuses(t *testing.T) {
	server := func(old, new string) string { return strings.Replace(superuser, old, new, 1) }
	for _, c := range []struct {
		name string
		standing
		knob string
		to   stack.Value
		want string
	}{
		{"unknown", standing{}, "io_method", stack.Text("worker"), "has no setting io_method"},
		{"internal", standing{row: "wal_block_size\t8192\t\tinternal\tinteger\tdefault\t8192\t8192\t\\N"}, "wal_block_size", stack.Int(4096), "is fixed when the server is compiled"},
		{"command line", standing{row: strings.Replace(connections, "configuration file", "command line", 1)}, "max_connections", stack.Int(200), "started with max_connections on its command line"},
		{"environment", standing{row: strings.Replace(connections, "configuration file", "environment variable", 1)}, "max_connections", stack.Int(200), "on its environment"},
		{"too much", standing{row: connections}, "max_connections", stack.Int(300000), "300000 is outside the server's range, 1 to 262143"},
		{"too little", standing{row: workMem}, "work_mem", stack.Int(1 << 10), "1kB is outside the server's range, 64kB to 2147483647kB"},
		{"no such word", standing{row: "wal_level\treplica\t\tpostmaster\tenum\tdefault\t\\N\t\\N\tminimal|replica|logical"}, "wal_level", stack.Text("archive"), "not one of its values: minimal, replica, logical"},
		{"standby", standing{server: server("\tf\t17", "\tt\t17"), row: connections}, "max_connections", stack.Int(50), "must not be lower than the primary's"},
		{"Amazon", standing{server: server("\\N", "rdsadmin"), row: workMem}, "work_mem", stack.Int(1 << 20), "Amazon RDS"},
		{"Google", standing{server: server("\\N", "cloudsqladmin"), row: workMem}, "work_mem", stack.Int(1 << 20), "Google Cloud"},
		{"Azure", standing{server: server("\\N", "azuresu"), row: workMem}, "work_mem", stack.Int(1 << 20), "Azure"},
		{"operator", standing{server: server("\\N\tf", "\\N\tt"), row: workMem}, "work_mem", stack.Int(1 << 20), "CloudNativePG"},
		{"Patroni", standing{row: workMem, disk: map[string]string{"/etc/postgresql/17/main/postgresql.conf": "# Do not edit this file manually!\n# It will be overwritten by Patroni!\ninclude 'postgresql.base.conf'\n"}},
			"work_mem", stack.Int(1 << 20), "Patroni writes"},
		{"broken file", standing{row: workMem, files: []string{"/srv/pg/postgresql.conf\t830\tshared_bufers\t1GB\tf\tunrecognized configuration parameter"}}, "work_mem", stack.Int(1 << 20),
			"postgresql.conf:830: shared_bufers unrecognized"},
		{"not read yet", standing{row: workMem, files: []string{"/srv/pg/postgresql.auto.conf\t3\twork_mem\t1MB\tt\t\\N"}}, "work_mem", stack.Int(1 << 20), "has not read it"},
		{"secret", standing{row: "primary_conninfo\t\t\tsighup\tstring\tdefault\t\\N\t\\N\t\\N"}, "primary_conninfo", stack.Text("host=a"), "can contain a password"},
		{"two lines", standing{row: "cluster_name\t\t\tpostmaster\tstring\tdefault\t\\N\t\\N\t\\N"}, "cluster_name", stack.Text("a\nb"), "more than one line"},
		{"empty list", standing{row: "shared_preload_libraries\tx\t\tpostmaster\tstring\tdefault\t\\N\t\\N\t\\N"}, "shared_preload_libraries", stack.Text(""), "written wrongly by ALTER SYSTEM"},
		{"session's", standing{row: "transaction_isolation\tread committed\t\tuser\tenum\toverride\t\\N\t\\N\tserializable"}, "transaction_isolation", stack.Text("serializable"), "cannot be set with ALTER SYSTEM"},
		{"switched off, and persisted", standing{server: server("\ton\t", "\toff\t"), row: workMem, files: []string{"/srv/pg/postgresql.auto.conf\t3\twork_mem\t4MB\tt\t\\N"}}, "work_mem", stack.Int(1 << 20),
			"allow_alter_system is off, and /srv/pg/postgresql.auto.conf"},
	} {
		_, err := c.recipe(t, c.knob, c.to)
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRecipeNeeds(t *testing.T) {
	role := "dba\tf\tf\t170002\ton\tf\tf\t\\N\tf\t\\N"
	r, err := standing{server: role, row: workMem, more: map[string][]string{privilegeQuery("work_mem"): {"may", "f"}}}.recipe(t, "work_mem", stack.Int(1<<20))
	if err != nil || len(r.Needs) != 3 || !strings.Contains(r.Needs[0], "GRANT ALTER SYSTEM ON PARAMETER work_mem TO dba") {
		t.Errorf("%q, %v", r.Needs, err)
	}
	r, err = standing{server: strings.Replace(role, "170002", "140002", 1), row: workMem}.recipe(t, "work_mem", stack.Int(1<<20))
	if err != nil || len(r.Needs) != 3 || !strings.Contains(r.Needs[0], "needs one before PostgreSQL 15") {
		t.Errorf("%q, %v", r.Needs, err)
	}
	granted := strings.Replace(role, "on\tf\tf", "on\tt\tt", 1)
	r, err = standing{server: granted, row: workMem, more: map[string][]string{privilegeQuery("work_mem"): {"may", "t"}}}.recipe(t, "work_mem", stack.Int(1<<20))
	if err != nil || len(r.Needs) != 0 {
		t.Errorf("%q, %v", r.Needs, err)
	}
}

// The server counts it as an error when a line is gone whose setting waits
// for a restart, as after an undo. It takes a reload nevertheless.
func TestFileRowsAfterUndo(t *testing.T) {
	lines, bad := readFileRows(hosttest.Table("sourcefile\tsourceline\tname\tsetting\tapplied\terror",
		"/srv/pg/postgresql.conf\t65\tmax_connections\t100\tf\tsetting could not be applied",
		"\\N\t0\t\\N\t\\N\tf\tparameter \"unix_socket_permissions\" cannot be changed without restarting the server"))
	if len(lines) != 1 || len(bad) != 0 {
		t.Errorf("%v, %q", lines, bad)
	}
	if _, bad := readFileRows(hosttest.Table("sourcefile", "\\N\t0\t\\N\t\\N\tf\tcould not open configuration file \"/srv/pg/postgresql.conf\": Permission denied")); len(bad) != 1 {
		t.Errorf("%q", bad)
	}
}

func TestRecipe(t *testing.T) {
	next := map[string]stack.Value{"wal_level": stack.Text("logical"), "deadlock_timeout": stack.Int(500), "work_mem": stack.Int(8 << 20)}
	r, err := standing{row: workMem, next: next, files: []string{"/srv/pg/postgresql.conf\t12\twork_mem\t8MB\tt\t\\N"},
		more: map[string][]string{rolesQuery("work_mem"): {"indb\tforrole\tconfig", "database shop\tevery role\twork_mem=2MB"}}}.recipe(t, "work_mem", stack.Int(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Acts[0].Switch
	if len(r.Acts) != 1 || r.Effect != catalog.Reload || r.Waits != "" || s.After != "64MB" || s.Do[0].Statement != "ALTER SYSTEM SET work_mem = '64MB'" || s.Do[1].Statement != reload ||
		s.Undo[0].Statement != "ALTER SYSTEM SET work_mem = {before:sql}" || s.Undo[1].Statement != reload || s.UndoNone[0].Statement != "ALTER SYSTEM RESET work_mem" || s.UndoNone[1].Statement != reload {
		t.Errorf("%+v %+v", r, s)
	}
	if !statement.Reads(s.Inspect.Query) {
		t.Errorf("a look that is refused: %s", s.Inspect.Query)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "postgresql.conf:12, which sets 8MB, no longer counts") || !strings.Contains(notes, "every role in database shop keeps its own value, 2MB") ||
		!strings.HasSuffix(notes, "what others wrote since: deadlock_timeout = 500") {
		t.Errorf("%q", r.Notes)
	}
}

// A list of libraries is written name by name; one string would be one name.
func TestRecipeOfList(t *testing.T) {
	const name = "shared_preload_libraries"
	r, err := standing{row: name + "\tx\t\tpostmaster\tstring\tdefault\t\\N\t\\N\t\\N", files: []string{"/srv/pg/postgresql.auto.conf\t3\t" + name + "\tpg_stat_statements, \"$libdir/X\"\tt\t\\N"},
		more: map[string][]string{"SELECT quote_ident('pg_stat_statements') || ', ' || quote_ident('auto_explain') AS words": {"words", "pg_stat_statements, auto_explain"}}}.
		recipe(t, name, stack.Text("pg_stat_statements,auto_explain"))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Acts[0].Switch
	if s.After != "pg_stat_statements, auto_explain" || s.Do[0].Statement != "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements', 'auto_explain'" ||
		s.Undo[0].Statement != "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements', '$libdir/X'" {
		t.Errorf("%+v", s)
	}
}

func TestRecipeOfRestart(t *testing.T) {
	for _, c := range []struct {
		standing
		waits, argv string
	}{
		{standing{group: "/system.slice/system-postgresql.slice/postgresql@17-main.service", main: "4242", disk: map[string]string{"/run/systemd/system": ""}}, "a restart of postgresql@17-main.service", "systemctl restart postgresql@17-main.service"},
		{standing{group: "/system.slice/cron.service", main: "812", facts: map[string]stack.Value{"replicas": stack.Int(1)}, disk: map[string]string{"/run/systemd/system": ""}}, "a restart of postgres:5433", ""},
		{standing{disk: map[string]string{"/usr/bin/pg_ctlcluster": ""}}, "a restart of cluster 17 main", "/usr/bin/pg_ctlcluster 17 main restart"},
		{standing{facts: map[string]stack.Value{"replicas": stack.Int(1)}}, "a restart of postgres:5433", ""},
	} {
		c.row = connections
		r, err := c.recipe(t, "max_connections", stack.Int(200))
		if err != nil || r.Effect != catalog.Restart || r.Waits != c.waits || (c.argv == "") != (r.Restart == nil) || c.argv != "" && r.Restart[0].String() != c.argv || len(r.Shorten) != 1 || r.Shorten[0].Statement != "CHECKPOINT" {
			t.Errorf("%s: %+v, %v", c.waits, r, err)
		}
		if c.argv == "" && (len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "on the standbys first") || !strings.Contains(r.Notes[1], "pg_ctl -D /srv/pg restart")) {
			t.Errorf("%q", r.Notes)
		}
	}
}

// With ALTER SYSTEM switched off the file is edited that is read last.
func TestRecipeOfFile(t *testing.T) {
	const main, dir = "/etc/postgresql/17/main/postgresql.conf", "/etc/postgresql/17/main/conf.d/"
	for _, c := range []struct {
		name, file string
		ours       bool
		disk       map[string]string
	}{
		{"nothing sets it", dir + "zz-plumb.conf", true, map[string]string{main: "port = 5433\ninclude_dir = 'conf.d'\n"}},
		{"set before the directory", dir + "zz-plumb.conf", true, map[string]string{main: "work_mem = 1MB\ninclude_dir 'conf.d'\n", dir + "01.conf": "work_mem = 2MB\n"}},
		{"set after the directory", main, false, map[string]string{main: "include_dir = 'conf.d'\nwork_mem = 1MB\n", dir + "01.conf": "work_mem = 2MB\n"}},
		{"a later file of the directory", dir + "zzz.conf", false, map[string]string{main: "include_dir = 'conf.d'\n", dir + "zzz.conf": "work_mem = 2MB\n"}},
		{"no directory", main, false, map[string]string{main: "port = 5433\n"}},
		{"no directory, another file", "/etc/tuned.conf", false, map[string]string{main: "work_mem = 1MB\ninclude '/etc/tuned.conf'\n", "/etc/tuned.conf": "work_mem = 2MB\n"}},
	} {
		r, err := standing{server: strings.Replace(superuser, "\ton\t", "\toff\t", 1), row: workMem, disk: c.disk}.recipe(t, "work_mem", stack.Int(64<<20))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		e := r.Acts[0].Edit
		if len(r.Acts) != 1 || e.File != c.file || e.Ours != c.ours || e.Key != "work_mem" || e.Value != "64MB" || e.Apply.Statement != reload || r.Lasts != c.file {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// TestRecipeUnreached: whoever is root already is not told to become it.
func TestRecipeUnreached(t *testing.T) {
	cat := hosttest.Catalog(t)
	for root, want := range map[bool]string{false: "is it running? run as root, or give a login with --dsn", true: "is it running? give a login with --dsn"} {
		_, err := NewSetter(cat, nil).Recipe(t.Context(), hosttest.Map{Who: host.About{Root: root}}, &stack.Stack{},
			change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "postgres", Name: "5432"}, Name: "work_mem"}, To: stack.Int(1 << 20), Fact: cat.Fact("postgres", "work_mem")})
		if r, ok := errors.AsType[*change.Refusal](err); !ok || r.What != want {
			t.Errorf("root %v: %v", root, err)
		}
	}
}
