package points

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plumb/internal/engine/mysql/binlog"
	"plumb/test/sandbox"
)

// dialect is what MariaDB and MySQL differ in.
type dialect struct {
	family
	ground
	product string   // as restore calls it
	status  string   // where the log stands
	follow  string   // follows somebody, which the restored one is not to do
	follows string   // whom it follows
	ledger  string   // where the table is, behind its columns; {} is the directory of the pool
	session []string // of each writer; %d is its number
	last    string   // the GTID of the last transaction of a session; "" where the log tells that afterwards
	later   []string // typed behind a point
	none    []string // files that are not to be in the restored data
	read    func(*logged)
	looks   func(l *logged, s *sandbox.Server, there map[string]bool)
	started func(root string) sandbox.MySQLOptions // the restored one, below a directory
}

// logged is a server on a pool, with its binary log on a dataset of its own, that is archived beside the backups of its points.
type logged struct {
	*archived
	of dialect
}

func newLogged(t *testing.T, of dialect) *logged {
	t.Helper()
	l := &logged{newSite(t), of}
	l.b = on(t, of.ground, of.family, 1024)
	l.runsAs(l.b.box)
	must(t, l.b.server.Exec("CREATE TABLE plumbtest.ledger (what VARCHAR(40) PRIMARY KEY, pad MEDIUMTEXT) ENGINE=InnoDB"+strings.ReplaceAll(of.ledger, "{}", filepath.Dir(l.b.server.Dir)), of.follow))
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

// writing has three write until it is ended.
func (l *logged) writing() (end func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var writers sync.WaitGroup
	for who := range 3 {
		writers.Go(func() { l.write(ctx, who) })
	}
	end = sync.OnceFunc(func() { cancel(); writers.Wait() })
	l.t.Cleanup(end)
	return end
}

// write commits until the context ends, or the server does. Some of the transactions are written to the log in several parts, so that a
// snapshot can have the first of them alone.
func (l *logged) write(ctx context.Context, who int) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	for _, q := range l.of.session {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf(q, who)); err != nil {
			l.t.Error(err)
		}
	}
	for n := 1; ; n++ {
		w := written{what: fmt.Sprintf("%d-%d", who, n), began: time.Now()}
		if _, err := conn.ExecContext(ctx, "INSERT INTO plumbtest.ledger VALUES (?, REPEAT('x', ?))", w.what, 500+who*30_000); err != nil {
			return
		}
		w.at = time.Now()
		if l.of.last != "" {
			if conn.QueryRowContext(ctx, l.of.last).Scan(&w.moment) != nil {
				return
			}
			_, _ = fmt.Sscan(w.moment[strings.LastIndexByte(w.moment, '-')+1:], &w.after)
		}
		l.mu.Lock()
		l.book = append(l.book, w)
		l.mu.Unlock()
	}
}

// stands tells where the log stands.
func (l *logged) stands() (file string, at int64) {
	l.t.Helper()
	rows, err := l.db.Query(l.of.status)
	must(l.t, err)
	defer rows.Close()
	names, err := rows.Columns()
	must(l.t, err)
	values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if !rows.Next() {
		l.t.Fatal("there is no binary log")
	}
	must(l.t, rows.Scan(into...))
	at, err = strconv.ParseInt(string(values[1]), 10, 64)
	must(l.t, err)
	return string(values[0]), at
}

// kept waits until all that was written up to now is in the archive.
func (l *logged) kept() {
	l.t.Helper()
	file, at := l.stands()
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
	says(l.t, out, "start a server of "+l.of.product, "zfs set canmount=on "+dataset+"/data; zfs set canmount=on "+dataset+"/log")
	var doc struct{ Directory string }
	document(l.t, out, &doc)
	return l.looked(dataset, doc.Directory, to)
}

