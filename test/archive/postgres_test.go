package archive

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// cluster is a real PostgreSQL that archives to a site.
type cluster struct {
	*site
	server *sandbox.Server
	copy   *sandbox.Server // that was restored last
	db     *sql.DB
}

func newCluster(t *testing.T, settings string) *cluster { return newSite(t).cluster(settings) }

func (s *site) cluster(settings string) *cluster {
	t := s.t
	t.Helper()
	c := &cluster{site: s}
	c.serve("--wal-user", c.user)
	var err error
	c.server, err = c.box.Postgres(sandbox.PostgresOptions{Settings: fmt.Sprintf("archive_mode = on\narchive_command = '%s archive push --socket %s %%p'\nwal_level = replica\nfsync = off\n%s", built.Path, c.socket, settings)})
	sandbox.Need(t, err)
	c.open()
	return c
}

func (c *cluster) open() {
	c.t.Helper()
	var err error
	c.db, err = c.server.Open()
	must(c.t, err)
	c.t.Cleanup(func() { _ = c.db.Close() })
}

func (c *cluster) ask(query string) (out string) {
	c.t.Helper()
	must(c.t, c.db.QueryRow(query).Scan(&out))
	return out
}

// baseLine is what gives a base.
func (c *cluster) baseLine() string {
	return fmt.Sprintf("pg_basebackup -h %s -U postgres -D - -Ft -X none -c fast", c.server.Socket)
}

// base backs up a base.
func (c *cluster) base() string {
	c.t.Helper()
	line := c.baseLine()
	c.plumb(0, append([]string{"backup", "--command", line, "--to", c.url, "--recipient", c.recipient, "--state", c.state}, c.more...)...)
	return line
}

// archived waits until all that was written up to now is in the archive, and gives the last segment.
func (c *cluster) archived() (name string) {
	c.t.Helper()
	name = c.ask("SELECT pg_walfile_name(pg_switch_wal())")
	c.eventually("the archive has "+name, func() bool {
		files, _ := filepath.Glob(c.store + "/archive/postgres-*/wal/" + name + "/*/entry")
		return len(files) == 1
	})
	return name
}

// restored starts a restored directory in the place of the server, which is gone, and gives a way to ask it.
func (c *cluster) restored(dir string) (ask func(query string) string, stop func()) {
	c.t.Helper()
	s, err := c.box.Postgres(sandbox.PostgresOptions{Datadir: dir})
	must(c.t, err)
	c.copy = s
	db, err := s.Open()
	must(c.t, err)
	c.eventually("the restored server opens its timeline", func() bool {
		recovers := true
		return db.QueryRow("SELECT pg_is_in_recovery()").Scan(&recovers) == nil && !recovers
	})
	return func(query string) (out string) {
			c.t.Helper()
			must(c.t, db.QueryRow(query).Scan(&out))
			return out
		}, func() {
			_ = db.Close()
			must(c.t, syscall.Kill(s.PID, syscall.SIGINT))
			c.eventually("the restored server ends", func() bool { return syscall.Kill(s.PID, 0) != nil })
			must(c.t, os.RemoveAll(dir))
		}
}

func lsn(text string) (at uint64) {
	var high, low uint64
	_, _ = fmt.Sscanf(text, "%X/%X", &high, &low)
	return high<<32 | low
}

// write commits until the context ends or the server is gone. It notes what was acknowledged alone.
func (c *cluster) write(ctx context.Context, l *ledger, writer int) {
	where := func() (uint64, error) {
		var text string
		err := c.db.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()").Scan(&text)
		return lsn(text), err
	}
	for n := 1; ; n++ {
		before, err := where()
		began := time.Now()
		if err == nil {
			_, err = c.db.ExecContext(ctx, "INSERT INTO ledger VALUES ($1, $2, repeat('x', 2000))", writer, n)
		}
		if err != nil {
			return
		}
		at := time.Now()
		after, err := where()
		if err != nil {
			return
		}
		l.note(commit{writer: writer, n: n, began: began, at: at, before: before, after: after})
	}
}

const allRows = "SELECT coalesce(string_agg(w || '-' || n, ' '), '') FROM ledger"

