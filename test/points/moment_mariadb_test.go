package points

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plumb/internal/engine/mysql/binlog"
	"plumb/test/sandbox"
)

// logged is a MariaDB on a pool, with its binary log on a dataset of its own, that is archived beside the backups of its points.
type logged struct{ *archived }

func newLogged(t *testing.T, settings string) *logged {
	t.Helper()
	l := &logged{newSite(t)}
	l.b = on(t, grounds[0], mysqlFamily("mariadb", func() (sandbox.MySQLOptions, error) {
		return sandbox.MySQLOptions{Settings: "innodb_log_file_size = 16M\nbinlog_format = ROW\nmax_binlog_size = 1M\nlog_slave_updates = ON\n" + settings}, nil
	}), 1024)
	l.runsAs(l.b.box)
	must(t, l.b.server.Exec("CREATE TABLE plumbtest.ledger (what VARCHAR(40) PRIMARY KEY, pad MEDIUMTEXT) ENGINE=InnoDB",
		"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'")) // which the restored one is not to do
	var err error
	l.db, err = l.b.server.Open()
	must(t, err)
	t.Cleanup(func() { _ = l.db.Close() })
	l.other, err = l.b.box.ZFSFuse(1024)
	must(t, err)
	l.serve(append([]string{"archive", "run", "--state", l.v.state, "--socket", filepath.Join(l.dir, "socket/s"), "--timeout", "20s", "--binlog-index", l.index(), "--binlog-user", l.user, "--interval", "1s"}, l.to...))
	return l
}

// index is the file that lists the server's logs.
func (l *logged) index() string {
	return filepath.Join(filepath.Dir(l.b.server.Dir), "log/binlog.index")
}

// write commits until the context ends, or the server does. Some of the transactions are written to the log in several parts, so that a
// snapshot can have the first of them alone.
func (l *logged) write(ctx context.Context, who int) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	for n := 1; ; n++ {
		w := written{what: fmt.Sprintf("%d-%d", who, n), began: time.Now()}
		if _, err := conn.ExecContext(ctx, "INSERT INTO plumbtest.ledger VALUES (?, REPEAT('x', ?))", w.what, 500+who*30_000); err != nil {
			return
		}
		gtid := ""
		w.at = time.Now()
		if conn.QueryRowContext(ctx, "SELECT @@last_gtid").Scan(&gtid) != nil {
			return
		}
		w.after = number(gtid)
		l.mu.Lock()
		l.book = append(l.book, w)
		l.mu.Unlock()
	}
}

// number is that of a GTID.
func number(gtid string) (n uint64) {
	_, _ = fmt.Sscan(gtid[strings.LastIndexByte(gtid, '-')+1:], &n)
	return n
}

// next is the GTID behind the last one that was committed.
func (l *logged) next() string {
	l.t.Helper()
	return fmt.Sprintf("0-7-%d", number(l.ask("SELECT @@gtid_binlog_pos"))+1)
}

// kept waits until all that was written up to now is in the archive.
func (l *logged) kept() {
	l.t.Helper()
	var file, rest string
	var at int64
	must(l.t, l.db.QueryRow("SHOW MASTER STATUS").Scan(&file, &at, &rest, &rest))
	l.eventually(fmt.Sprintf("the archive has %s up to %d", file, at), func() bool {
		files, _ := filepath.Glob(l.dir + "/store/archive/mysql/[0-9]*/*/*/entry")
		return slices.ContainsFunc(files, func(name string) bool {
			var from, to int64
			_, _ = fmt.Sscanf(filepath.Base(filepath.Dir(name)), "%d-%d", &from, &to)
			of := filepath.Base(filepath.Dir(filepath.Dir(name)))
			return of > file || of == file && to >= at
		})
	})
}

// restored brings the newest backup, or the one that is named, to a moment, has a look at the server that starts there, and takes it all away.
func (l *logged) restored(to string, more ...string) (there map[string]bool) {
	l.t.Helper()
	dataset, _ := l.into()
	out := l.v.typed(0, l.typing(dataset, to, append(more, "--json")...)...)
	says(l.t, out, "start a server of MariaDB", "zfs set canmount=on "+dataset+"/data; zfs set canmount=on "+dataset+"/log")
	var doc struct{ Directory string }
	document(l.t, out, &doc)
	return l.looked(dataset, doc.Directory, to)
}

