package point

import (
	"context"
	"slices"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/stack"
)

func TestProgramOf(t *testing.T) {
	for _, c := range []struct {
		exe  string
		args []string
		want string // "" for an error
	}{
		{"/usr/sbin/mariadbd", []string{"mysqld", "--port=1"}, "/usr/sbin/mariadbd"},
		{"/x/ld-linux-x86-64.so.2", []string{"/x/ld-linux-x86-64.so.2", "--library-path", "/l", "/x/mysqld", "--defaults-file=/c"}, "/x/ld-linux-x86-64.so.2 --library-path /l /x/mysqld"},
		{"/x/ld-linux.so", []string{"ld", "--inhibit-cache", "/x/mysqld"}, "/x/ld-linux.so --inhibit-cache /x/mysqld"},
		{"/x/ld-linux.so", []string{"ld", "mysqld"}, ""},
		{"/x/ld-linux.so", []string{"ld", "--library-path"}, ""},
		{"", nil, ""},
	} {
		got, err := programOf(c.exe, c.args)
		if strings.Join(got, " ") != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s %v: %v, %v", c.exe, c.args, got, err)
		}
	}
}

func TestShape(t *testing.T) {
	for statement, want := range map[string]string{
		"UPDATE t SET pan = '4111', n=12 WHERE x='it''s' ": "UPDATE t SET pan = ?, n=? WHERE x=?",
		"select \"a\\\"b\" /* secret */ from t1 -- more":   "select ? from t1",
		"INSERT INTO t VALUES ('never closed":              "INSERT INTO t VALUES (?",
		"SELECT 0xDEADBEEF, 1.5\n FROM\tt /* open":         "SELECT ?, ? FROM t",
		"DROP TABLE \x1b[31mt":                             "DROP TABLE ?[31mt",
	} {
		if got := shape(statement); got != want {
			t.Errorf("%q: %q, want %q", statement, got, want)
		}
	}
	if !changesTables("/* app */ ALTER TABLE t ADD c INT") || changesTables("SELECT 1") || changesTables("") {
		t.Error("which statements change tables")
	}
}

func FuzzShape(f *testing.F) {
	f.Add("SELECT 'secret'")
	f.Fuzz(func(t *testing.T, statement string) {
		if got := shape(statement); strings.ContainsAny(got, "\x1b\n'") && !strings.Contains(got, "`") {
			t.Errorf("%q becomes %q", statement, got)
		}
	})
}

func TestLogs(t *testing.T) {
	for file, want := range map[string]bool{"/d/relay.000001": true, "/d/relay.index": true, "/d/relay-east.000002": true, "/d/relay-east.index": true,
		"/d/relay": false, "/d/relay.frm": false, "/d/relays.000001": false, "/d/other.000001": false, "/d/relay.": false} {
		if isLog(file, "/d/relay") != want {
			t.Errorf("%s: %t", file, !want)
		}
	}
}

func TestSame(t *testing.T) {
	e := &Engine{}
	at := protect.Position{File: "bin.000002", Offset: 400, GTID: gtids("b:1-5,\na:1-7"), Applied: "0-1-4"}
	for want, p := range map[string]protect.Position{
		"":           at,
		"bin.000002": {File: "bin.000002", Offset: 500, GTID: at.GTID, Applied: at.Applied},
		"GTID":       {File: at.File, Offset: at.Offset, GTID: "a:1-8,b:1-5", Applied: at.Applied},
		"applied":    {File: at.File, Offset: at.Offset, GTID: at.GTID},
		"not known":  {},
	} {
		if got := e.Same(at, p); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%+v: %q", p, got)
		}
	}
	if e.Same(protect.Position{}, at) != "" {
		t.Error("a point without a position differs")
	}
}

