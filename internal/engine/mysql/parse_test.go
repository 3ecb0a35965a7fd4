package mysql

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/host"
)

// Lines as servers read them, tried on MariaDB 10.11.19.
const optionText = "# main\r\n[client]\nsocket=/run/a.sock\n[mysqld]\ninnodb-buffer-pool-size = 64M   # inline\n" +
	"skip-name-resolve\nbind-address='127.0.0.1'\nlog_bin = \"/data/#bin\"\n; old\n!includedir /etc/mysql/conf.d/\n[mariadb-10.11]\n!include /etc/more.cnf\nloose_x=1\n"

func TestParseOptions(t *testing.T) {
	got, bad, _ := parseOptions([]byte(optionText))
	if bad != 0 {
		t.Fatalf("gave up at line %d", bad)
	}
	want := []line{
		{group: "client", name: "socket", value: "/run/a.sock", number: 3},
		{group: "mysqld", name: "innodb-buffer-pool-size", value: "64M", number: 5},
		{group: "mysqld", name: "skip-name-resolve", bare: true, number: 6},
		{group: "mysqld", name: "bind-address", value: "127.0.0.1", number: 7},
		{group: "mysqld", name: "log_bin", value: "/data/#bin", number: 8},
		{include: "/etc/mysql/conf.d/", dir: true, number: 10},
		{include: "/etc/more.cnf", number: 12},
		{group: "mariadb-10.11", name: "loose_x", value: "1", number: 13},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(line{})); d != "" {
		t.Error(d)
	}
}

func TestParseOptionsGivesUpWhereTheServerDoes(t *testing.T) {
	for text, line := range map[string]int{
		"\xef\xbb\xbf[mysqld]\nport=1\n": 1,
		"port=1\n[mysqld]\n":             1,
		"[mysqld]\n[mariadb\n":           2,
		"[mysqld]\nport=1":               0,
	} {
		if _, bad, _ := parseOptions([]byte(text)); bad != line {
			t.Errorf("%q: gave up at %d, want %d", text, bad, line)
		}
	}
}