// looked starts the server that was restored, and gives what is in its ledger.
func (l *logged) looked(dataset, data, to string) (there map[string]bool) {
	t := l.t
	t.Helper()
	root := strings.TrimSuffix(data, l.b.server.Dir)
	for _, none := range []string{root + "/.plumb-restore", data + "/master.info", filepath.Join(root, filepath.Dir(l.index()), "binlog.*")} {
		if left, _ := filepath.Glob(none); len(left) > 0 {
			t.Errorf("at %s there is %q", to, left)
		}
	}
	s, err := l.b.box.MySQL(sandbox.MySQLOptions{Name: "restored", Datadir: data, Settings: "log_bin = binlog\nserver_id = 8"})
	must(t, err)
	there = map[string]bool{}
	db, err := s.Open()
	must(t, err)
	rows, err := db.Query("SELECT what FROM plumbtest.ledger")
	must(t, err)
	for rows.Next() {
		var what string
		must(t, rows.Scan(&what))
		there[what] = true
	}
	must(t, rows.Err())
	_ = db.Close()
	if follows := cell(t, s, "SHOW ALL SLAVES STATUS"); !strings.Contains(follows, "no rows") {
		t.Errorf("at %s it follows somebody: %s", to, follows)
	}
	if wrong := cell(t, s, "SELECT COUNT(*) FROM plumbtest.ledger WHERE LENGTH(pad) <> 500 + SUBSTRING_INDEX(what, '-', 1) * 30000"); wrong != "0" {
		t.Errorf("at %s %s rows are not what was written", to, wrong)
	}
	must(t, s.Stop())
	l.away(dataset)
	return there
}

// atGTID brings a backup to just before a transaction.
func (l *logged) atGTID(to string, more ...string) {
	l.t.Helper()
	l.agrees(to, l.restored(to, more...), func(w written) (before, behind bool) { return w.after < number(to), w.after >= number(to) })
}

// die kills the server, and loses its pool.
func (l *logged) die() {
	l.t.Helper()
	must(l.t, syscall.Kill(l.b.server.PID, syscall.SIGKILL))
	l.eventually("the server is gone", func() bool { return syscall.Kill(l.b.server.PID, 0) != nil })
}

// TestPointOfMariaDBAtItsMoment takes a point without a lock under load, loses the server, and brings the point to a transaction, and, killed
// amid that, to the end.
func TestPointOfMariaDBAtItsMoment(t *testing.T) {
	l := newLogged(t, "")
	must(t, l.b.server.Exec("SET GLOBAL sync_binlog = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 2")) // a snapshot has all that was written, synced or not
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() { l.write(ctx, w) })
	}
	l.more(60)
	l.point()
	l.more(20)
	gtid := l.next()
	l.more(20)
	end()
	writers.Wait()
	must(t, l.b.server.Exec("INSERT INTO plumbtest.ledger VALUES ('0-last', REPEAT('x', 500))"))
	l.kept()
	must(t, l.db.Close())
	l.die()
	l.lose()

	l.atGTID(gtid)
	dataset, data := l.interrupted(".plumb-restore/run/mysqld.sock", "mark")
	there := l.looked(dataset, data, "latest, the third time")
	if !there["0-last"] {
		t.Error("the last row is not there")
	}
	l.agrees("latest", there, func(written) (before, behind bool) { return true, false })
}

// TestPointsOfMariaDBToMoments backs up two points of a server under load, the first taken with a lock, loses the server with its pool, and
// brings what was backed up to moments that the writers know all about.
func TestPointsOfMariaDBToMoments(t *testing.T) {
	sandbox.NeedTime(t, "six servers are restored: make test-real")
	l := newLogged(t, "")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() { l.write(ctx, w) })
	}
	l.more(50)
	first := l.point("--mode", "locked")
	l.more(50)
	between := l.next()
	l.more(50)
	early := l.next()
	second := l.point()
	l.more(50)
	from := l.count()
	l.more(50)
	l.kept()
	at := time.Now().Truncate(time.Second).Add(time.Second)
	l.eventually("a second has gone by", func() bool { return time.Since(at) > time.Second })
	l.more(50)
	l.kept()
	l.more(rand.IntN(100))
	l.die()
	end()
	writers.Wait()
	_ = l.db.Close() // whose server is gone
	l.lose()

	l.refused(first, second, between)
	for range count(t, "PLUMB_MOMENTS", 10, 1) {
		l.atGTID(fmt.Sprintf("0-7-%d", l.book[from+rand.IntN(40)].after))
	}
	l.atGTID(between, first)
	when := at.UTC().Format("2006-01-02 15:04:05 MST")
	l.agrees(when, l.restored(when, "--log", "mysql"), func(w written) (before, behind bool) { return w.at.Before(at), w.began.After(at) })
	l.agrees("latest", l.restored("latest"), func(w written) (before, behind bool) { return w.at.Before(at), false })
	l.agrees("base", l.restored("base"), func(w written) (before, behind bool) { return w.after < number(early), false })
	l.agrees("base", l.restored("base", first), func(w written) (before, behind bool) { return false, w.after >= number(between) })
}

