package points

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// TestMySQLThereAndBack types on MySQL what the other tests type on MariaDB: a rollback to a point, one to a
// moment behind it, one table beside later writes, and the undo of each.
func TestMySQLThereAndBack(t *testing.T) {
	sandbox.NeedTime(t, "MySQL is fetched from Debian sid: make test-real")
	b := onPool(t, fetched[0])
	v := stateOf(t)
	stop, start := b.stopAndStart(t)
	by := []string{"--stop", strings.Join(stop, " "), "--start", strings.Join(start, " "), "--yes"}
	must(t, b.server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, at BIGINT)", "INSERT INTO shop.orders VALUES (0, 0)"))
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String(), "--drill"))
	uuid := b.ask(t, "SELECT @@server_uuid")
	moment, gtid := b.written(t)
	must(t, b.server.Exec("DROP TABLE shop.orders"))
	rows := "SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders"
	gone := "doesn't exist"

	roll := func(want string, more ...string) {
		t.Helper()
		v.typed(0, append(append([]string{"rollback", id}, more...), by...)...)
		if got := b.ask(t, rows); got != want { // all of it: a table that holds more holds this, too
			t.Errorf("rolled back with %q, the table holds %s, not %s", more, got, want)
		}
		if now := b.ask(t, "SELECT @@server_uuid"); now != uuid {
			t.Errorf("the server was %s and is %s", uuid, now)
		}
		b.again(t)
		v.typed(0, "undo", "--yes")
		says(t, b.ask(t, rows), gone)
		b.again(t)
	}
	roll("0")
	roll("0,1,2,3", "--to", moment)
	roll("0,1,2,3", "--to", gtid)

	must(t, b.server.Exec("INSERT INTO plumbtest.t (who, n) VALUES (7, 7)"))
	says(t, v.typed(0, "rollback", id, "--table", "shop.orders", "--yes"), "rows 1")
	if got := b.ask(t, rows); got != "0" {
		t.Errorf("the table that was brought back holds %s, not 0", got)
	}
	if got := b.ask(t, "SELECT COUNT(*) FROM plumbtest.t WHERE who = 7"); got != "1" {
		t.Errorf("of a later write there is %s", got)
	}
	v.typed(0, "undo", "--yes")
	says(t, b.ask(t, rows), gone)
}

// written writes six rows, three of them in one second and three in a later one, and gives that second and the
// GTID of the fourth.
func (b *bench) written(t *testing.T) (moment, gtid string) {
	t.Helper()
	for i := 1; i <= 6; i++ {
		if i == 4 {
			time.Sleep(2 * time.Second)
			moment = time.Now().UTC().Format("2006-01-02 15:04:05 MST")
			gtid = b.next(t)
		}
		must(t, b.server.Exec(fmt.Sprintf("INSERT INTO shop.orders VALUES (%d, UNIX_TIMESTAMP())", i)))
	}
	time.Sleep(2 * time.Second) // the moment must have passed
	return moment, gtid
}

// next gives the GTID of the transaction that is committed next.
func (b *bench) next(t *testing.T) string {
	t.Helper()
	was := b.ask(t, "SELECT @@gtid_executed")
	uuid, last, _ := strings.Cut(was, ":")
	var n int
	if _, err := fmt.Sscan(last[strings.LastIndexByte(last, '-')+1:], &n); err != nil {
		t.Fatalf("%s: %v", was, err)
	}
	return fmt.Sprintf("%s:%d", uuid, n+1)
}
