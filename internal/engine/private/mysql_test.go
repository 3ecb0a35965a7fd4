package private

import (
	"strings"
	"testing"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
)

func named(label string) lab.Program { return lab.Program{Product: label} }

func TestSameOfMySQL(t *testing.T) {
	for _, c := range []struct {
		setting, asked, effective string
		same                      bool
	}{
		{"innodb_buffer_pool_size", "256M", "268435456", true},
		{"innodb_buffer_pool_size", "200M", "268435456", true}, // up to its chunk
		{"innodb_buffer_pool_size", "200M", "134217728", false},
		{"innodb_buffer_pool_size", "4G", "5368709120", false},
		{"innodb_buffer_pool_size", "2100M", "3221225472", true}, // 8 instances of 128 MB
		{"max_connections", "200000", "100000", false},
		{"sync_binlog", "1", "1", true},
		{"sync_binlog", "1000", "1", false},
		{"innodb_doublewrite", "0", "OFF", true},
		{"innodb_doublewrite", "off", "ON", false},
		{"innodb_max_dirty_pages_pct", "90", "90.000000", true},
		{"long_query_time", "0.5", "0.500000", true},
		{"join_buffer_size", "1000", "896", true},
		{"join_buffer_size", "1000", "1024", false},
		{"log_bin", "ON", "ON", true},
		{"log_bin", "mybin", "ON", true},
		{"log_bin", "OFF", "ON", false},
		{"log_bin", "", "OFF", true},
		{"sql_mode", "NO_ENGINE_SUBSTITUTION,STRICT_ALL_TABLES", "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", true},
		{"sql_mode", "", "STRICT_ALL_TABLES", false},
		{"sql_mode", "STRICT_ALL_TABLES", "STRICT_ALL_TABLES,ANSI_QUOTES", false},
		{"sql_mode", "ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI", true},
		{"optimizer_switch", "mrr=on", "index_merge=on,mrr=on", true},
		{"optimizer_switch", "mrr=on", "index_merge=on,mrr=off", false},
		{"transaction-isolation", "read-committed", "READ-COMMITTED", true},
		{"character_set_server", "utf8", "utf8mb3", true},
		{"thread_cache_size", "-1", "9", true},
		{"innodb_io_capacity", "-1", "200", false},
		{"innodb_flush_method", "O_DIRECT", "fsync", false},
		{"innodb_flush_method", "o_direct", "O_DIRECT", true},
		{"innodb_change_buffering", "1", "none", false}, // an index: not known
	} {
		if got := MySQL().Same(c.setting, c.asked, c.effective); got != c.same {
			t.Errorf("%s: %q and %q: %t", c.setting, c.asked, c.effective, got)
		}
	}
}

// Newer servers look for their redo log in a directory of their own; others are told.
func TestLogsOfMySQL(t *testing.T) {
	for label, told := range map[string]bool{"MySQL 8.0.36": false, "MySQL 8.0.30": false, "MySQL 8.0.29": true, "Percona Server 8.4.3": false,
		"Percona Server 5.7.44": true, "MariaDB 10.11.19": true, "MariaDB 11.8.6": true, "": true} {
		logs := MySQL().Logs(named(label))
		if got := len(logs.Args) > 0; got != told || got != (len(logs.Files) > 0) || logs.Dir == "" {
			t.Errorf("%s: %+v", label, logs)
		}
	}
}

func TestLookup(t *testing.T) {
	effective := map[string]string{"tx_isolation": "READ-COMMITTED", "innodb_io_capacity": "200"}
	for name, want := range map[string]string{"transaction_isolation": "READ-COMMITTED", "Innodb-IO-capacity": "200", "loose_innodb_io_capacity": "200", "nothing": ""} {
		if got, known := MySQL().Lookup(effective, name); got != want || known != (want != "") {
			t.Errorf("%s: %q %t", name, got, known)
		}
	}
}

func TestMySQLSettingsThatLeaveTheBoxAreRefused(t *testing.T) {
	for name, value := range map[string]string{"datadir": "/x", "socket": "x", "port": "3306", "plugin-load-add": "x", "user": "root", "loose_datadir": "x",
		"log_bin": "/var/log/bin", "general_log_file": "../../x", "init-file": "x", "a b": "1", "sync_binlog": "1\nuser=root", "wsrep_on": "ON",
		"skip_innodb_doublewrite": "", "innodb_data_file_path": "ibdata1:12M;/x:1M"} {
		if err := mysqlRules().validate(experiment.Server{Engine: product.MariaDB, Settings: map[string]string{name: value}}); err == nil {
			t.Errorf("%s = %q is allowed", name, value)
		}
		if err := mysqlRules().validate(experiment.Server{Engine: product.MariaDB, Create: map[string]string{name: value}}); err == nil {
			t.Errorf("create %s = %q is allowed", name, value)
		}
		if _, _, err := MySQL().Set(name, value); err == nil {
			t.Errorf("SET %s = %q is allowed", name, value)
		}
	}
	fine := map[string]string{"log_bin": "mybin", "default_time_zone": "Europe/Berlin", "sql_mode": "", "skip_name_resolve": "ON", "innodb_data_file_path": "ibdata1:12M:autoextend"}
	if err := mysqlRules().validate(experiment.Server{Engine: product.MariaDB, Settings: fine}); err != nil {
		t.Error(err)
	}
}

