package points

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// TestRollbackToAMoment types rollbacks to moments between points: rows that were committed in known
// seconds are there or not.
func TestRollbackToAMoment(t *testing.T) {
	if _, err := exec.LookPath("mariadb-binlog"); err != nil {
		t.Skip("needs mariadb-binlog: apt-get install mariadb-client")
	}
	b := onPool(t, families[0])
	dir := sandbox.Directory(t, "moment")
	v := verbs{t, filepath.Join(dir, "state")}
	stop, start := b.stopAndStart(t)
	must(t, b.server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, at INT)", "INSERT INTO shop.orders VALUES (0, 0)"))
	server := b.db(t, b.look(t)).String() // other tests have servers on this host meanwhile
	out := v.typed(0, "snapshot", server, "--drill")
	id := pointID.FindString(out)
	for i := 1; i <= 40; i++ { // ten a second
		must(t, b.server.Exec(fmt.Sprintf("INSERT INTO shop.orders VALUES (%d, UNIX_TIMESTAMP())", i)))
		if i == 15 {
			must(t, b.server.Exec("FLUSH BINARY LOGS", "CREATE USER moment@localhost IDENTIFIED BY 'x'", "CREATE DEFINER=nobody@nowhere VIEW shop.v AS SELECT * FROM shop.orders", "SET GLOBAL binlog_format = ROW"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	at, err := strconv.ParseInt(b.ask(t, "SELECT at FROM shop.orders WHERE id = 25"), 10, 64)
	must(t, err)
	want := b.ask(t, fmt.Sprintf("SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders WHERE at < %d", at))
	must(t, b.server.Exec("DROP TABLE shop.orders"))
	v.typed(0, "snapshot", server)
	moment := time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05 MST")

	by := []string{"--stop", strings.Join(stop, " "), "--start", strings.Join(start, " ")}
	roll := func(code int, to string, more ...string) string {
		return v.typed(code, append(append([]string{"rollback", id, "--to", to}, by...), more...)...)
	}
	says(t, roll(2, time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05"), "--dry-run"), "names no time zone")
	says(t, roll(3, "2020-01-01 00:00:00 UTC", "--dry-run"), "before the point")
	says(t, roll(3, "2220-01-01 00:00:00 UTC", "--dry-run"), "is in the future")
	says(t, roll(3, "binlog.000001:77", "--dry-run"), "")
	all := roll(0, time.Now().UTC().Add(-time.Second).Format("2006-01-02 15:04:05 MST"), "--dry-run")
	says(t, all, "replay")
	says(t, roll(0, moment, "--dry-run"), "up to", "not")
	says(t, v.typed(0, append([]string{"rollback", server, "--to", moment, "--dry-run"}, by...)...), "back to "+moment+", by point "+id, "up to", "not")
	says(t, v.typed(2, append([]string{"rollback", "--to", "binlog.000001:77", "--dry-run"}, by...)...), "is not a time")
	b.wrong(t, v, roll, moment)
	v.typed(0, append([]string{"rollback", server, "--to", moment, "--yes"}, by...)...)
	if got := b.ask(t, "SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders"); got != want {
		t.Errorf("at %s the table held %s, and holds %s", moment, want, got)
	}
	if got := b.ask(t, "SELECT COUNT(*) FROM mysql.user WHERE User = 'moment'"); got != "1" {
		t.Errorf("the account: %s", got)
	}
	must(t, b.server.Exec("INSERT INTO shop.orders VALUES (1000, 0)"))
	b.again(t)
	v.typed(0, "undo", "--yes")
	b.there(t, v)
	if got := b.ask(t, "SELECT COUNT(*) FROM shop.orders"); !strings.Contains(got, "doesn't exist") {
		t.Errorf("after the undo the table that was dropped holds %s rows", got)
	}
}

// there wants that the files of points name snapshots that there are.
func (b *bench) there(t *testing.T, v verbs) {
	t.Helper()
	store := protect.Store{Dir: filepath.Join(v.state, "points")}
	all, err := store.List(t.Context(), b.Do)
	must(t, err)
	for _, p := range all {
		for _, m := range p.Members {
			if out, err := exec.Command("zfs", "list", "-H", "-o", "name", m.Snapshot).CombinedOutput(); err != nil || strings.Contains(m.Snapshot, ".before-") {
				t.Errorf("the file of point %s names %s: %v: %s", p.ID, m.Snapshot, err, out)
			}
		}
	}
	if len(all) < 2 {
		t.Errorf("there are %d points", len(all))
	}
}

// wrong tries what must leave the server and the machine as they are.
func (b *bench) wrong(t *testing.T, v verbs, roll func(int, string, ...string) string, moment string) {
	t.Helper()
	was := b.everything(t)
	log := filepath.Join(b.pool.Dir, "db/log")
	aside := filepath.Join(log, "aside")
	must(t, os.Rename(filepath.Join(log, "binlog.000002"), aside))
	says(t, roll(3, moment, "--dry-run"), "binlog.000002")
	must(t, os.Rename(aside, filepath.Join(log, "binlog.000002")))
	index, err := os.ReadFile(filepath.Join(log, "binlog.index"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(log, "binlog.index"), []byte(strings.Join(strings.SplitAfter(string(index), "\n")[1:], "")), 0o660))
	says(t, roll(3, moment, "--yes"), "binlog.000001, which has the point's position, is gone", "the server's oldest log file is binlog.000002")
	must(t, os.WriteFile(filepath.Join(log, "binlog.index"), index, 0o660))
	if now := b.everything(t); now != was {
		t.Errorf("there was\n%s\nand is\n%s", was, now)
	}
}

func (b *bench) everything(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("zfs", "list", "-H", "-r", "-t", "all", "-o", "name,origin", b.pool.Name).Output()
	must(t, err)
	return string(out)
}

// TestReplayThatFails replays a log into a copy that cannot take it: all of the copy goes.
func TestReplayThatFails(t *testing.T) {
	if _, err := exec.LookPath("mariadb-binlog"); err != nil {
		t.Skip("needs mariadb-binlog: apt-get install mariadb-client")
	}
	b := onPool(t, families[0])
	dir := sandbox.Directory(t, "moment")
	v := verbs{t, filepath.Join(dir, "state")}
	stop, start := b.stopAndStart(t)
	must(t, b.server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)"))
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String(), "--drill"))
	// What is not in the log cannot be replayed, and what follows it is not taken.
	must(t, b.server.Exec("SET STATEMENT sql_log_bin = 0 FOR CREATE TABLE shop.later (id INT PRIMARY KEY)", "INSERT INTO shop.orders VALUES (1)", "INSERT INTO shop.later VALUES (1)"))
	was := b.everything(t)
	time.Sleep(2 * time.Second)
	now := time.Now().UTC().Add(-time.Second).Format("2006-01-02 15:04:05 MST")
	out := v.typed(3, "rollback", id, "--to", now, "--stop", strings.Join(stop, " "), "--start", strings.Join(start, " "), "--yes")
	says(t, out, "doesn't exist", "the server was not touched")
	if after := b.everything(t); after != was {
		t.Errorf("there was\n%s\nand is\n%s", was, after)
	}
	if got := b.ask(t, "SELECT COUNT(*) FROM shop.later"); got != "1" {
		t.Errorf("the server: %s", got)
	}
}