// looked starts the server that was restored, and gives what is in its ledger.
func (l *logged) looked(dataset, data, to string) (there map[string]bool) {
	t := l.t
	t.Helper()
	root := strings.TrimSuffix(data, l.b.server.Dir)
	none := []string{root + "/.plumb-restore", filepath.Join(root, filepath.Dir(l.index()), "binlog.*")}
	for _, file := range l.of.none {
		none = append(none, filepath.Join(data, file))
	}
	for _, file := range none {
		if left, _ := filepath.Glob(file); len(left) > 0 {
			t.Errorf("at %s there is %q", to, left)
		}
	}
	o := l.of.started(root + filepath.Dir(l.b.server.Dir))
	o.Name, o.Datadir = "restored", data
	o.Settings += "log_bin = binlog\nserver_id = 8"
	s, err := l.b.box.MySQL(o)
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
	if follows := cell(t, s, l.of.follows); !strings.Contains(follows, "no rows") {
		t.Errorf("at %s it follows somebody: %s", to, follows)
	}
	if wrong := cell(t, s, "SELECT COUNT(*) FROM plumbtest.ledger WHERE LENGTH(pad) <> 500 + SUBSTRING_INDEX(what, '-', 1) * 30000"); wrong != "0" {
		t.Errorf("at %s %s rows are not what was written", to, wrong)
	}
	if l.of.looks != nil {
		l.of.looks(l, s, there)
	}
	must(t, s.Stop())
	l.away(dataset)
	return there
}

// upTo brings a backup to just before a transaction.
func (l *logged) upTo(w written, more ...string) {
	l.t.Helper()
	l.agrees(w.moment, l.restored(w.moment, more...), func(o written) (before, behind bool) { return o.after < w.after, o.after >= w.after })
}

// die kills the server under its writers, and has its log read where that alone tells what comes behind what.
func (l *logged) die(end func()) {
	l.t.Helper()
	must(l.t, syscall.Kill(l.b.server.PID, syscall.SIGKILL))
	l.eventually("the server is gone", func() bool { return syscall.Kill(l.b.server.PID, 0) != nil })
	end()
	_ = l.db.Close() // whose server is gone
	if l.of.read != nil {
		l.of.read(l)
	}
}

// pointAtItsMoment takes a point without a lock under load, loses the server, and brings the point to a transaction, and, killed amid that,
// to the end.
func pointAtItsMoment(t *testing.T, of dialect) {
	l := newLogged(t, of)
	must(t, l.b.server.Exec("SET GLOBAL sync_binlog = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 2")) // a snapshot has all that was written, synced or not
	end := l.writing()
	l.more(60)
	l.point()
	must(t, l.b.server.Exec(of.later...))
	l.more(20)
	next := l.count()
	l.more(20)
	end()
	must(t, l.b.server.Exec("INSERT INTO plumbtest.ledger VALUES ('0-last', REPEAT('x', 500))"))
	l.kept()
	l.die(end)
	l.lose()

	l.upTo(l.book[next])
	dataset, data := l.interrupted(".plumb-restore/run/mysqld.sock", "mark")
	there := l.looked(dataset, data, "latest, the third time")
	if !there["0-last"] {
		t.Error("the last row is not there")
	}
	l.agrees("latest", there, func(written) (before, behind bool) { return true, false })
}

