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
)

// TestRollbackToAMoment types rollbacks to moments between points: rows that were committed in known
// seconds are there or not.
func TestRollbackToAMoment(t *testing.T) {
	if _, err := exec.LookPath("mariadb-binlog"); err != nil {
		t.Skip("needs mariadb-binlog: apt-get install mariadb-client")
	}
	b := onPool(t, families[0])
	dir, err := os.MkdirTemp("/var/tmp", "plumb-test-moment-")
	must(t, err)
	must(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	v := verbs{t, filepath.Join(dir, "state")}
	stop, start := b.stopAndStart(t)
	must(t, b.server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, at INT)", "INSERT INTO shop.orders VALUES (0, 0)"))
	out := v.typed(0, "snapshot", b.db(t, b.look(t)).String(), "--drill")
	id := pointID.FindString(out)
	for i := 1; i <= 40; i++ { // ten a second
		must(t, b.server.Exec(fmt.Sprintf("INSERT INTO shop.orders VALUES (%d, UNIX_TIMESTAMP())", i)))
		if i == 15 {
			must(t, b.server.Exec("FLUSH BINARY LOGS", "CREATE USER moment@localhost IDENTIFIED BY 'x'", "CREATE DEFINER=nobody@nowhere VIEW shop.v AS SELECT * FROM shop.orders"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	at, err := strconv.ParseInt(b.ask(t, "SELECT at FROM shop.orders WHERE id = 25"), 10, 64)
	must(t, err)
	want := b.ask(t, fmt.Sprintf("SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders WHERE at < %d", at))
	must(t, b.server.Exec("DROP TABLE shop.orders"))
	moment := time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05 MST")

	by := []string{"--stop", strings.Join(stop, " "), "--start", strings.Join(start, " ")}
	roll := func(code int, to string, more ...string) string {
		return v.typed(code, append(append([]string{"rollback", id, "--to", to}, by...), more...)...)
	}
	says(t, roll(2, time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05"), "--dry-run"), "names no time zone")
	says(t, roll(3, "2020-01-01 00:00:00 UTC", "--dry-run"), "before the point")
	says(t, roll(3, "2220-01-01 00:00:00 UTC", "--dry-run"), "still to come")
	says(t, roll(3, "binlog.000001:77", "--dry-run"), "")
	all := roll(0, time.Now().UTC().Add(-time.Second).Format("2006-01-02 15:04:05 MST"), "--dry-run")
	says(t, all, "replay")
	says(t, roll(0, moment, "--dry-run"), "up to", "not")
	out = roll(0, moment, "--yes")
	if got := b.ask(t, "SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders"); got != want {
		t.Errorf("at %s the table held %s, and holds %s", moment, want, got)
	}
	if got := b.ask(t, "SELECT COUNT(*) FROM mysql.user WHERE User = 'moment'"); got != "1" {
		t.Errorf("the account: %s", got)
	}
	must(t, b.server.Exec("INSERT INTO shop.orders VALUES (1000, 0)"))
	b.again(t)
	v.typed(0, "undo", "--yes")
	if got := b.ask(t, "SELECT COUNT(*) FROM shop.orders"); !strings.Contains(got, "doesn't exist") {
		t.Errorf("after the undo the table that was dropped holds %s rows", got)
	}
}
