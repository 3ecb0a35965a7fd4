package archive

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// maria is a real MariaDB whose binary log is followed.
type maria struct {
	*site
	server *sandbox.Server
	db     *sql.DB
}

func newMaria(t *testing.T) *maria {
	t.Helper()
	return newSite(t).maria()
}

func (s *site) maria() *maria {
	t := s.t
	t.Helper()
	m := &maria{site: s}
	if _, err := exec.LookPath("mariadb-backup"); err != nil {
		sandbox.Need(t, sandbox.Missing{What: "no mariadb-backup", Hint: "apt-get install mariadb-backup"})
	}
	var err error
	m.server, err = m.box.MySQL(sandbox.MySQLOptions{Settings: "log_bin = binlog\nserver_id = 7\nmax_binlog_size = 1M\ninnodb_flush_log_at_trx_commit = 2"})
	sandbox.Need(t, err)
	m.db, err = m.server.Open()
	must(t, err)
	t.Cleanup(func() { _ = m.db.Close() })
	m.follow()
	return m
}

// follow starts the service.
func (m *maria) follow() {
	m.t.Helper()
	m.serve("--binlog-index", filepath.Join(m.server.Dir, "binlog.index"), "--binlog-user", m.user)
}

// baseLine is what gives a base.
func (m *maria) baseLine() string {
	return fmt.Sprintf("mariadb-backup --no-defaults --backup --stream=mbstream --user=root --socket=%s --datadir=%s --target-dir=%s", m.server.Socket, m.server.Dir, m.t.TempDir())
}

func (m *maria) base() {
	m.t.Helper()
	m.plumb(0, "backup", "--command", m.baseLine(), "--to", m.url, "--recipient", m.recipient, "--state", m.state)
}

// archived waits until all that was written up to now is in the archive.
func (m *maria) archived() {
	m.t.Helper()
	var file, rest string
	var at int64
	must(m.t, m.db.QueryRow("SHOW MASTER STATUS").Scan(&file, &at, &rest, &rest))
	m.eventually(fmt.Sprintf("the archive has %s up to %d", file, at), func() bool {
		series, _ := filepath.Glob(m.store + "/archive/mysql/[0-9]*") // and not where the log begins
		if len(series) == 0 {
			return false
		}
		files, _ := filepath.Glob(slices.Max(series) + "/*/*/entry") // an earlier series may have later files
		for _, name := range files {
			var from, to int64
			_, _ = fmt.Sscanf(filepath.Base(filepath.Dir(name)), "%d-%d", &from, &to)
			if of := filepath.Base(filepath.Dir(filepath.Dir(name))); of > file || of == file && to >= at {
				return true
			}
		}
		return false
	})
}

// rows gives what a restored directory has, and lets others look while its server runs.
func (m *maria) rows(dir, query string, look ...func(*sandbox.Server)) (out string) {
	m.t.Helper()
	s, err := m.box.MySQL(sandbox.MySQLOptions{Name: "restored", Datadir: dir, Settings: "log_bin = binlog\nserver_id = 8"})
	must(m.t, err)
	db, err := s.Open()
	must(m.t, err)
	conn, err := db.Conn(m.t.Context())
	must(m.t, err)
	_, err = conn.ExecContext(m.t.Context(), "SET SESSION group_concat_max_len = 100000000")
	must(m.t, err)
	must(m.t, conn.QueryRowContext(m.t.Context(), query).Scan(&out))
	_, _ = conn.Close(), db.Close()
	for _, one := range look {
		one(s)
	}
	must(m.t, s.Stop())
	return out
}

// write commits until the context ends or the server is gone, and notes what was acknowledged.
func (m *maria) write(ctx context.Context, l *ledger, writer int) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	for n := 1; ; n++ {
		began := time.Now()
		if _, err := conn.ExecContext(ctx, "INSERT INTO test.ledger VALUES (?, ?, REPEAT('x', 500))", writer, n); err != nil {
			return
		}
		at, gtid := time.Now(), ""
		if conn.QueryRowContext(ctx, "SELECT @@last_gtid").Scan(&gtid) != nil {
			return
		}
		l.note(commit{writer: writer, n: n, began: began, at: at, gtid: gtid})
	}
}

// next is the GTID behind the last one that was committed.
func (m *maria) next() (gtid string) {
	m.t.Helper()
	must(m.t, m.db.QueryRow("SELECT @@gtid_binlog_pos").Scan(&gtid))
	return fmt.Sprintf("%s-%d", gtid[:strings.LastIndexByte(gtid, '-')], number(gtid)+1)
}

func number(gtid string) (n uint64) {
	_, _ = fmt.Sscanf(gtid[strings.LastIndexByte(gtid, '-')+1:], "%d", &n)
	return n
}

