package mysql

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// standing is a server as a setter sees it.
type standing struct {
	version string            // as number: 10.11.19-MariaDB, 8.4.3
	row     []string          // its row of information_schema.SYSTEM_VARIABLES, or its value
	args    []string          // after the program
	disk    map[string]string // option files; a name that ends in / is an empty directory
	modes   map[string]fs.FileMode
	owners  map[string]uint32 // of files; root's are the others
	grants  string
	facts   map[string]stack.Value
	group   string // the control group's path
	keeper  string // the command line of the process that started it, "" for systemd's
	inside  bool   // in a container
	remote  bool
}

const (
	mariadb = "10.11.19-MariaDB"
	oracle  = "8.4.3"
)

// syncBinlog is what MariaDB tells of a number.
var syncBinlog = []string{"0", "BIGINT UNSIGNED", "0", "4294967295", "0", "", "NO", "GLOBAL", "REQUIRED"}

// readOnly is what MariaDB tells of a number that is read at start.
var readOnly = []string{"4", "BIGINT UNSIGNED", "1", "64", "0", "", "YES", "GLOBAL", "REQUIRED"}

func (s standing) recipe(t *testing.T, name string, to stack.Value) (change.Recipe, error) {
	t.Helper()
	cat := hosttest.Catalog(t)
	h := hosttest.Map{Files: maps.Clone(s.disk), Stats: map[string]host.Stat{}, Queries: map[string]host.Rows{}, Who: host.About{Root: true, User: "root"}}
	for file := range s.disk {
		mode := fs.FileMode(0o644)
		if m, ok := s.modes[file]; ok {
			mode = m
		}
		h.Stats[file] = host.Stat{Mode: mode, UID: s.owners[file]}
		if dir := file[:strings.LastIndexByte(file, '/')]; h.Stats[dir].Mode == 0 {
			h.Stats[dir] = host.Stat{Mode: fs.ModeDir | 0o755}
		}
	}
	for dir, mode := range s.modes {
		if mode.IsDir() {
			h.Stats[dir] = host.Stat{Mode: mode}
		}
	}
	keep(h.Files, s.keeper)
	h.Stats["/run/systemd/system"] = host.Stat{Mode: fs.ModeDir | 0o755}
	h.Outputs = map[string]string{}
	for unit, main := range map[string]string{"mariadb.service": "77", "mysql@3307.service": "77", "mysql@bootstrap.service": "77", "ssh.service": "812", "mysql-of-another.service": "0"} {
		h.Outputs["systemctl show --property=MainPID "+unit] = "MainPID=" + main + "\n"
	}
	seen := running("77", append([]string{"/usr/sbin/mysqld"}, s.args...), []string{"unix:/run/a.sock"})
	process := seen.OfKind("process")[0]
	process.Set("own_root", stack.Bool(s.inside), "test")
	process.Set("uid", stack.Int(rogue), "test")
	if s.group != "" {
		group := stack.NewThing("cgroup", s.group)
		group.Set("path", stack.Text(s.group), "test")
		process.Link("cgroup", group.Ref)
		seen.Add("group", stack.Observation{Things: []*stack.Thing{group}})
	}
	setter, server := NewSetter(cat, nil), "/run/a.sock"
	if s.remote {
		given := host.Target{Engine: "mysql", Name: "mysql:db:3306", Network: "tcp", Address: "db:3306"}
		setter, seen, server = NewSetter(cat, &given), &stack.Stack{}, "db:3306"
	}
	thing := stack.NewThing("mysql", server)
	flavor := flavorMySQL
	if strings.Contains(s.version, "MariaDB") {
		flavor = flavorMariaDB
	}
	thing.Set("flavor", stack.Text(flavor), "test")
	thing.Set("version", stack.Text(number(s.version)), "test")
	for fact, v := range s.facts {
		thing.Set(fact, v, "test")
	}
	seen.Add("mysql", stack.Observation{Things: []*stack.Thing{thing}})
	a := &alteration{name: name, in: &instance{flavor: flavor}}
	table := func(q string, cells []string) {
		h.Queries[q] = hosttest.Table(strings.Repeat("c\t", len(cells)-1)+"c", strings.Join(cells, "\t"))
	}
	if flavor == flavorMariaDB {
		table(tellsQuery(name), s.row)
	} else {
		table(a.question(), s.row[:1])
		table(boundsQuery(name), []string{"0", "4294967295"})
	}
	if s.grants != "" {
		table("SHOW GRANTS FOR CURRENT_USER()", []string{s.grants})
	}
	fact := cat.Fact("mysql", name)
	if fact == nil {
		fact = &catalog.Fact{Kind: "mysql", Name: name, Type: catalog.Text, Knob: &catalog.Knob{}}
	}
	return setter.Recipe(context.Background(), h, seen, change.Want{Knob: stack.Knob{Of: thing.Ref, Name: name}, To: to, Fact: fact})
}