// refused are moments to which no way leads from a point: nothing is made for them, but where the restored files alone tell it.
func (l *logged) refused(first, second, between string) {
	t := l.t
	t.Helper()
	dataset, _ := l.into()
	nothing := func(code int, to, want string, more ...string) {
		t.Helper()
		says(t, l.v.typed(code, l.typing(dataset, to, more...)...), want)
		if left := shell(t, "zfs list -H -r -o name "+dataset); strings.TrimSpace(left) != dataset {
			t.Errorf("at %s there is\n%s", to, left)
		}
	}
	nothing(3, "2020-01-01 00:00:00 UTC", "is before the point")
	nothing(3, "2020-01-01 00:00:00 UTC", "the earliest moment that can be reached from the backups here is")
	nothing(3, "binlog.000001:4", "binlog.000001:4 is before the point", first)
	nothing(3, between, "find the way from binlog.")
	nothing(0, between, "would be brought to", first, "--dry-run")
	nothing(2, "0/10", "is a position in the WAL of PostgreSQL")
	nothing(3, "latest", "the archive has no binary log other", "--log", "other")
	says(t, l.v.typed(3, append([]string{"restore", second, "--dir", l.dir + "/no", "--user", l.user, "--to", "latest"}, l.from...)...), "is of a point, and no base backup")
	l.away(dataset)
}

// TestPointsOfMariaDBThatAreRefused has points in which something is that the log does not decide about, or that is not of its moment: they are
// refused, and what was restored stays as it is for who wants it so.
func TestPointsOfMariaDBThatAreRefused(t *testing.T) {
	sandbox.NeedTime(t, "several points are restored: make test-real")
	l := newLogged(t, "")
	refused := func(want ...string) {
		t.Helper()
		l.kept()
		dataset, _ := l.into()
		says(t, l.v.typed(3, l.typing(dataset, "latest")...), want...)
		l.v.typed(0, append([]string{"restore", "--into", dataset}, l.from...)...)
		l.away(dataset)
	}
	conn, err := l.db.Conn(t.Context())
	must(t, err)
	for _, q := range []string{"XA START 'x'", "INSERT INTO plumbtest.ledger VALUES ('0-x', '')", "XA END 'x'", "XA PREPARE 'x'"} {
		_, err := conn.ExecContext(t.Context(), q)
		must(t, err)
	}
	l.point("--mode", "crash")
	refused("it has 1 prepared XA transaction", "without --to it is restored as it is")
	_, err = conn.ExecContext(t.Context(), "XA ROLLBACK 'x'")
	must(t, err)
	must(t, l.b.server.Exec("CREATE TABLE plumbtest.old (i INT) ENGINE=MyISAM", "INSERT INTO plumbtest.old VALUES (1)"))
	l.point("--mode", "freeze")
	refused("it was taken without a lock", "1 of MyISAM (plumbtest.old)", "plumb snapshot --mode locked")
	l.point("--mode", "locked")
	must(t, l.b.server.Exec("INSERT INTO plumbtest.ledger VALUES ('0-1', REPEAT('x', 500))"))
	l.kept()
	l.agrees("latest", l.restored("latest"), func(written) (before, behind bool) { return true, false })
	must(t, l.b.server.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 0"))
	l.point("--mode", "freeze")
	refused("innodb_flush_log_at_trx_commit", "plumb snapshot --mode locked")
	must(t, l.b.server.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "DROP TABLE plumbtest.old"))
	l.point()
	var file, rest string
	must(t, l.db.QueryRow("SHOW MASTER STATUS").Scan(&file, &rest, &rest, &rest))
	_, n := binlog.Number(file)
	must(t, l.b.server.Exec("FLUSH BINARY LOGS", "INSERT INTO plumbtest.ledger VALUES ('0-2', '')", "FLUSH BINARY LOGS", "INSERT INTO plumbtest.ledger VALUES ('0-3', '')"))
	l.kept()
	gone, _ := filepath.Glob(fmt.Sprintf("%s/store/archive/mysql/[0-9]*/binlog.%06d", l.dir, n+1))
	if len(gone) != 1 {
		t.Fatalf("%q", gone)
	}
	must(t, os.RemoveAll(gone[0]))
	refused("there is a gap")
}