// TestPostgreSQLToRandomMoments has four writers commit, takes a base amid that, kills the server and removes all that it had, and
// restores it to moments that the writers know all about.
func TestPostgreSQLToRandomMoments(t *testing.T) {
	c := newCluster(t, "archive_timeout = 10s")
	must(t, c.server.Exec("CREATE TABLE ledger (w INT, n INT, pad TEXT)"))
	var l ledger
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { c.write(ctx, &l, w) })
	}
	c.eventually("something was committed", func() bool { return l.count() > 200 })
	load := c.load(c.server, "postgres")
	c.base()
	from := l.count()
	at := time.Now().Truncate(time.Second).Add(2 * time.Second)
	load.markedFor(&l, func() string { return c.ask("SELECT pg_current_wal_insert_lsn()") })
	for round := range 4 {
		c.eventually("more was committed", func() bool { return l.count() > from+400*(round+1) && (round < 3 || time.Since(at) > 2*time.Second) })
		c.archived()
	}
	more := time.Now().Add(time.Duration(rand.IntN(15000)) * time.Millisecond)
	c.eventually("more was committed, for any while", func() bool { return time.Now().After(more) })
	// The server dies, and all that it had.
	must(t, syscall.Kill(c.server.PID, syscall.SIGKILL))
	died := time.Now()
	end()
	load.end()
	writers.Wait()
	_ = c.db.Close()
	c.eventually("the server is gone", func() bool { return exec.Command("pgrep", "-g", fmt.Sprint(c.server.PID)).Run() != nil })
	must(t, os.RemoveAll(c.server.Dir))

	picks := load.moments(func() string {
		one := l.commits[from+rand.IntN(1500)]
		return fmt.Sprintf("%X/%X", one.after>>32, uint32(one.after))
	})
	picks = append(picks, moment{to: "latest"}, moment{to: at.UTC().Format("2006-01-02 15:04:05 MST")})
	for _, pick := range picks {
		to, dir := pick.to, filepath.Join(c.dir, "restored")
		says(t, c.restore(0, dir, "--to", to), "Restored backup", "transactions after the base")
		ask, stop := c.restored(dir)
		there := rowsOf(ask(allRows))
		switch {
		case to == "latest":
			l.lost(t, there, died)
		case strings.Contains(to, "/"):
			l.agrees(t, to, there, func(c commit) (before, behind bool) { return c.after <= lsn(to), c.before >= lsn(to) })
		default:
			l.agreesAt(t, at, there)
		}
		if pick.mark != nil {
			pick.mark.verified(t, c.copy, "postgres")
		}
		if mode := ask("SELECT current_setting('archive_mode') || ' ' || current_setting('listen_addresses')"); strings.TrimSpace(mode) != "off" {
			t.Errorf("the copy would archive, or listen: %s", mode)
		}
		if got := ask("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"); got == "00000001" {
			t.Error("it goes on on the timeline of the server that was backed up")
		}
		stop()
	}
}

// TestPostgreSQLHole refuses a way of which a part is missing, or was changed, before anything is written.
func TestPostgreSQLHole(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.base()
	var last string
	for i := range 3 {
		must(t, c.server.Exec(fmt.Sprintf("INSERT INTO t VALUES (%d)", i)))
		last = c.archived()
	}
	to := c.ask("SELECT pg_current_wal_insert_lsn()")
	must(t, c.server.Exec("INSERT INTO t VALUES (100)"))
	c.archived()
	dir := filepath.Join(c.dir, "restored")
	says(t, c.restore(0, dir, "--to", to, "--dry-run"), "would be brought to "+to, "3 transactions")
	nothing := func(code int, to string, want ...string) {
		t.Helper()
		says(t, c.restore(code, dir, "--to", to), want...)
		if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	nothing(2, "0-1-2", "PostgreSQL has no GTIDs")
	nothing(3, "0/10", "before the base is whole")
	nothing(3, "F/10", "the archive ends before")
	nothing(2, time.Now().Add(time.Hour).UTC().Format("2006-01-02 15:04:05 MST"), "is in the future")

	found, err := filepath.Glob(c.store + "/archive/postgres-*/wal/" + last)
	must(t, err)
	gone := found[0]
	must(t, os.Rename(gone, c.dir+"/aside"))
	nothing(3, to, "there is a gap: "+filepath.Base(gone)+" is not in the archive, and later files are")
	nothing(3, "latest", "there is a gap: "+filepath.Base(gone))
	says(t, c.plumb(0, "archive", "list", "--from", c.url, "--state", c.state), "a gap: "+filepath.Base(gone))
	must(t, os.Rename(c.dir+"/aside", gone))

	chunks, err := filepath.Glob(gone + "/*/*.zst.age")
	must(t, err)
	was, err := os.ReadFile(chunks[0])
	must(t, err)
	other := append([]byte{}, was...)
	other[len(other)/2] ^= 1
	must(t, os.WriteFile(chunks[0], other, 0o600))
	nothing(3, to, "SHA-256")
	must(t, os.WriteFile(chunks[0], was, 0o600))
	c.history(dir, to)
	says(t, c.restore(0, dir, "--to", to, "--timeline", "1"), "Restored backup")
	says(t, c.restore(3, dir, "--to", to), "is there")
}

// history archives the history of a timeline that is not on the way, which a restored server gets all the same, and
// damages and forges it: each is refused before anything is written.
func (c *cluster) history(dir, to string) {
	t := c.t
	t.Helper()
	file := filepath.Join(c.dir, "00000002.history")
	must(t, os.WriteFile(file, []byte("1\tF/1000000\tno recovery target specified\n"), 0o644))
	c.plumb(0, "archive", "push", file, "--socket", c.socket, "--data", c.server.Dir)
	kept, err := filepath.Glob(c.store + "/archive/postgres-*/wal/00000002.history/*/*")
	must(t, err)
	entries, err := filepath.Glob(c.store + "/archive/postgres-*/wal/0000000100000000????????/*/entry")
	must(t, err)
	if len(kept) != 2 || len(entries) == 0 {
		t.Fatalf("%q, %q", kept, entries)
	}
	another, err := os.ReadFile(entries[0])
	must(t, err)
	for _, name := range kept { // the entry, and its one object
		was, err := os.ReadFile(name)
		must(t, err)
		flipped := append([]byte{}, was...)
		flipped[len(was)/2] ^= 1
		for what, text := range map[string][]byte{"flipped": flipped, "cut": was[:len(was)-1], "another's": another} {
			must(t, os.WriteFile(name, text, 0o600))
			says(t, c.restore(3, dir, "--to", to, "--timeline", "1", "--dry-run"), "bring backup", "00000002.history") // the way alone
			says(t, c.restore(3, dir, "--to", to, "--timeline", "1"), "bring backup", "00000002.history")
			if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
				t.Errorf("%s, %s: left: %v", filepath.Base(name), what, left)
			}
		}
		must(t, os.WriteFile(name, was, 0o600))
	}
}