// tree is Debian's, as MariaDB's packages lay it.
func tree(more map[string]string) map[string]string {
	out := map[string]string{
		"/etc/mysql/my.cnf":                       "[client-server]\nsocket = /run/a.sock\n!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mariadb.conf.d/\n",
		"/etc/mysql/conf.d/mysql.cnf":             "[mysql]\n",
		"/etc/mysql/mariadb.conf.d/50-server.cnf": "[server]\n[mysqld]\npid-file = /run/mysqld/mysqld.pid\n[mariadb-10.11]\n",
	}
	for name, text := range more {
		out[name] = text
	}
	return out
}

// The value goes where a line is read last: into a file of ours in the last
// directory, unless another line comes after it.
func TestWhereItLasts(t *testing.T) {
	const (
		main   = "/etc/mysql/my.cnf"
		server = "/etc/mysql/mariadb.conf.d/50-server.cnf"
		later  = "/etc/mysql/mariadb.conf.d/zzz.cnf"
		ours   = "/etc/mysql/mariadb.conf.d/zz-plumb.cnf"
		home   = "/root/extra.cnf"
	)
	for _, c := range []struct {
		name, version string
		disk          map[string]string
		modes         map[string]fs.FileMode
		args          []string
		file, key     string
		ours          bool
	}{
		{"nothing sets it", mariadb, tree(nil), nil, nil, ours, "mysqld/sync_binlog", true},
		{"a packaged file sets it", mariadb, tree(map[string]string{server: "[mysqld]\nsync-binlog=0\n"}), nil, nil, ours, "mysqld/sync_binlog", true},
		{"a file that is read later", mariadb, tree(map[string]string{later: "[mariadb-10.11]\nloose-sync-binlog = 0\n"}), nil, nil, later, "mariadb-10.11/sync_binlog", false},
		{"a group that this server does not read", mariadb, tree(map[string]string{later: "[mysqld-8.0]\nsync_binlog = 0\n"}), nil, nil, ours, "mysqld/sync_binlog", true},
		{"after the include", mariadb, tree(map[string]string{main: "!includedir /etc/mysql/mariadb.conf.d\n[mysqld]\nsync_binlog=0\n"}), nil, nil, main, "mysqld/sync_binlog", false},
		{"before the include", mariadb, tree(map[string]string{main: "[mysqld]\nsync_binlog=0\n!includedir /etc/mysql/mariadb.conf.d\n"}), nil, nil, ours, "mysqld/sync_binlog", true},
		{"ours is there already", mariadb, tree(map[string]string{ours: "[mysqld]\nsync_binlog=0\n"}), nil, nil, ours, "mysqld/sync_binlog", true},
		{"an extra file", mariadb, tree(map[string]string{home: "[mysqld]\nsync_binlog=0\n"}), nil, []string{"--defaults-extra-file=" + home}, home, "mysqld/sync_binlog", false},
		{"one file only", mariadb, map[string]string{home: "[mysqld]\n"}, nil, []string{"--defaults-file=" + home}, home, "mysqld/sync_binlog", false},
		{"a directory that is not there", mariadb, map[string]string{main: "[mysqld]\n!includedir /etc/mysql/none\n"}, nil, nil, main, "mysqld/sync_binlog", false},
		{"a directory of root's own", mariadb, tree(nil), map[string]fs.FileMode{"/etc/mysql/mariadb.conf.d": fs.ModeDir | 0o700}, nil, "/etc/mysql/conf.d/zz-plumb.cnf", "mysqld/sync_binlog", true},
		{"no file at all", mariadb, nil, nil, nil, "/etc/my.cnf", "mysqld/sync_binlog", false},
		{"MySQL 5.7, set before the directory", "5.7.44", map[string]string{main: "[mysqld]\nsync_binlog=0\n!includedir /etc/mysql/mysql.conf.d\n", "/etc/mysql/mysql.conf.d/a.cnf": "[mysqld]\n"}, nil, nil,
			"/etc/mysql/mysql.conf.d/zz-plumb.cnf", "mysqld/sync_binlog", true},
		{"MySQL 5.7, set in the directory", "5.7.44", map[string]string{main: "!includedir /etc/mysql/mysql.conf.d\n", "/etc/mysql/mysql.conf.d/a.cnf": "[mysqld]\nsync_binlog=0\n"}, nil, nil,
			"/etc/mysql/mysql.conf.d/a.cnf", "mysqld/sync_binlog", false},
	} {
		r, err := standing{version: c.version, row: syncBinlog, disk: c.disk, modes: c.modes, args: c.args}.recipe(t, "sync_binlog", stack.Int(1))
		if err != nil || len(r.Acts) != 2 {
			t.Errorf("%s: %v, %v", c.name, r.Acts, err)
			continue
		}
		if e := r.Acts[1].Edit; e == nil || e.File != c.file || e.Key != c.key || e.Value != "1" || e.Ours != c.ours || r.Lasts != c.file {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

// rogue is the user that a server runs as.
const rogue = 65534

// Anybody can start a server that names any file. fix makes none that root does
// not name, and edits none that is an option file by that word alone.
func TestARogueChoosesNoFile(t *testing.T) {
	const his = "/tmp/my.cnf"
	for _, c := range []struct {
		name string
		standing
		want string // the file, or a part of the refusal
	}{
		{"a file that is not there", standing{args: []string{"--defaults-file=/etc/nologin"}}, "which does not exist"},
		{"one of root's for something else", standing{disk: map[string]string{"/etc/crontab": "[client]\n"}, args: []string{"--defaults-file=/etc/crontab"}}, "only the server's command line"},
		{"through an include of his", standing{disk: map[string]string{his: "[client]\n!include /etc/crontab\n", "/etc/crontab": "# cron\n"}, args: []string{"--defaults-file=" + his}, owners: map[string]uint32{his: rogue}}, his},
		{"a directory of root's", standing{disk: map[string]string{his: "[mysqld]\n!includedir /etc/cron.d\n", "/etc/cron.d/x": ""}, args: []string{"--defaults-file=" + his}, owners: map[string]uint32{his: rogue}}, his},
		{"arguments of a setuid program", standing{disk: map[string]string{"/proc/9/cmdline": "[mysqld]\n!includedir /etc/cron.d\n", "/etc/cron.d/x": ""}, args: []string{"--defaults-file=/proc/9/cmdline"}}, "only the server's command line"},
		{"a third user's", standing{disk: map[string]string{his: "[mysqld]\n"}, args: []string{"--defaults-file=" + his}, owners: map[string]uint32{his: 1000}}, "only the server's command line"},
		{"his own", standing{disk: map[string]string{his: "[mysqld]\n"}, args: []string{"--defaults-file=" + his}, owners: map[string]uint32{his: rogue}}, his},
		{"root's for a server", standing{disk: map[string]string{"/etc/second.cnf": "[mysqld]\n!includedir /etc/second.d\n", "/etc/second.d/x": ""}, args: []string{"--defaults-file=/etc/second.cnf"}}, "/etc/second.d/zz-plumb.cnf"},
	} {
		c.version, c.row = mariadb, syncBinlog
		r, err := c.recipe(t, "sync_binlog", stack.Int(1))
		said := r.Lasts
		if refusal, ok := errors.AsType[*change.Refusal](err); ok {
			said = refusal.Why
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
	}
}

// What stands in the way is said before anything is done.
func TestLastingRefuses(t *testing.T) {
	main := func(text string) map[string]string { return map[string]string{"/etc/mysql/my.cnf": text} }
	for _, c := range []struct {
		standing
		want string
	}{
		{standing{args: []string{"--no-defaults"}}, "--no-defaults"},
		{standing{disk: main("[mysqld]\n"), args: []string{"--loose-sync-binlog=0"}}, "--sync-binlog on its command line"},
		{standing{disk: main("[mysqld]\nsync_binlog=0\n"), modes: map[string]fs.FileMode{"/etc/mysql/my.cnf": 0o666}}, "the server ignores it"},
		{standing{args: []string{"--defaults-file=my.cnf"}}, "relative to a directory"},
	} {
		c.version, c.row = mariadb, syncBinlog
		_, err := c.recipe(t, "sync_binlog", stack.Int(1))
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	_, err := standing{version: oracle, row: []string{"0"}, args: []string{"--no-defaults"}}.recipe(t, "sync_binlog", stack.Int(1))
	if err == nil || !strings.Contains(err.Error(), "--no-defaults") {
		t.Errorf("MySQL without its option files: %v", err)
	}
	_, err = standing{version: mariadb, row: readOnly, inside: true}.recipe(t, "innodb_read_io_threads", stack.Int(8))
	if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, "read only at startup") || !strings.Contains(r.What, "container") {
		t.Errorf("in a container: %v", err)
	}
}