// pointsToMoments backs up two points of a server under load, the first taken with a lock, loses the server with its pool, and brings what
// was backed up to moments that the writers know all about.
func pointsToMoments(t *testing.T, of dialect) {
	sandbox.NeedTime(t, "six servers are restored: make test-real")
	l := newLogged(t, of)
	end := l.writing()
	l.more(50)
	first := l.point("--mode", "locked")
	l.more(50)
	middle, amid := l.count(), time.Now()
	l.more(50)
	early := time.Now()
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
	l.die(end)
	l.lose()

	between := l.book[middle]
	l.refused(first, second, between.moment)
	for range count(t, "PLUMB_MOMENTS", 10, 1) {
		l.upTo(l.book[from+rand.IntN(40)])
	}
	l.upTo(between, first)
	when := at.UTC().Format("2006-01-02 15:04:05 MST")
	l.agrees(when, l.restored(when, "--log", "mysql"), func(w written) (before, behind bool) { return w.at.Before(at), w.began.After(at) })
	l.agrees("latest", l.restored("latest"), func(w written) (before, behind bool) { return w.at.Before(at), false })
	l.agrees("base", l.restored("base"), func(w written) (before, behind bool) { return w.at.Before(early), false })
	l.agrees("base", l.restored("base", first), func(w written) (before, behind bool) { return false, w.began.After(amid) })
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
	if strings.HasPrefix(between, "binlog.") {
		nothing(3, between, between+" is before the point")
	} else {
		nothing(3, between, "find the way from binlog.")
	}
	nothing(0, between, "would be brought to", first, "--dry-run")
	nothing(2, "0/10", "is a position in the WAL of PostgreSQL")
	nothing(3, "latest", "the archive has no binary log other", "--log", "other")
	says(t, l.v.typed(3, append([]string{"restore", second, "--dir", l.dir + "/no", "--user", l.user, "--to", "latest"}, l.from...)...), "is of a point, and no base backup")
	l.away(dataset)
}

// isRefused wants that the newest point is not brought to the end, and stays as it is for who wants it so.
func (l *logged) isRefused(want ...string) {
	l.t.Helper()
	l.kept()
	dataset, _ := l.into()
	says(l.t, l.v.typed(3, l.typing(dataset, "latest")...), want...)
	l.v.typed(0, append([]string{"restore", "--into", dataset}, l.from...)...)
	l.away(dataset)
}

// pointsThatAreRefused has points in which something is that the log does not decide about, or that is not of its moment.
func pointsThatAreRefused(t *testing.T, of dialect) {
	sandbox.NeedTime(t, "several points are restored: make test-real")
	l := newLogged(t, of)
	conn, err := l.db.Conn(t.Context())
	must(t, err)
	for _, q := range []string{"XA START 'x'", "INSERT INTO plumbtest.ledger VALUES ('0-x', '')", "XA END 'x'", "XA PREPARE 'x'"} {
		_, err := conn.ExecContext(t.Context(), q)
		must(t, err)
	}
	l.point("--mode", "crash")
	l.isRefused("it has 1 prepared XA transaction", "without --to it is restored as it is")
	_, err = conn.ExecContext(t.Context(), "XA ROLLBACK 'x'")
	must(t, err)
	must(t, l.b.server.Exec("CREATE TABLE plumbtest.old (i INT) ENGINE=MyISAM", "INSERT INTO plumbtest.old VALUES (1)"))
	l.point("--mode", "freeze")
	l.isRefused("it was taken without a lock", "1 of MyISAM (plumbtest.old)", "plumb snapshot --mode locked")
	l.point("--mode", "locked")
	must(t, l.b.server.Exec("INSERT INTO plumbtest.ledger VALUES ('0-1', REPEAT('x', 500))"))
	l.kept()
	if there := l.restored("latest"); len(there) != 1 || !there["0-1"] {
		t.Errorf("under a lock a table of MyISAM does no harm: there is %v", there)
	}
	must(t, l.b.server.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 0"))
	l.point("--mode", "freeze")
	l.isRefused("innodb_flush_log_at_trx_commit", "plumb snapshot --mode locked")
	must(t, l.b.server.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "DROP TABLE plumbtest.old"))
	l.point()
	file, _ := l.stands()
	_, n := binlog.Number(file)
	must(t, l.b.server.Exec("FLUSH BINARY LOGS", "INSERT INTO plumbtest.ledger VALUES ('0-2', '')", "FLUSH BINARY LOGS", "INSERT INTO plumbtest.ledger VALUES ('0-3', '')"))
	l.kept()
	gone, _ := filepath.Glob(fmt.Sprintf("%s/store/archive/mysql/[0-9]*/binlog.%06d", l.dir, n+1))
	if len(gone) != 1 {
		t.Fatalf("%q", gone)
	}
	must(t, os.RemoveAll(gone[0]))
	l.isRefused("there is a gap")
}
