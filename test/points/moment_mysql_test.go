package points

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// mySQL is a MySQL with a table in a directory of its own, which is on a third dataset. Its programs are found in PATH, because it is
// unpacked and not installed.
func mySQL(t *testing.T, settings string) dialect {
	t.Helper()
	sandbox.NeedTime(t, "MySQL is fetched from Debian sid: make test-real")
	base, loader, err := sandbox.MySQLTree()
	sandbox.Need(t, err)
	inPath(t, base, loader)
	server := func(space string) sandbox.MySQLOptions {
		return sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Settings: "innodb_redo_log_capacity = 16M\nmax_binlog_size = 1M\ninnodb_directories = " + space + "\n" + settings}
	}
	of := mysqlFamily("mysql", nil)
	of.tables = append(slices.Clone(of.tables), "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'", "SET PERSIST long_query_time = 7",
		"CREATE TABLE plumbtest.brief (i INT) ENGINE=MEMORY", "INSERT INTO plumbtest.brief VALUES (1)")
	of.start = func(t *testing.T, b *sandbox.Box, data, log string) (*sandbox.Server, error) {
		get := func() (sandbox.MySQLOptions, error) { return server(filepath.Dir(data) + "/space"), nil }
		return mysqlFamily("mysql", get).start(t, b, data, log)
	}
	return dialect{
		family:  of,
		ground:  ground{grounds[0].name, withSpace},
		product: "MySQL",
		status:  "SHOW BINARY LOG STATUS",
		follow:  "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'nobody'",
		follows: "SHOW REPLICA STATUS",
		ledger:  " DATA DIRECTORY = '{}/space'",
		// The copy that replays this loads no plugins by itself, and has nothing in the table in memory.
		later:   []string{"CREATE USER plumb@localhost IDENTIFIED WITH auth_socket", "INSERT INTO plumbtest.brief VALUES (2)"},
		none:    []string{"auto.cnf", "mysqld-auto.cnf"},
		read:    (*logged).readLog,
		looks:   (*logged).executed,
		started: func(root string) sandbox.MySQLOptions { return server(root + "/space") },
	}
}

// inPath makes programs of MySQL, which need a loader of their own, ones that a shell finds.
func inPath(t *testing.T, base string, loader []string) {
	t.Helper()
	dir := sandbox.Directory(t, "programs")
	must(t, os.Chmod(dir, 0o755))
	for name, at := range map[string]string{"mysqld": "/usr/sbin/mysqld \"$@\" --basedir=" + base + "/usr", "mysql": "/usr/bin/mysql \"$@\"", "mysqlbinlog": "/usr/bin/mysqlbinlog \"$@\""} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexec "+strings.Join(loader, " ")+" "+base+at+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// withSpace is a third dataset beside those for data and log.
func withSpace(t *testing.T, b *sandbox.Box, megabytes int) (pool *sandbox.Pool, data, log string) {
	t.Helper()
	pool, data, log = datasets(t, b, megabytes)
	_, err := pool.Dataset("db/space", "recordsize=16K")
	must(t, err)
	return pool, data, log
}

// readLog has MySQL's own program say in which order and under which names the rows of the book are in the log.
func (l *logged) readLog() {
	t := l.t
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(l.index()), "binlog.[0-9]*"))
	must(t, err)
	found := map[string]written{}
	for i, file := range files {
		out, err := exec.Command("mysqlbinlog", "--no-defaults", "--verbose", "--base64-output=DECODE-ROWS", file).Output()
		if err != nil && i < len(files)-1 { // the server was killed in the last
			t.Fatal(err)
		}
		var w written
		at := ""
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSpace(line)
			if place, is := strings.CutPrefix(line, "# at "); is {
				at = place
			} else if strings.Contains(line, "\tlast_committed=") {
				w = written{after: w.after + 1, moment: filepath.Base(file) + ":" + at}
			} else if gtid, is := strings.CutPrefix(line, "SET @@SESSION.GTID_NEXT= '"); is && strings.Contains(gtid, "-") {
				w.moment, _, _ = strings.Cut(gtid, "'")
			} else if what, is := strings.CutPrefix(line, "###   @1='"); is {
				what, _, _ = strings.Cut(what, "'")
				found[what] = written{after: uint64(i)<<32 + w.after, moment: w.moment}
			}
		}
	}
	for i := range l.book {
		w := &l.book[i]
		w.after, w.moment = found[w.what].after, found[w.what].moment
		if w.moment == "" {
			t.Fatalf("%s was committed, and is not in the log: %d files, with %d rows", w.what, len(files), len(found))
		}
	}
}

