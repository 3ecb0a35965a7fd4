package postgres

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// The rows below are those of a PostgreSQL 15.18 of Debian, fewer and with
// shorter paths. The last lines of pg_file_settings were added.
var settingsRows = hosttest.Table(
	"name\tvalue\tunit\tsource\tsourcefile\tsourceline\tboot_val\tpending_restart\tvartype",
	"autovacuum_work_mem\t-1\tkB\tdefault\t\\N\t\\N\t-1\tf\tinteger",
	"config_file\t/srv/pg/postgresql.conf\t\toverride\t\\N\t\\N\t\\N\tf\tstring",
	"data_directory\t/srv/pg\t\toverride\t\\N\t\\N\t\\N\tf\tstring",
	"fsync\ton\t\tdefault\t\\N\t\\N\ton\tf\tbool",
	"logging_collector\toff\t\tdefault\t\\N\t\\N\toff\tf\tbool",
	"max_connections\t100\t\tconfiguration file\t/srv/pg/postgresql.conf\t65\t100\tt\tinteger",
	"max_wal_size\t2048\tMB\tconfiguration file\t/srv/pg/postgresql.conf\t822\t1024\tf\tinteger",
	"server_version\t15.18 (Debian 15.18-0+deb12u1)\t\tdefault\t\\N\t\\N\t15.18 (Debian 15.18-0+deb12u1)\tf\tstring",
	"server_version_num\t150018\t\tdefault\t\\N\t\\N\t150018\tf\tinteger",
	"shared_buffers\t16384\t8kB\tconfiguration file\t/srv/pg/postgresql.conf\t127\t16384\tf\tinteger",
	"temp_tablespaces\t\t\tdefault\t\\N\t\\N\t\tf\tstring",
	"wal_buffers\t512\t8kB\tdefault\t\\N\t\\N\t-1\tf\tinteger",
)

var fileRows = hosttest.Table(
	"sourcefile\tsourceline\tname\tsetting\tapplied\terror",
	"/srv/pg/postgresql.conf\t65\tmax_connections\t100\tf\t\\N",
	"/srv/pg/postgresql.conf\t127\tshared_buffers\t128MB\tt\t\\N",
	"/srv/pg/postgresql.conf\t822\tmax_wal_size\t2GB\tt\t\\N",
	"/srv/pg/postgresql.conf\t830\tshared_bufers\t1GB\tf\tunrecognized configuration parameter",
	"/srv/pg/postgresql.auto.conf\t3\tmax_connections\t321\tf\tsetting could not be applied",
)

const fileSettings = "SELECT sourcefile, sourceline, lower(name) AS name, setting, applied, error FROM pg_file_settings ORDER BY seqno"

// machine is a host with one server, 4242, in /srv/pg. Of the questions it
// answers those that tell one of the given facts.
func machine(statistics map[string]host.Rows) (hosttest.Map, *stack.Stack) {
	process := stack.NewThing("process", "4242")
	for name, v := range map[string]stack.Value{"engine": stack.Text("postgres"), "uid": stack.Int(104), "user": stack.Text("postgres"), "own_mounts": stack.Bool(false),
		"args":   stack.List([]string{"/usr/lib/postgresql/15/bin/postgres", "-D", "/srv/pg"}),
		"listen": stack.List([]string{"unix:/run/postgresql/.s.PGSQL.5433"})} {
		process.Set(name, v, "test")
	}
	var seen stack.Stack
	seen.Add("process", stack.Observation{Things: []*stack.Thing{process}})
	queries := map[string]host.Rows{settingsQuery: settingsRows, fileSettings: fileRows}
	for _, q := range questions {
		sql := q.SQL
		for fact, rows := range statistics {
			if q.suits(15) && slices.Contains(q.Facts, fact) {
				queries[sql] = rows
			}
		}
	}
	return hosttest.Map{Who: host.About{Root: true, User: "root"}, Links: map[string]string{"/proc/4242/cwd": "/srv/pg"}, Queries: queries}, &seen
}

func collectFrom(t *testing.T, m hosttest.Map, seen *stack.Stack) (*stack.Thing, stack.Observation) {
	t.Helper()
	cat := hosttest.Catalog(t)
	obs, err := NewProbe(cat, nil).Collect(t.Context(), m, seen)
	if err != nil || len(obs.Things) != 1 || obs.Things[0].Ref != (stack.Ref{Kind: "postgres", Name: "5433"}) {
		t.Fatalf("saw %+v, %v", obs.Things, err)
	}
	return obs.Things[0], obs
}