// The statements of servers that are not run here.
func TestScripts(t *testing.T) {
	for _, c := range []struct{ flavor, version, want string }{
		{"mysql", "5.7.44", rowWaits + "; FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; FLUSH TABLES WITH READ LOCK; FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_executed; -- snapshot; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_executed; UNLOCK TABLES"},
		{"percona", "8.0.36", rowWaits + "; " + unended + "; FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; LOCK INSTANCE FOR BACKUP; FLUSH TABLES WITH READ LOCK; FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_executed; -- snapshot; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_executed; UNLOCK TABLES; UNLOCK INSTANCE; SET GLOBAL wsrep_desync = OFF"},
		{"mariadb", "10.3.39", rowWaits + "; FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; SET STATEMENT max_statement_time = 0.008 FOR FLUSH TABLES WITH READ LOCK; FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos; -- snapshot; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos; UNLOCK TABLES"},
		{"mariadb", "10.11.6", "FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; SET STATEMENT max_statement_time = 1 FOR BACKUP STAGE START; SET STATEMENT max_statement_time = 1 FOR BACKUP STAGE FLUSH; SET STATEMENT max_statement_time = 0.008 FOR BACKUP STAGE BLOCK_DDL; SET STATEMENT max_statement_time = 0.008 FOR BACKUP STAGE BLOCK_COMMIT; FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos; -- snapshot; SHOW MASTER STATUS; SELECT @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos; BACKUP STAGE END"},
	} {
		j := &judged{sv: protect.Server{Flavor: c.flavor, Version: c.version}, v: map[string]string{"log_bin": "ON", "datadir": `/d'\`}, galera: c.flavor == "percona"}
		j.v["wsrep_sync_wait"] = "1"
		all := j.script()
		i := slices.Index(all, prepared) + 1
		if got := strings.Join(all[i:], "; "); got != c.want {
			t.Errorf("%s %s: %s", c.flavor, c.version, got)
		}
		if all[0] != thisServer+`@@GLOBAL.datadir = '/d''\\'` || slices.Contains(all, "SET SESSION wsrep_sync_wait = 0") != j.galera {
			t.Error(all[:i])
		}
		if slices.Contains(all[:i], desync) != j.galera || (j.locked().Will != nil) != j.galera {
			t.Errorf("a node is desynced before the lock: %q, %q", all[:i], j.locked().Will)
		}
		j.v["wsrep_desync"] = "ON"
		if all := j.script(); slices.Contains(all, desync) || slices.Contains(all, resync) || j.locked().Will != nil {
			t.Errorf("what somebody else has set does not stay: %q", all)
		}
	}
}

// The logs are flushed under the lock unless the point decides about every transaction without that.
func TestFlushUnderTheLock(t *testing.T) {
	for _, c := range []struct {
		name  string
		but   func(*judged)
		flush bool
	}{
		{"durable", func(*judged) {}, false},
		{"no binary log", func(j *judged) { j.v["log_bin"], j.v["sync_binlog"] = "OFF", "0" }, false},
		{"redo log written once a second", func(j *judged) { j.v["innodb_flush_log_at_trx_commit"] = "2" }, true},
		{"not known when the redo log is written", func(j *judged) { delete(j.v, "innodb_flush_log_at_trx_commit") }, true},
		{"binary log not synced", func(j *judged) { j.v["sync_binlog"] = "1000" }, true},
		{"binary log elsewhere", func(j *judged) { j.set.Strays = []protect.Stray{{Path: "/binlog"}} }, true},
		{"tables without transactions", func(j *judged) { j.unsafe = "1 of MyISAM" }, true},
		{"tables not seen", func(j *judged) { j.unseen = "no right" }, true},
		{"another engine with a log", func(j *judged) { j.v["rocksdb_datadir"] = "./.rocksdb" }, true},
	} {
		j := &judged{sv: protect.Server{Flavor: "mariadb", Version: "10.11.6"},
			v: map[string]string{"log_bin": "ON", "sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"}}
		c.but(j)
		if got := slices.Contains(j.script(), flushLogs); got != c.flush {
			t.Errorf("%s: flushed under the lock: %t", c.name, got)
		}
	}
}

// The data is on what has no snapshots, and so is the binary log beside it: that is no point that lacks only its binary log. Nor is there one
// of a server that writes no redo log.
func TestNoModeWithoutTheData(t *testing.T) {
	j := &judged{sv: protect.Server{Flavor: "mariadb", Version: "10.11.6", Dirs: []protect.Dir{{Role: "data", Path: "/db"}, {Role: "binlog", Path: "/db"}}},
		v:   map[string]string{"log_bin": "ON", "sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"},
		set: protect.Set{Strays: []protect.Stray{{Path: "/db", Why: "on tmpfs"}}}}
	wants := func(not string) {
		t.Helper()
		for _, m := range []protect.Mode{j.crash(), j.locked(), j.freeze()} {
			if !strings.Contains(m.Not, not) {
				t.Errorf("mode %s is possible: not %q", m.Name, m.Not)
			}
		}
	}
	wants("/db is not in the snapshot")
	j.set.Strays, j.redoOff = nil, true
	wants("ALTER INSTANCE ENABLE INNODB REDO_LOG")
}

// answering answers every query with the same rows.
type answering struct {
	host.Reader
	rows [][]string
}

func (a answering) Query(context.Context, host.Target, string) (host.Rows, error) {
	var rows host.Rows
	for _, row := range a.rows {
		var cells []*string
		for _, cell := range row {
			cells = append(cells, &cell)
		}
		rows.Values = append(rows.Values, cells)
	}
	return rows, nil
}

// A copy that loads no plugins by itself is told to load those with which accounts of the log log in.
func TestPluginsOfAccounts(t *testing.T) {
	for _, c := range []struct {
		flavor, version string
		native          bool
	}{{"mysql", "8.4.2", true}, {"percona", "8.4.2", true}, {"mysql", "8.0.36", false}, {"mariadb", "11.4.5", false}} {
		d := &described{ctx: t.Context(), h: answering{rows: [][]string{{"auth_socket", "AUTHENTICATION", "auth_socket.so"}, {"clone", "CLONE", "mysql_clone.so"},
			{"mysql_native_password", "AUTHENTICATION", ""}, {"ROCKSDB", "STORAGE ENGINE", "ha_rocksdb.so"}}}, sv: protect.Server{Flavor: c.flavor, Version: c.version, Settings: map[string]string{}}}
		d.plugins(host.Target{})
		f := &file{}
		(&neutral{c: protect.Copy{Server: d.sv}}).kept(f)
		if text := f.String(); !strings.Contains(text, `plugin_load_add = "auth_socket=auth_socket.so;ROCKSDB=ha_rocksdb.so"`) || strings.Contains(text, `loose_mysql_native_password = "ON"`) != c.native {
			t.Errorf("%s %s: %s", c.flavor, c.version, text)
		}
	}
}

func TestLag(t *testing.T) {
	columns := []string{"Master_Log_File", "Read_Master_Log_Pos", "Relay_Master_Log_File", "Exec_Master_Log_Pos", "Slave_IO_Running", "Slave_SQL_Running", "Seconds_Behind_Master", "Last_IO_Error", "Last_SQL_Error"}
	for _, c := range []struct{ values, want, err string }{
		{"b.1 40 b.1 40 Yes Yes 0 - -", "", ""},
		{"b.1 80 b.1 40 Yes Yes 0 - -", "applied b.1:40", ""},
		{"b.2 40 b.1 40 Yes Yes 0 - -", "applied b.1:40", ""},
		{"b.1 40 b.1 40 Yes Yes 7 - -", "by 7 s", ""},
		{"- 4 - 0 Connecting Yes 0 - -", "", "has not reached"},
		{"b.1 40 b.1 40 Yes No 0 - duplicate", "", "duplicate"},
	} {
		row := make([]*string, len(columns))
		for i, v := range strings.Fields(c.values) {
			if v = strings.TrimPrefix(v, "-"); true {
				row[i] = &v
			}
		}
		got, err := lag(host.Rows{Columns: columns, Values: [][]*string{row}})
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.values, got, err)
		}
	}
}

// TestWayWithoutWAL: archived WAL is none of a server that has a binary log.
func TestWayWithoutWAL(t *testing.T) {
	_, err := new(Engine).Way(t.Context(), nil, protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}, replay.Start{}, replay.Target{Archive: "/wal"})
	if hint.AsUsage(err) == nil || !strings.Contains(err.Error(), "in /wal no log of mysql:3306 is looked for") {
		t.Error(err)
	}
}

// TestPeopleReachACopy: the client of MariaDB wants TLS on a socket too since 11.4, so that only a copy that no person uses goes without.
func TestPeopleReachACopy(t *testing.T) {
	for purpose, want := range map[protect.Purpose]bool{protect.ForDrill: false, protect.ForUse: true, protect.ForReplica: true} {
		n := neutral{c: protect.Copy{Purpose: purpose, Server: protect.Server{Flavor: "mariadb", Version: "11.8.9"}}}
		var f file
		n.network(&f)
		if got := !strings.Contains(f.String(), "skip_ssl"); got != want || !strings.Contains(f.String(), "skip_networking") {
			t.Errorf("%s: TLS %v, want %v:\n%s", purpose, got, want, f.String())
		}
	}
}

// A server that runs as root was told to. Its copy runs as root too, and would refuse to start.
func TestCopiesOfAServerThatRunsAsRoot(t *testing.T) {
	for uid, want := range map[int]bool{0: true, 27: false} {
		n := neutral{c: protect.Copy{Purpose: protect.ForDrill, Server: protect.Server{Flavor: "mariadb", Version: "10.11.19", UID: uid}}}
		if text, err := n.options(); err != nil || strings.Contains(text, "\nuser = \"root\"\n") != want {
			t.Errorf("of user %d, %v:\n%s", uid, err, text)
		}
	}
}
