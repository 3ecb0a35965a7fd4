package points

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPostgreSQLToAMoment types rollbacks of PostgreSQL to moments between points, with a file of its WAL that
// lies in an archive alone.
func TestPostgreSQLToAMoment(t *testing.T) {
	b := onPool(t, families[1])
	v, by := stateOf(t), b.byHand(t)
	// A checkpoint would recycle the WAL behind the point, and autovacuum commits transactions of its own, which would be
	// replayed, and counted, with those below.
	must(t, b.server.Exec("ALTER SYSTEM SET max_wal_size = '1GB'", "ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()", "CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (0)"))
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String(), "--drill"))
	rows := func(from, to int) {
		for i := from; i <= to; i++ {
			must(t, b.server.Exec(fmt.Sprintf("INSERT INTO orders VALUES (%d)", i)))
			if i == 8 { // a file that is there only meanwhile; zfs-fuse takes seconds for each of its size
				must(t, b.server.Exec("CREATE TABLE big AS SELECT g, repeat('x', 500) FROM generate_series(1, 30000) g", "DROP TABLE big"))
			}
			if i%8 == 0 {
				must(t, b.server.Exec("SELECT pg_switch_wal()"))
			}
		}
	}
	rows(1, 20)
	lsn := b.ask(t, "SELECT pg_current_wal_insert_lsn()")
	at := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(at.Add(50 * time.Millisecond)))
	rows(21, 40)
	must(t, b.server.Exec("DROP TABLE orders"))
	moment := at.UTC().Format("2006-01-02 15:04:05 MST")
	time.Sleep(time.Until(at.Add(3 * time.Second)))

	roll := func(code int, to string, more ...string) string {
		return v.typed(code, append(append([]string{"rollback", id, "--to", to}, by...), more...)...)
	}
	says(t, roll(2, "0-1-2", "--dry-run"), "no GTIDs")
	says(t, roll(3, "0/10", "--dry-run"), "before the point")
	says(t, roll(0, moment, "--dry-run"), "replay 2", "not")
	says(t, roll(0, lsn, "--dry-run"), "replay 2")
	wal := filepath.Join(b.pool.Dir, "db/log/wal")
	note := filepath.Join(b.pool.Dir, "db/log/note") // of somebody else, and newer than the point
	must(t, os.WriteFile(note, nil, 0o600))
	says(t, roll(3, moment, "--yes"), "1 file of others changed", note, "--others reverts them too")
	says(t, roll(0, moment, "--dry-run", "--others"), "others", "db/log/note")
	must(t, os.Remove(note))
	files, err := filepath.Glob(wal + "/00000001*")
	must(t, err)
	archive, err := b.box.Mkdir("archived wal")
	must(t, err)
	must(t, exec.Command("cp", "-a", files[2], archive).Run())
	must(t, os.Remove(files[2]))
	was := b.everything(t)
	says(t, roll(3, moment, "--yes"), filepath.Base(files[2])+", which is needed to get there, is neither")
	if now := b.everything(t); now != was {
		t.Errorf("there was\n%s\nand is\n%s", was, now)
	}
	roll(0, moment, "--yes", "--wal", archive)
	b.restarted(t)
	if got := b.ask(t, "SELECT count(*) || ' to ' || max(id) FROM orders"); got != "21 to 20" {
		t.Errorf("at %s the table held 21 to 20, and holds %s", moment, got)
	}
	if got := b.ask(t, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"); got != "00000002" {
		t.Errorf("it is on timeline %s", got)
	}
	says(t, roll(3, moment, "--dry-run"), "the server is on timeline 2")
	must(t, b.server.Exec("INSERT INTO orders VALUES (1000)"))
	v.typed(0, "undo", "--yes")
	b.restarted(t)
	if got := b.ask(t, "SELECT count(*) FROM orders"); !strings.Contains(got, "does not exist") {
		t.Errorf("after the undo the table that was dropped holds %s rows", got)
	}
}