// executed wants that a server has the GTIDs of the rows that it has, and of no others.
func (l *logged) executed(s *sandbox.Server, there map[string]bool) {
	t := l.t
	t.Helper()
	var has, lacks []string
	for _, w := range l.book {
		switch {
		case !strings.Contains(w.moment, "-"):
		case there[w.what]:
			has = append(has, w.moment)
		default:
			lacks = append(lacks, w.moment)
		}
	}
	const query = "SELECT CONCAT(GTID_SUBTRACT('%[1]s', @@gtid_executed), ';', IF(GTID_SUBTRACT('%[2]s', @@gtid_executed) = GTID_SUBTRACT('%[2]s', ''), '', @@gtid_executed))"
	if wrong := cell(t, s, fmt.Sprintf(query, strings.Join(has, ","), strings.Join(lacks, ","))); wrong != ";" {
		t.Errorf("it lacks GTIDs of its rows; it has some of others: %s", wrong)
	}
}

const withGTIDs = "gtid_mode = ON\nenforce_gtid_consistency = ON\n"

// TestPointOfMySQLAtItsMoment brings one point to two moments: of a log in which transactions are compressed, and have GTIDs with tags.
func TestPointOfMySQLAtItsMoment(t *testing.T) {
	of := mySQL(t, withGTIDs+"binlog_transaction_compression = ON\n")
	of.session = []string{"SET SESSION gtid_next = 'AUTOMATIC:w%d'"}
	pointAtItsMoment(t, of)
}

// TestPointsOfMySQLToMoments brings two points to many moments, which are GTIDs, or places where there are none.
func TestPointsOfMySQLToMoments(t *testing.T) {
	for name, settings := range map[string]string{"GTIDs": withGTIDs, "anonymous": "gtid_mode = OFF\n"} {
		t.Run(name, func(t *testing.T) { pointsToMoments(t, mySQL(t, settings)) })
	}
}

// TestPointsOfMySQLThatAreRefused has points that are brought to none.
func TestPointsOfMySQLThatAreRefused(t *testing.T) { pointsThatAreRefused(t, mySQL(t, withGTIDs)) }

// TestPointOfMySQLWithKeys has a keyring: a point of it is restored as it is, and an encrypted log is not archived.
func TestPointOfMySQLWithKeys(t *testing.T) {
	of := mySQL(t, withGTIDs)
	base, loader, err := sandbox.MySQLUnpacked()
	must(t, err)
	of.start = func(t *testing.T, b *sandbox.Box, data, log string) (*sandbox.Server, error) {
		get := func() (sandbox.MySQLOptions, error) {
			keyed, plugins := keyring(t, b, base)
			return sandbox.MySQLOptions{Basedir: keyed, Loader: loader, Native: true, Settings: withGTIDs + "innodb_redo_log_capacity = 16M\ninnodb_directories = " + filepath.Dir(data) + "/space\nplugin_dir = " + plugins + "\n"}, nil
		}
		return mysqlFamily("mysql", get).start(t, b, data, log)
	}
	l := newLogged(t, of)
	l.point()
	must(t, l.b.server.Exec("INSERT INTO plumbtest.ledger VALUES ('0-1', '')"))
	l.isRefused("the server gets keys for encrypted tables from component_keyring_file")
	must(t, l.b.server.Exec("SET GLOBAL binlog_encryption = ON", "INSERT INTO plumbtest.ledger VALUES ('0-2', '')"))
	l.eventually("the service says why it archives nothing more", func() bool {
		said, err := os.ReadFile(filepath.Join(l.dir, "service.log"))
		return err == nil && strings.Contains(string(said), "it is encrypted")
	})
}

// keyring makes a tree whose server loads a keyring as it starts, by a file that is beside its program.
func keyring(t *testing.T, b *sandbox.Box, base string) (tree, plugins string) {
	t.Helper()
	keys, err := b.Mkdir("keys")
	must(t, err)
	tree = filepath.Join(b.Dir, "keyed")
	plugins = tree + "/plugins"
	must(t, os.MkdirAll(tree+"/usr/sbin", 0o755))
	must(t, os.Mkdir(plugins, 0o755))
	must(t, exec.Command("cp", base+"/usr/sbin/mysqld", tree+"/usr/sbin/mysqld").Run())
	for _, dir := range []string{"lib", "share"} {
		must(t, os.Symlink(base+"/usr/"+dir, tree+"/usr/"+dir))
	}
	for _, name := range []string{"component_keyring_file.so", "auth_socket.so"} {
		must(t, os.Symlink(base+"/usr/lib/mysql/plugin/"+name, plugins+"/"+name))
	}
	must(t, os.WriteFile(tree+"/usr/sbin/mysqld.my", []byte(`{"components": "file://component_keyring_file"}`), 0o644))
	must(t, os.WriteFile(plugins+"/component_keyring_file.cnf", []byte(`{"path": "`+keys+`/file", "read_only": false}`), 0o644))
	return tree, plugins
}
