package mysql

import (
	"context"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// running makes what the process probe would have seen.
func running(pid string, args []string, listen []string) *stack.Stack {
	s := &stack.Stack{}
	var obs stack.Observation
	p := obs.New("process", pid)
	p.Set("engine", stack.Text("mysql"), "test")
	p.Set("exe", stack.Text(args[0]), "test")
	p.Set("args", stack.List(args), "test")
	p.Set("own_mounts", stack.Bool(false), "test")
	p.Set("started", stack.Int(600), "test")
	if listen != nil {
		p.Set("listen", stack.List(listen), "test")
	}
	s.Add("process", obs)
	return s
}

func TestWithoutLoginFilesStillTell(t *testing.T) {
	h := hosttest.Map{
		Files: map[string]string{
			"/etc/mysql/my.cnf":              "[client-server]\nsocket=/run/a.sock\n!includedir /etc/mysql/conf.d\n",
			"/etc/mysql/conf.d/10.cnf":       "[mysqld]\ndatadir=/srv/db\ninnodb_buffer_pool_size=2G\nlog_bin=/srv/log/bin\n",
			"/etc/mysql/conf.d/20.cnf":       "[mariadb-10.11]\ninnodb_buffer_pool_size=4G\n[mysqld-8.0]\ninnodb_buffer_pool_size=5G\n!include /etc/mysql/my.cnf\n",
			"/etc/mysql/conf.d/not-read.txt": "[mysqld]\ndatadir=/wrong\n",
		},
		Outputs: map[string]string{"/usr/sbin/mariadbd --version": "mariadbd  Ver 10.11.19-MariaDB for debian-linux-gnu on x86_64 (Debian 12)"},
		Who:     host.About{Root: true, User: "root"},
		Errors:  map[string]error{"query mysql:/run/a.sock SHOW GLOBAL VARIABLES": host.ErrLogin},
	}
	seen := running("77", []string{"/usr/sbin/mariadbd", "--port=3307"}, []string{"unix:/run/a.sock", "tcp:127.0.0.1:3307"})
	c := hosttest.Catalog(t)
	obs, err := NewProbe(c, nil).Collect(context.Background(), h, seen)
	if err != nil || len(obs.Things) != 1 {
		t.Fatalf("%v, %d things", err, len(obs.Things))
	}
	db := obs.Things[0]
	if db.Ref.String() != "mysql:3307" || db.Text("version") != "10.11.19" || db.Text("flavor") != "mariadb" || db.Text("data_path") != "/srv/db" {
		t.Errorf("%s %s %s %s", db.Ref, db.Text("version"), db.Text("flavor"), db.Text("data_path"))
	}
	pool, _ := db.Int("innodb_buffer_pool_size")
	if o := db.Facts["innodb_buffer_pool_size"].Origin; pool != 4<<30 || o == nil || o.File != "/etc/mysql/conf.d/20.cnf" || o.Line != 2 {
		t.Errorf("pool %d from %+v: the group of this flavour and version wins", pool, o)
	}
	if on, _ := db.Bool("logged_in"); on {
		t.Error("logged in without a login")
	}
	if on, ok := db.Bool("log_bin"); !ok || !on {
		t.Error("log_bin with a path is on")
	}
	if _, known := db.Links["binlog"]; known {
		t.Error("without a login it is not known that there is no binary log")
	}
	s := &stack.Stack{}
	s.Add("mysql", obs)
	if g, ok := s.GapFor(db.Ref, "max_connections"); !ok || g.Hint == "" {
		t.Error("no gap with a hint says why max_connections is not known")
	}
	if err := c.Validate(s); err != nil {
		t.Error(err)
	}
}

func TestRemoteServerHasNothingOfThisHost(t *testing.T) {
	target, err := Given("u:secret@tcp(db.example.com:3306)/")
	if err != nil || target.Address != "db.example.com:3306" {
		t.Fatalf("%v %v", target, err)
	}
	one, two := "version", "8.4.6"
	h := hosttest.Map{Queries: map[string]host.Rows{
		"mysql:db.example.com:3306 SHOW GLOBAL VARIABLES": {Values: [][]*string{{&one, &two}}},
	}}
	obs, err := NewProbe(hosttest.Catalog(t), &target).Collect(context.Background(), h, &stack.Stack{})
	if err != nil || len(obs.Things) != 1 {
		t.Fatalf("%v, %d things", err, len(obs.Things))
	}
	db := obs.Things[0]
	if remote, _ := db.Bool("remote"); !remote || db.Text("version") != "8.4.6" || len(obs.Roles) != 0 {
		t.Errorf("remote %v, version %s, roles %v", remote, db.Text("version"), obs.Roles)
	}
	if to, known := db.Links["process"]; !known || len(to) != 0 {
		t.Error("a remote server has no process here, and that is known")
	}
	if _, known := db.Links["data"]; known {
		t.Error("where a remote server keeps its data is not known")
	}
}

func TestSeveralServersWithoutSightAreNotGuessed(t *testing.T) {
	seen := running("10", []string{"mysqld"}, nil)
	seen.Add("process", stack.Observation{Things: running("11", []string{"mysqld"}, nil).Things})
	obs, err := NewProbe(hosttest.Catalog(t), nil).Collect(context.Background(), hosttest.Map{}, seen)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, db := range obs.Things {
		names = append(names, db.Ref.Name)
	}
	if !slices.Equal(names, []string{"pid-10", "pid-11"}) {
		t.Errorf("got %v: 3306 may be either one's", names)
	}
}

func TestGivenHidesThePassword(t *testing.T) {
	if _, err := Given("u:secret@nonsense"); err == nil || err.Error() != errDSN.Error() || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