// TestPostgreSQLStoreGone takes the store away: the server is told, counts it and keeps its files, and so does the status.
func TestPostgreSQLStoreGone(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.archived()
	says(t, c.plumb(0, "archive", "status", "--state", c.state), "main, to "+c.url, "write-ahead log, up to 0000000100000000000000")
	must(t, os.Rename(c.store+"/archive", c.dir+"/away"))
	must(t, os.WriteFile(c.store+"/archive", nil, 0o600)) // nothing can be written there, not even by root
	must(t, c.server.Exec("INSERT INTO t VALUES (1)", "SELECT pg_switch_wal()"))
	c.eventually("the server counts the failure", func() bool { return c.ask("SELECT failed_count FROM pg_stat_archiver") != "0" })
	says(t, c.plumb(1, "archive", "status", "--state", c.state), "failed", "since 20")
	must(t, os.Remove(c.store+"/archive"))
	must(t, os.Rename(c.dir+"/away", c.store+"/archive"))
	c.eventually("the server goes on", func() bool {
		return c.ask("SELECT count(*) FROM pg_ls_dir('pg_wal/archive_status') f WHERE f LIKE '%.ready'") == "0"
	})
	c.plumb(0, "archive", "status", "--state", c.state)
}

// TestPostgreSQLPush hands over what is not to be taken.
func TestPostgreSQLPush(t *testing.T) {
	c := newCluster(t, "")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.archived()
	segments, err := filepath.Glob(c.server.Dir + "/pg_wal/????????????????????????")
	must(t, err)
	push := func(code int, file string, more ...string) string {
		t.Helper()
		return c.plumb(code, append([]string{"archive", "push", file, "--socket", c.socket, "--data", c.server.Dir}, more...)...)
	}
	push(0, segments[0]) // the same again
	text, err := os.ReadFile(segments[0])
	must(t, err)
	text[len(text)-1] ^= 1
	other := filepath.Join(c.dir, filepath.Base(segments[0]))
	must(t, os.WriteFile(other, text, 0o644))
	says(t, push(3, other), "it was archived before, with other bytes")
	text[24] ^= 1
	must(t, os.WriteFile(other, text, 0o644))
	says(t, push(3, other), "belongs to the server")
	wrong := filepath.Join(c.dir, "0000000100000000000000F0")
	text[24] ^= 1
	must(t, os.WriteFile(wrong, text, 0o644))
	says(t, push(3, wrong), "says that it is")
	says(t, push(2, "/etc/passwd"), "not a file that PostgreSQL archives")
	cmd := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", built.Path, "archive", "push", other, "--socket", c.socket, "--data", c.pretend())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "user 65534 may not") {
		t.Errorf("%v: %s", err, out)
	}
	c.end()
	says(t, push(3, segments[0]), "to the archive service", "plumb archive run is the service")
}

// TestPostgreSQLToS3 archives to a real server of S3, and restores from it.
func TestPostgreSQLToS3(t *testing.T) {
	s := newSite(t)
	s.toS3()
	c := s.cluster("")
	must(t, c.server.Exec("CREATE TABLE t (i INT)"))
	c.base()
	must(t, c.server.Exec("INSERT INTO t VALUES (1)"))
	c.archived()
	to := c.ask("SELECT pg_current_wal_insert_lsn()")
	must(t, c.server.Exec("INSERT INTO t VALUES (2)"))
	c.archived()
	must(t, c.server.Stop())
	dir := filepath.Join(c.dir, "restored")
	says(t, c.restore(0, dir, "--to", to), "Restored backup")
	ask, stop := c.restored(dir)
	if got := ask("SELECT string_agg(i::text, ' ') FROM t"); got != "1" {
		t.Errorf("there are %s", got)
	}
	stop()
}