// A MariaDB 12 that forbids more than ON does is read-only, not unknown, nor writable.
func TestTruth(t *testing.T) {
	for text, want := range map[string][2]bool{
		"ON": {true, true}, "1": {true, true}, "OFF": {false, true}, "0": {false, true}, "": {false, true},
		"NO_LOCK": {true, true}, "NO_LOCK_NO_ADMIN": {true, true}, "no_lock": {true, true}, "LOCK": {false, false},
	} {
		if b, ok := Truth(text); b != want[0] || ok != want[1] {
			t.Errorf("%q: got %v, %v, want %v", text, b, ok, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	known := func(name string) bool { return name == "skip_name_resolve" }
	for _, c := range []struct {
		name, value string
		bare        bool
		want        string
	}{
		{"skip-name-resolve", "", true, "skip_name_resolve=ON"},
		{"skip-innodb_doublewrite", "", true, "innodb_doublewrite=OFF"},
		{"Innodb-Flush-Method", "O_DIRECT", false, "innodb_flush_method=O_DIRECT"},
		{"loose-innodb_x", "3", false, "innodb_x=3"},
		{"enable-log_bin", "", true, "log_bin=ON"},
		{"table_cache", "5", false, "table_open_cache=5"},
	} {
		if a := canonical(c.name, c.value, c.bare, known); a.name+"="+a.value != c.want {
			t.Errorf("%s: got %s=%s, want %s", c.name, a.name, a.value, c.want)
		}
	}
}

func TestArguments(t *testing.T) {
	none := func(string) bool { return false }
	got := last(arguments([]string{"/usr/sbin/mariadbd", "--port=3307", "--skip-networking", "-S", "/x.sock", "--port=3308"}, none))
	if got["port"].value != "3308" || got["networking"].value != "OFF" || got["socket"].value != "/x.sock" {
		t.Errorf("got %v", got)
	}
}

// Written by MySQL 9.7.4.
const persistedText = `{"Version": 2, "mysql_dynamic_variables": {"innodb_io_capacity": {"Value": "3000", "Metadata": {"Host": "localhost", "User": "root", "Timestamp": 1795229033201649}}, "innodb_log_buffer_size": {"Value": "33554432", "Metadata": {"Host": "localhost", "User": "root", "Timestamp": 1795229033297243}}}}`

func TestParsePersisted(t *testing.T) {
	got, err := parsePersisted([]byte(persistedText), "mysqld-auto.cnf")
	if err != nil || len(got) != 2 || got[0].name != "innodb_io_capacity" || got[0].value != "3000" || got[1].value != "33554432" || got[0].origin.Line != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	old := `{ "Version" : 1 , "mysql_server" : { "max_connections" : { "Value" : "152" , "Metadata" : { "Timestamp" : 1 } } , "mysql_server_static_options" : { "innodb_log_file_size" : { "Value" : "1" } } } }`
	if got, err := parsePersisted([]byte(old), "f"); err != nil || len(got) != 2 {
		t.Errorf("first format: got %v, %v", got, err)
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"10.11.19-MariaDB-0+deb12u1-log": "10.11.19", "5.5.5-10.6.1-MariaDB": "10.6.1", "8.0.36-28": "8.0.36",
		"9.7.4-2": "9.7.4", "26.7.0": "26.7.0", "": "",
	} {
		if got := number(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if !AtLeast("26.7.0", "8.0.30") || AtLeast("8.0.4", "8.0.30") {
		t.Error("versions compare by number, part by part")
	}
	version, product := parseProgramVersion([]byte("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)\n"))
	if version != "8.0.36" || product != "percona" {
		t.Errorf("got %s %s", version, product)
	}
	version, product = parseProgramVersion([]byte("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n"))
	if version != "10.11.19" || product != "mariadb" {
		t.Errorf("got %s %s", version, product)
	}
}

func TestParseInnoDBStatus(t *testing.T) {
	got := parseInnoDBStatus([]byte("TRANSACTIONS\nHistory list length 12\n---\nLOG\nLog sequence number          1000\nLog flushed up to   990\nLast checkpoint at           400\n"))
	if got != (monitor{1000, 400, 12}) {
		t.Errorf("got %+v", got)
	}
	if got := parseInnoDBStatus(nil); got != (monitor{-1, -1, -1}) {
		t.Errorf("nothing: got %+v", got)
	}
}

func TestParseReplicaStatus(t *testing.T) {
	s := func(s string) *string { return &s }
	rows := host.Rows{
		Columns: []string{"Slave_IO_Running", "Slave_SQL_Running", "Seconds_Behind_Master", "Using_Gtid", "Last_SQL_Error"},
		Values:  [][]*string{{s("Yes"), s("Yes"), s("5"), s("Slave_Pos"), s("")}, {s("Yes"), s("No"), nil, s("No"), s("Duplicate entry")}},
	}
	got := parseReplicaStatus(rows)
	if got.count != 2 || !got.receiving || got.applying || got.gtid || got.lagKnown || got.problem != "Duplicate entry" {
		t.Errorf("got %+v", got)
	}
	rows.Values = rows.Values[:1]
	if got := parseReplicaStatus(rows); !got.gtid || !got.lagKnown || got.lag != 5 {
		t.Errorf("got %+v", got)
	}
}

func TestReads(t *testing.T) {
	for q, want := range map[string]bool{
		"SHOW GLOBAL STATUS": true, "select 1": true, "SET GLOBAL x = 1": false, "SELECT SLEEP(9)": false,
		"SELECT 1 INTO OUTFILE '/x'": false, "SELECT 1; DROP TABLE t": false, "select * from t for update": false,
		"SELECT /*! 1 */ 2": false, "SHOW ENGINE INNODB STATUS": true, "": false,
		"SELECT v FROM t WHERE n = 'lock_wait_timeout'": true, "SELECT 'a', sleep(1), 'b'": false, `SELECT "a'", sleep(1), "'b"`: false, "SELECT 'sleep' (1), 'wait_x(1)'": false,
	} {
		if got := (Dialer{}).Reads(q); got != want {
			t.Errorf("%q: got %v", q, got)
		}
	}
}

func TestWhole(t *testing.T) {
	for text, want := range map[string]int64{"128M": 134217728, "16k": 16384, "5": 5, "-1": -1, "18446744073709551615": 1<<63 - 1, "90.000000": 90, "8T": 8 << 40} {
		if got, ok := whole(text); !ok || got != want {
			t.Errorf("%q: got %d %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "K", "abc", "1.5"} {
		if _, ok := whole(text); ok {
			t.Errorf("%q is no whole number", text)
		}
	}
}

func FuzzParseOptions(f *testing.F) {
	f.Add([]byte(optionText))
	f.Add([]byte("\xef\xbb\xbf[mysqld]\n!\n!include\n[x\n=\n'"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, _, _ := parseOptions(text)
		for _, l := range lines {
			if l.number < 1 || l.include == "" && l.group == "" && l.dir {
				t.Fatalf("%+v", l)
			}
			canonical(l.name, l.value, l.bare, func(string) bool { return false })
			whole(l.value)
			_, _ = Truth(l.value)
		}
	})
}

func FuzzParsePersisted(f *testing.F) {
	f.Add([]byte(persistedText))
	f.Add([]byte(`{"mysql_server":{"a":{"Value":"1"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) { _, _ = parsePersisted(text, "f") })
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte(safe + "--datadir=/srv\x00"))
	f.Add([]byte("mysqld_safe\x00\x00"))
	f.Fuzz(func(t *testing.T, cmdline []byte) {
		if args, ok := parseScript(cmdline); ok && (len(args) == 0 || len(strings.Join(args, "\x00")) > len(cmdline)) {
			t.Fatalf("%q of %q", args, cmdline)
		}
	})
}

func FuzzParseProgramVersion(f *testing.F) {
	f.Add([]byte("mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)"))
	f.Fuzz(func(t *testing.T, text []byte) {
		version, _ := parseProgramVersion(text)
		AtLeast(version, "8.0")
		groups(flavorMariaDB, version, "1")
	})
}

func FuzzParseInnoDBStatus(f *testing.F) {
	f.Add([]byte("History list length 12\nLog sequence number 9\nLast checkpoint at 3\n"))
	f.Fuzz(func(t *testing.T, text []byte) { parseInnoDBStatus(text) })
}
