package point

import (
	"context"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

func TestSame(t *testing.T) {
	e := New(nil)
	at := func(lsn string, timeline int) protect.Position { return protect.Position{LSN: lsn, Timeline: timeline} }
	for _, c := range []struct {
		point, recovered protect.Position
		same             bool
	}{
		{at("0/3000060", 1), at("0/3000060", 1), true},
		{at("0/FFFFFFFF", 1), at("1/0", 1), true},
		{at("1/0", 1), at("0/FFFFFFFF", 1), false},
		{at("0/A", 1), at("0/9", 1), false},
		{at("0/A", 2), at("0/B", 1), false},
		{at("0/A", 1), at("0/B", 2), true},
		{at("", 0), at("0/B", 1), false},
		{at("0/A", 1), at("x/1", 1), false},
	} {
		if why := e.Same(c.point, c.recovered); (why == "") != c.same {
			t.Errorf("%v, %v: %q", c.point, c.recovered, why)
		}
	}
}

func TestAside(t *testing.T) {
	sv := protect.Server{Dirs: []protect.Dir{{Role: "data", Path: "/d"}, {Role: "wal", Path: "/w"}, {Role: "log", Path: "/var/log/pg"}}, Settings: map[string]string{"stats_temp_directory": "/run/stats", "external_pid_file": "/run/15.pid"}}
	for file, aside := range map[string]bool{"/d/base/1/2": false, "/w/0001": false, "/var/log/pg/a.csv": true, "/var/log/postgresql/15.log": true, "/d/x.log": false, "/d/base/pgsql_tmp/1": true,
		"/run/stats/db_0.stat": true, "/run/15.pid": true, "/d/postmaster.pid": true, "/dev/shm/PostgreSQL.1": true, "/var/log/pgother": false, "/ts/PG_15/1/2": false, "/ts/PG_15/pgsql_tmp/2": true} {
		if New(nil).Aside(&stack.Stack{}, sv, file) != aside {
			t.Errorf("%s: want %t", file, aside)
		}
	}
}

func TestOrderOfVolumes(t *testing.T) {
	sv := protect.Server{Dirs: []protect.Dir{{Role: "data", Path: "/srv/pg"}, {Role: "wal", Path: "/wal/pg"}, {Role: "tablespace", Path: "/ts/a", Link: "pg_tblspc/1"}}}
	at := func(points ...string) (set protect.Set) {
		for _, p := range points {
			set.Volumes = append(set.Volumes, protect.Volume{Mountpoint: p})
		}
		return set
	}
	for _, c := range []struct {
		set  protect.Set
		want string
	}{
		{at("/srv", "/ts", "/wal"), "/ts /srv /wal"},
		{at("/", "/ts"), "/ts /"},
		{at("/"), "/"},
		{at("/srv", "/srv/pg/base", "/srv/pg/global", "/ts", "/wal"), "/srv /srv/pg/base /ts /srv/pg/global /wal"},
		{at("/srv", "/"), "/srv /"},
	} {
		if got := strings.Join(order(sv, c.set), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if why := at("/srv", "/ts").Lacks(sv, "log"); !strings.Contains(why, "/wal/pg (wal)") {
		t.Error(why)
	}
}

func TestDoubts(t *testing.T) {
	zfs, other := protect.Set{Volumes: []protect.Volume{{Storage: "zfs"}}}, protect.Set{Volumes: []protect.Volume{{Storage: "zfs"}, {Storage: "lvm"}}}
	if d := (state{pages: true, fsync: true}).doubts(other); len(d) > 0 {
		t.Error(d)
	}
	if d := (state{async: true}).doubts(zfs); len(d) != 2 {
		t.Error(d)
	}
	if d := (state{async: true}).doubts(other); len(d) != 3 {
		t.Error(d)
	}
}

func TestConfiguration(t *testing.T) {
	c := protect.Copy{Root: "/r", Run: "/run dir/'x", Purpose: protect.ForReplica, Number: 3, Server: protect.Server{Version: "15.4", UID: 5, Program: []string{"/pg"}, Dirs: []protect.Dir{{Role: "data", Path: "/d"}},
		Settings: map[string]string{"shared_preload_libraries": `pg_stat_statements, pg_cron,$libdir/pg_net.so , "citus"`, "max_connections": "7", "archive_mode": "on", superuser: `odd"name`}},
		Source: &protect.Source{Network: "tcp", Address: "[::1]:5433", User: `a'b\`, Password: `p:w\`, Slot: "s"}}
	n := neutral{c: c, data: "/r/d", major: 15}
	text := n.config()
	for _, want := range []string{"shared_preload_libraries = 'pg_stat_statements'\n", "max_connections = '7'\n", "archive_mode = 'off'\n", "unix_socket_directories = '\"/run dir/''x\"'\n",
		`host=''::1'' port=''5433'' user=''a\\''b\\\\''`, "primary_slot_name = 's'"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if n.password() != `*:*:*:a'b\\:p\:w\\`+"\n" || n.closed() != "local all \"odd\"\"name\" trust\n" {
		t.Errorf("%q, %q", n.password(), n.closed())
	}
	if name, text, err := n.signal(); name != "standby.signal" || text != "" || err != nil {
		t.Error(name, text, err)
	}
	n.major = 11
	if name, text, err := n.signal(); name != "recovery.conf" || !strings.Contains(text, "standby_mode") || !strings.Contains(text, "primary_conninfo") || strings.Contains(n.config(), "primary_") || err != nil {
		t.Error(name, text, err)
	}
	n.c.Closed, n.c.Port, n.major = true, 6000, 17
	argv, err := n.arguments()
	if err != nil || !slices.Contains(argv, "listen_addresses=") || !slices.Contains(argv, "hba_file=/run dir/'x/closed.conf") || !slices.Contains(argv, "event_triggers=off") {
		t.Error(argv, err)
	}
	n.c.Closed = false
	if argv, _ = n.arguments(); !slices.Contains(argv, "listen_addresses=127.0.0.1") || slices.Contains(argv, "event_triggers=off") {
		t.Error(argv)
	}
}

// The jobs of TimescaleDB do not run in a copy, whose tables need its library.
func TestTimescale(t *testing.T) {
	for libraries, want := range map[string]bool{"timescaledb": true, `pg_cron, "$libdir/timescaledb.so"`: true, "pg_stat_statements": false, "": false} {
		for _, purpose := range []protect.Purpose{protect.ForDrill, protect.ForUse, protect.ForReplay} {
			n := neutral{c: protect.Copy{Purpose: purpose, Server: protect.Server{Settings: map[string]string{"shared_preload_libraries": libraries}}}, major: 15}
			text := n.config()
			if strings.Contains(text, "timescaledb.max_background_workers = '0'\n") != want || strings.Contains(text, "timescaledb.so") != strings.Contains(libraries, ".so") || strings.Contains(text, "pg_cron") {
				t.Errorf("%s of %q:\n%s", purpose, libraries, text)
			}
		}
	}
}

func TestEndpoint(t *testing.T) {
	for address, want := range map[string]string{"/run/pg/.s.PGSQL.5433": "/run/pg 5433", "/run/mysqld.sock": "", "db:5432": "db 5432", "db": "", "[::1]:1": "::1 1", ":5": " 5", "a:b": ""} {
		s := &protect.Source{Network: "tcp", Address: address}
		if address[0] == '/' {
			s.Network = "unix"
		}
		name, number, err := endpoint(s)
		if got := name + " " + number; err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

// TestSound: what cannot be right is refused before anything is touched.
func TestSound(t *testing.T) {
	good := protect.Copy{Root: "/r", Run: "/run/x", Server: protect.Server{Version: "15.4", UID: 5, Program: []string{"/pg"}, Dirs: []protect.Dir{{Role: "data", Path: "/d"}}}}
	of := func(change func(*protect.Copy)) error {
		c := good
		change(&c)
		return neutral{c: c, data: c.In(c.Server.Dir("data")), major: major(c.Server.Version)}.sound()
	}
	if err := of(func(*protect.Copy) {}); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*protect.Copy){
		"the live directory":    func(c *protect.Copy) { c.Root = "" },
		"no data directory":     func(c *protect.Copy) { c.Server.Dirs = nil },
		"a relative root":       func(c *protect.Copy) { c.Root = "r" },
		"root":                  func(c *protect.Copy) { c.Server.UID = 0 },
		"an old version":        func(c *protect.Copy) { c.Server.Version = "9.6.1" },
		"a long path":           func(c *protect.Copy) { c.Run = "/" + strings.Repeat("x", 100) },
		"nobody to follow":      func(c *protect.Copy) { c.Purpose = protect.ForReplica },
		"a file of another age": func(c *protect.Copy) { c.Files = map[string]string{"../x": ""} },
	} {
		if of(change) == nil {
			t.Errorf("%s was not refused", what)
		}
	}
}

// silent is a session whose answers have no rows.
type silent struct{ load.Admin }

func (silent) Query(context.Context, string) (host.Rows, error) { return host.Rows{}, nil }

// What a server does not tell is an error: no replica has caught up by it.
func TestNoAnswerIsNoGoodNews(t *testing.T) {
	if behind, err := (Engine{}).Caught(t.Context(), silent{}, protect.Copy{}); err == nil {
		t.Errorf("a replica that says nothing is behind by %q", behind)
	}
	if p, err := (Engine{}).Recovered(t.Context(), silent{}, protect.Copy{Purpose: protect.ForReplay}); err == nil {
		t.Errorf("a copy that says nothing stands at %s", p)
	}
}