func TestServerOnThisHost(t *testing.T) {
	m, seen := machine(map[string]host.Rows{
		"uptime": hosttest.Table("uptime\treplication_role", "96\tprimary"),
		"backend_fsyncs": hosttest.Table("checkpoints_window\tcheckpoints_timed\tcheckpoints_requested\tcheckpoints_per_hour\tcheckpoints_requested_share\tcheckpoint_write_avg\tcheckpoint_sync_avg\tbgwriter_maxwritten_per_hour\tbackend_fsyncs",
			"7200\t20\t4\t12.00\t0.1667\t1500\t20\t0.00\t0"),
		"wal_recent":           hosttest.Table("wal_recent\twal_recent_window", "52428800\t41"),
		"checksum_failures":    hosttest.Table("checksum_failures", `\N`),
		"replicas_synchronous": hosttest.Table("replicas\treplicas_synchronous", `1`+"\t"+`\N`),
	})
	db, obs := collectFrom(t, m, seen)
	for name, want := range map[string]stack.Value{
		"version": stack.Text("15.18"), "version_num": stack.Int(150018), "logged_in": stack.Bool(true), "remote": stack.Bool(false),
		"shared_buffers": stack.Int(128 << 20), "max_wal_size": stack.Int(2 << 30), "fsync": stack.Bool(true), "wal_buffers": stack.Int(4 << 20),
		"uptime": stack.Int(96), "replication_role": stack.Text("primary"), "replicas": stack.Int(1),
		"checkpoints_per_hour": stack.Float(12), "checkpoints_requested_share": stack.Float(0.1667),
		"wal_recent": stack.Int(50 << 20), "wal_recent_window": stack.Int(41),
		"pending_restart": stack.List([]string{"max_connections"}),
		"config_errors":   stack.List([]string{"/srv/pg/postgresql.conf:830: shared_bufers unrecognized configuration parameter"}),
		"next_changes":    stack.List([]string{"max_connections: now 100, then 321 (/srv/pg/postgresql.auto.conf:3)"}),
	} {
		if got, ok := db.Get(name); !ok || !got.Equal(want) {
			t.Errorf("%s = %v, %v; want %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"checksum_failures", "io_method", "wal_keep_segments"} {
		if f, known := db.Facts[name]; !known || !f.Value.IsAbsent() {
			t.Errorf("%s = %v, %v; want absent", name, f.Value, known)
		}
	}
	// NULL and refused questions are unknown and say why.
	s := seen
	s.Add("postgres", obs)
	for _, name := range []string{"replicas_synchronous", "xid_age", "slots", "wal_bytes_per_hour"} {
		if _, known := db.Facts[name]; known {
			t.Errorf("%s is known although nobody told it", name)
		}
		if _, ok := s.GapFor(db.Ref, name); !ok {
			t.Errorf("no gap for %s", name)
		}
	}
	if o := db.Facts["max_wal_size"].Origin; o == nil || o.File != "/srv/pg/postgresql.conf" || o.Line != 822 {
		t.Errorf("max_wal_size comes from %+v", o)
	}
	var roles []string
	for _, r := range obs.Roles {
		roles = append(roles, r.Name+" "+r.Path)
	}
	if !slices.Contains(roles, "data /srv/pg") || !slices.Contains(roles, "wal /srv/pg/pg_wal") {
		t.Errorf("roles are %q", roles)
	}
}

// Without a login, what the files say counts: includes are followed, in
// order, and one that leads back to itself is told.
func TestServerWithoutLogin(t *testing.T) {
	m, seen := machine(nil)
	m.Queries = nil
	m.Files = map[string]string{
		"/srv/pg/PG_VERSION":              "15\n",
		"/srv/pg/postgresql.conf":         "fsync = on\nwork_mem = 4MB\ninclude_dir 'conf[1].d'\ninclude_if_exists 'none.conf'\nshared_buffers = 1GB # after\n",
		"/srv/pg/conf[1].d/10-first.conf": "work_mem = 8MB\nshared_buffers = 2GB\n",
		"/srv/pg/conf[1].d/20-next.conf":  "work_mem = 16MB\nfsync = off\ninclude '../postgresql.conf'\n",
		"/srv/pg/conf[1].d/.hidden.conf":  "work_mem = 1MB\n",
		"/srv/pg/conf[1].d/30-note.txt":   "work_mem = 2MB\n",
		"/srv/pg/postgresql.auto.conf":    "# by ALTER SYSTEM\nmax_connections = '321'\n",
	}
	db, _ := collectFrom(t, m, seen)
	for name, want := range map[string]stack.Value{
		"version": stack.Text("15"), "logged_in": stack.Bool(false), "work_mem": stack.Int(16 << 20), "fsync": stack.Bool(false),
		"shared_buffers": stack.Int(1 << 30), "max_connections": stack.Int(321),
		"config_errors": stack.List([]string{"/srv/pg/conf[1].d/20-next.conf:3: includes without end"}),
	} {
		if got, ok := db.Get(name); !ok || !got.Equal(want) {
			t.Errorf("%s = %v, %v; want %v", name, got, ok, want)
		}
	}
	if o := db.Facts["max_connections"].Origin; o == nil || o.From != stack.FromPersisted || o.Line != 2 {
		t.Errorf("max_connections comes from %+v", o)
	}
	if _, known := db.Facts["uptime"]; known {
		t.Error("uptime is known although the process does not tell it")
	}
}

func TestIncludesThatCannotBeRead(t *testing.T) {
	m := hosttest.Map{Files: map[string]string{
		"/c/postgresql.conf": "include 'gone.conf'\ninclude_if_exists 'gone.conf'\ninclude 'self.conf'\nwork_mem = 4MB\n",
		"/c/self.conf":       "include 'self.conf'\n",
	}}
	var f files
	if err := f.readConfig(t.Context(), m, "", "/c/postgresql.conf", nil); err != nil {
		t.Fatal(err)
	}
	if len(f.lines) != 1 || f.lines[0].name != "work_mem" || len(f.bad) != 2 ||
		!strings.HasPrefix(f.bad[0], "/c/postgresql.conf:1: read /c/gone.conf") || f.bad[1] != "/c/self.conf:1: includes without end" {
		t.Errorf("lines %v, bad %q", f.lines, f.bad)
	}
	m.Errors = map[string]error{"file /c/postgresql.conf": fs.ErrPermission}
	if err := (&files{}).readConfig(t.Context(), m, "", "/c/postgresql.conf", nil); err == nil {
		t.Error("a file that may not be read gave no error")
	}
}

// TestIncludesAreBounded: files that include each other in a tree are many
// ways, not a circle; the count of files ends it.
func TestIncludesAreBounded(t *testing.T) {
	text := strings.Repeat("include 'b.conf'\n", 50)
	m := hosttest.Map{Files: map[string]string{"/c/a.conf": text, "/c/b.conf": strings.ReplaceAll(text, "b.conf", "c.conf"), "/c/c.conf": strings.ReplaceAll(text, "b.conf", "d.conf"), "/c/d.conf": "fsync = off\n"}}
	var f files
	if err := f.readConfig(t.Context(), m, "", "/c/a.conf", nil); err != nil || len(f.names) > maxFiles {
		t.Errorf("read %d files, %v", len(f.names), err)
	}
	if len(f.bad) > 10*maxFiles {
		t.Errorf("%d complaints", len(f.bad))
	}
}

// TestSessionsThatAreHidden: to a role that may not see those of others, the server tells neither their kind nor that of its own
// processes. What is counted by kind is then not few, but unknown.
func TestSessionsThatAreHidden(t *testing.T) {
	for active, known := range map[string]bool{"3": true, `\N`: false} {
		m, seen := machine(map[string]host.Rows{
			"connections_used":   hosttest.Table("connections_used\tautovacuum_workers_busy", "1\t0"),
			"connections_active": hosttest.Table("connections_active\tconnections_idle_in_transaction", active+"\t"+active),
		})
		db, obs := collectFrom(t, m, seen)
		seen.Add("postgres", obs)
		for _, name := range []string{"connections_used", "autovacuum_workers_busy"} {
			_, told := db.Facts[name]
			if g, _ := seen.GapFor(db.Ref, name); told != known || known == (g.Hint == grantsHint) {
				t.Errorf("active sessions %s: %s is known: %v, and the gap is %+v", active, name, told, g)
			}
		}
	}
}

// TestEveryAnswerIsDeclared keeps the questions and the catalogue together.
func TestEveryAnswerIsDeclared(t *testing.T) {
	cat := hosttest.Catalog(t)
	for _, q := range questions {
		for _, name := range q.Facts {
			if f := cat.Fact("postgres", name); f == nil && !strings.HasSuffix(name, "*") {
				t.Errorf("%s gives %s, which is not declared", q.About, name)
			}
		}
	}
}