func TestFilesOfMySQL(t *testing.T) {
	s := experiment.Server{Engine: product.MariaDB, Create: map[string]string{"innodb-page-size": "8K"}, Settings: map[string]string{"log_bin": "on", "sql_mode": "", "init_connect": `SET @a = '#\'`}}
	files, err := MySQL().Files(named(product.MariaDB), s, "/box/data", "/box/run")
	if err != nil {
		t.Fatal(err)
	}
	text := string(files["/box/run/my.cnf"])
	for _, line := range []string{"datadir = /box/data", "skip_networking", "log_bin = binlog", "server_id = 1", "innodb_page_size = 8K", `sql_mode = ""`, `init_connect = "SET @a = '#\\'"`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing in\n%s", line, text)
		}
	}
	if _, err := MySQL().Files(named(product.MariaDB), s, "/box/data", "/"+strings.Repeat("x", 100)); err == nil {
		t.Error("a socket with too long a path is allowed")
	}
}

func TestSetWritesNumbersOut(t *testing.T) {
	for value, want := range map[string]string{"1G": "1073741824", "ON": "'ON'", "0.5": "0.5", "default": "DEFAULT", "it's": "'it''s'"} {
		if got, _, err := MySQL().Set("innodb-x", value); err != nil || got != "SET GLOBAL innodb_x = "+want {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
}

func TestProducts(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n":  "mariadb 10.11.19",
		"/usr/sbin/mariadbd  Ver 11.8.9-MariaDB-0+deb13u1 from Debian for debian-linux-gnu on x86_64 ()\n": "mariadb 11.8.9", // Debian 13
		"/x/mysqld  Ver 9.7.4 for Linux on x86_64 ((Debian))\n":                                            "mysql 9.7.4",
		"/usr/sbin/mysqld  Ver 8.0.42-33 for Linux on x86_64 (Percona Server (GPL), Release 33)\n":         "percona 8.0.42",
		"mysqld  Ver 5.7.44-log for Linux on x86_64 (MySQL Community Server (GPL))\n":                      "mysql 5.7.44",
		"something else": " ",
	} {
		engine, version := productOf([]byte(line))
		if engine+" "+version != want {
			t.Errorf("%s: %s %s", line, engine, version)
		}
	}
}

func TestChoosingSaysWhatThereIs(t *testing.T) {
	all := []found{{engine: product.MariaDB, version: "10.11.19", Program: named("MariaDB 10.11.19")}, {engine: product.MariaDB, version: "11.4.5"}, {engine: product.MariaDB, version: "10.5.1"}}
	if p, ok := choose(all, experiment.Server{Engine: product.MariaDB}); !ok || p.version != "11.4.5" {
		t.Error(p, ok)
	}
	if p, ok := choose(all, experiment.Server{Engine: product.MariaDB, Version: "10"}); !ok || p.version != "10.11.19" {
		t.Error(p, ok)
	}
	if _, ok := choose(all, experiment.Server{Engine: product.MariaDB, Version: "10.1"}); ok {
		t.Error("10.11 is no 10.1")
	}
	if err := (programs{Server: product.Of(product.MySQL)}).missing(all[:1], experiment.Server{Engine: product.MySQL}, false); err.Error() != "no MySQL is installed; there is MariaDB 10.11.19" {
		t.Error(err)
	}
}

func TestCountersThatCannotBeSummedAreMissing(t *testing.T) {
	status := map[string]string{"innodb_data_written": "10", "innodb_os_log_written": "5", "innodb_data_fsyncs": "3", "innodb_data_read": "7",
		"binlog_bytes_written": "100", "binlog_group_commits": "50", "innodb_dblwr_pages_written": "2"}
	for _, c := range []struct {
		version, bin    string
		written, fsyncs float64 // 0: missing
	}{
		{"10.11.19-MariaDB", "OFF", 15, 3}, {"10.11.19-MariaDB", "ON", 115, 28}, {"5.5.5-10.4.1-MariaDB", "OFF", 0, 3},
		{"9.7.4", "OFF", 32778, 3}, {"5.7.44-log", "OFF", 0, 3}, {"9.7.4", "", 0, 0},
	} {
		n := counting{status, map[string]string{"version": c.version, "log_bin": c.bin, "sync_binlog": "2", "innodb_page_size": "16384"}}
		log := journal{}
		if n.isMariaDB() {
			log = n.binlogOfMariaDB()
		}
		got := n.sums(log)
		if got["server written"] != c.written || got["server fsyncs"] != c.fsyncs {
			t.Errorf("%s log_bin=%s: %v", c.version, c.bin, got)
		}
	}
}

func FuzzSameOfMySQL(f *testing.F) {
	f.Add("innodb_buffer_pool_size", "1G", "1073741824")
	f.Add("sql_mode", "ANSI", "a,b")
	f.Add("x", "9E", "-1")
	f.Fuzz(func(t *testing.T, setting, asked, effective string) {
		e := MySQL()
		if e.Same(setting, asked, asked) != true {
			t.Errorf("%q is not itself", asked)
		}
		e.Same(setting, asked, effective)
		e.Lookup(map[string]string{setting: effective}, setting)
		if q, _, err := e.Set(setting, asked); err == nil && strings.ContainsAny(q, "\n\x00") {
			t.Errorf("a statement of several lines: %q", q)
		}
		productOf([]byte(asked))
	})
}