// TestMariaDBToRandomMoments has four writers commit, takes a base amid that, kills the service once and the server in the end,
// removes all that it had, and restores it to moments of which the writers know what was committed before.
func TestMariaDBToRandomMoments(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.ledger (w INT, n INT, pad TEXT, PRIMARY KEY (w, n)) ENGINE=InnoDB"))
	var l ledger
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { m.write(ctx, &l, w) })
	}
	m.eventually("something was committed", func() bool { return l.count() > 200 })
	load := m.load(m.server, "test")
	m.base()
	from, based := l.count(), time.Now()
	load.markedFor(&l, m.next)
	m.eventually("more was committed", func() bool { return l.count() > from+1000 })
	m.kill()
	m.eventually("more was committed while nobody archived", func() bool { return l.count() > from+3000 })
	m.follow()
	at := based.Truncate(time.Second).Add(2 * time.Second)
	m.eventually("more was committed", func() bool { return l.count() > from+6000 && time.Since(at) > 2*time.Second })
	m.archived()
	more := time.Now().Add(time.Duration(rand.IntN(8000)) * time.Millisecond)
	m.eventually("more was committed, for any while", func() bool { return time.Now().After(more) && l.count() > from+7000 })
	must(t, syscall.Kill(m.server.PID, syscall.SIGKILL))
	died := time.Now()
	end()
	load.end()
	writers.Wait()
	m.eventually("the server is gone", func() bool { return syscall.Kill(m.server.PID, 0) != nil })
	m.end()
	must(t, os.RemoveAll(m.server.Dir))

	dir := filepath.Join(m.dir, "restored")
	picks := load.moments(func() string { return l.commits[from+rand.IntN(5000)].gtid })
	picks = append(picks, moment{to: "latest"}, moment{to: at.UTC().Format("2006-01-02 15:04:05 MST")})
	for _, pick := range picks {
		to := pick.to
		says(t, m.restore(0, dir, "--to", to), "Restored backup", "transactions after the base")
		there := rowsOf(m.rows(dir, "SELECT COALESCE(GROUP_CONCAT(w, '-', n SEPARATOR ' '), '') FROM test.ledger", func(s *sandbox.Server) {
			if pick.mark != nil {
				pick.mark.verified(t, s, "test")
			}
		}))
		switch {
		case to == "latest":
			l.lost(t, there, died)
		case strings.Contains(to, ":"):
			l.agreesAt(t, at, there) // the log tells when statements began
		default:
			l.agrees(t, to, there, func(c commit) (before, behind bool) { return number(c.gtid) < number(to), number(c.gtid) >= number(to) })
		}
		must(t, os.RemoveAll(dir))
	}
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestMariaDBLogBreaks resets the log, and purges what was not archived: both are said, and a way that would lead over the
// break is refused before anything is written.
func TestMariaDBLogBreaks(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB"))
	m.base()
	must(t, m.server.Exec("INSERT INTO test.t VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO test.t VALUES (2)"))
	m.archived()
	series := func() int {
		all, _ := filepath.Glob(m.store + "/archive/mysql/[0-9]*") // and not where the log begins
		return len(all)
	}
	if n := series(); n != 1 {
		t.Fatalf("%d series", n)
	}
	m.plumb(0, "archive", "status", "--state", m.state)
	must(t, m.server.Exec("RESET MASTER", "INSERT INTO test.t VALUES (3)"))
	m.eventually("a new series begins", func() bool { return series() == 2 })
	m.eventually("it is said", func() bool { return strings.Contains(m.said(), "the log broke off") })
	says(t, m.plumb(1, "archive", "status", "--state", m.state), "the log broke off")
	m.archived()
	m.end()
	must(t, m.server.Exec("FLUSH BINARY LOGS", "INSERT INTO test.t VALUES (4)", "FLUSH BINARY LOGS", "INSERT INTO test.t VALUES (5)"))
	m.eventually("the log is purged", func() bool { // the server keeps what it may need after a crash
		must(t, m.server.Exec("PURGE BINARY LOGS TO 'binlog.000003'"))
		_, err := os.Stat(filepath.Join(m.server.Dir, "binlog.000001"))
		return os.IsNotExist(err)
	})
	m.follow()
	m.eventually("another begins", func() bool { return series() == 3 })
	m.eventually("it is said", func() bool { return strings.Contains(m.said(), "the server no longer has binlog.000001") })

	dir := filepath.Join(m.dir, "restored")
	says(t, m.restore(0, dir, "--to", "latest"), "Restored backup", "the log broke off after binlog.000002:")
	if got := m.rows(dir, "SELECT GROUP_CONCAT(i) FROM test.t"); got != "1,2" {
		t.Errorf("before the break there were 1,2, and there are %s", got)
	}
	must(t, os.RemoveAll(dir))
	nothing := func(to string, want ...string) {
		t.Helper()
		says(t, m.restore(3, dir, "--to", to), want...)
		if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	nothing("0-7-999", "no transaction after the point has that GTID", "hint: the last one in the log: 0-7-")
	pieces, err := filepath.Glob(firstSeries(t, m.store) + "/binlog.000001/*")
	must(t, err)
	var gone string
	for _, name := range pieces {
		if !strings.Contains(name, "/0000000000000000-") {
			gone = name
		}
	}
	if gone == "" {
		t.Skip("the first file is one piece")
	}
	must(t, os.Rename(gone, m.dir+"/aside"))
	nothing("latest", "there is a gap: what comes after binlog.000001:")
	says(t, m.plumb(0, "archive", "list", "--from", m.url, "--state", m.state), "mysql")
	m.breaksStay("the server no longer has binlog.000002", "the server no longer has binlog.000001")
}

// breaksStay starts the service again, which still says why the log broke off, and no more when there is a newer base.
func (m *maria) breaksStay(why ...string) {
	m.t.Helper()
	status := []string{"archive", "status", "--state", m.state}
	again := func() {
		m.end()
		m.mu.Lock()
		m.told.Reset()
		m.mu.Unlock()
		m.follow()
		m.eventually("the log is looked at", func() bool {
			out, _ := exec.Command(built.Path, status...).CombinedOutput()
			return strings.Contains(strings.Join(strings.Fields(string(out)), " "), "all that was written until")
		})
	}
	again()
	says(m.t, m.plumb(1, status...), why...)
	time.Sleep(1100 * time.Millisecond) // a base tells in whole seconds when it began
	m.base()
	again()
	if out := m.plumb(0, status...); strings.Contains(out, "broke off") {
		m.t.Errorf("behind a newer base: %s", out)
	}
}

// TestMariaDBBaseOfAnotherLog resets the log of a server that has committed nothing, behind a base of it: what is archived then has the
// same names and places, and there is no GTID. That is refused, unless a person says that it is the log of the base.
func TestMariaDBBaseOfAnotherLog(t *testing.T) {
	m := newMaria(t)
	m.end()
	must(t, os.RemoveAll(m.store+"/archive"))
	must(t, m.server.Exec("RESET MASTER"))
	m.base()
	time.Sleep(1100 * time.Millisecond) // a log tells in whole seconds when it began
	must(t, m.server.Exec("RESET MASTER"))
	m.follow()
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO test.t VALUES (1)"))
	m.archived()
	dir := filepath.Join(m.dir, "restored")
	series := "mysql/" + filepath.Base(firstSeries(t, m.store))
	says(t, m.restore(3, dir, "--to", "latest"), "binlog.000001 of the series "+filepath.Base(series)+": it is another log", "--log "+series)
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	says(t, m.restore(0, dir, "--to", "latest", "--log", series), "Restored backup")
	if got := m.rows(dir, "SELECT GROUP_CONCAT(i) FROM test.t"); got != "1" {
		t.Errorf("there are %s", got)
	}
}

func firstSeries(t *testing.T, store string) string {
	t.Helper()
	all, err := filepath.Glob(store + "/archive/mysql/[0-9]*")
	must(t, err)
	return all[0]
}

// TestRestoreKilled kills a restore while its server replays the log. The next one takes away what it left, and ends.
func TestRestoreKilled(t *testing.T) {
	m := newMaria(t)
	must(t, m.server.Exec("CREATE DATABASE IF NOT EXISTS test", "CREATE TABLE test.t (i INT PRIMARY KEY) ENGINE=InnoDB"))
	m.base()
	must(t, m.server.Exec("INSERT INTO test.t VALUES (1)"))
	m.archived()
	dir := filepath.Join(m.dir, "restored")
	run := filepath.Join(dir+".plumb-restore", "run")
	killed := func() (pid string) {
		cmd := exec.Command(built.Path, "restore", "--from", m.url, "--identity", m.key, "--state", m.state, "--user", m.user, "--dir", dir, "--to", "latest")
		must(t, cmd.Start())
		m.eventually("a server replays", func() bool {
			text, err := os.ReadFile(filepath.Join(run, "pid"))
			pid = strings.TrimSpace(string(text))
			_, through := os.Stat(dir)
			return err == nil && pid != "" || through == nil
		})
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		return pid
	}
	pid := killed()
	for range 10 { // it was through before it was killed
		if _, err := os.Stat(dir); err != nil {
			break
		}
		must(t, os.RemoveAll(dir))
		pid = killed()
	}
	says(t, m.restore(0, dir, "--to", "latest"), "Restored backup")
	if pid == "" {
		t.Fatal("each restore was through before it could be killed")
	}
	// One that ended and for which nobody has waited yet runs no more.
	if state, err := os.ReadFile("/proc/" + pid + "/status"); err == nil && !strings.Contains(string(state), "\nState:\tZ") {
		t.Errorf("the server of the killed one still runs:\n%s", state)
	}
	if got := m.rows(dir, "SELECT GROUP_CONCAT(i) FROM test.t"); got != "1" {
		t.Errorf("there are %s", got)
	}
	if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
