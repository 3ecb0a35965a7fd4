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

	"plumb/test/sandbox"
)

// byHand gives the flags that stop and start a PostgreSQL server as a person would type them.
func (b *bench) byHand(t *testing.T) []string {
	t.Helper()
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", b.server.PID))
	must(t, err)
	uid, gid := b.box.User()
	pid, as := filepath.Join(b.server.Dir, "postmaster.pid"), fmt.Sprintf("setsid setpriv --reuid=%d --regid=%d --clear-groups -- ", uid, gid)
	stop := fmt.Sprintf("[ -e '%[1]s' ] || exit 0\np=$(head -n 1 '%[1]s')\nkill -INT $p 2>/dev/null || exit 0\n"+untilEnded, pid)
	start := as + exe + " -D '" + b.server.Dir + "' >/dev/null 2>&1 </dev/null &"
	t.Cleanup(func() { must(t, exec.Command("sh", "-c", stop).Run()) })
	return []string{"--stop", stop, "--start", start}
}

// restarted finds the process of PostgreSQL anew.
func (b *bench) restarted(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // it is started beside us, and listens before it answers
		text, err := os.ReadFile(filepath.Join(b.server.Dir, "postmaster.pid"))
		pid, _, _ := strings.Cut(string(text), "\n")
		if err == nil {
			b.server.PID, err = strconv.Atoi(pid)
		}
		if err == nil && b.ask(t, "SELECT 1") == "1" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it does not answer: %v", err)
		}
	}
}

func stateOf(t *testing.T) verbs {
	t.Helper()
	dir := sandbox.Directory(t, "rollback")
	return verbs{t, filepath.Join(dir, "state")}
}

// TestRollbackOfPostgreSQL types a rollback, its undo, and a second rollback: each opens a timeline that
// there never was.
func TestRollbackOfPostgreSQL(t *testing.T) { rollbackOfPostgreSQL(t, onPool(t, families[1])) }

func rollbackOfPostgreSQL(t *testing.T, b *bench) {
	v, by := stateOf(t), b.byHand(t)
	archive, err := b.box.Mkdir("archive")
	must(t, err)
	must(t, b.server.Exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"))
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String(), "--drill"))
	must(t, b.server.Exec("DROP TABLE t", "CREATE TABLE later AS SELECT 3 AS id"))
	roll := func(code int, more ...string) string {
		return v.typed(code, append(append([]string{"rollback", id}, by...), more...)...)
	}
	timeline := func(want string) {
		t.Helper()
		if got := b.ask(t, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"); got != "000000"+want {
			t.Errorf("it is on timeline %s, not %s", got, want)
		}
	}
	says(t, roll(0, "--dry-run"), "timeline 2")
	must(t, b.server.Exec("SELECT pg_create_physical_replication_slot('s', true)"))
	says(t, roll(3, "--dry-run"), "slots")
	must(t, b.server.Exec("SELECT pg_drop_replication_slot('s')"))
	roll(0, "--yes")
	b.restarted(t)
	if got := b.ask(t, "SELECT string_agg(id::text, ',') FROM t"); got != "1,2" {
		t.Errorf("after the rollback the table holds %q", got)
	}
	timeline("02")
	must(t, b.server.Exec("INSERT INTO t VALUES (4)", "CHECKPOINT"))
	v.typed(0, "undo", "--yes")
	b.restarted(t)
	if got := b.ask(t, "SELECT id FROM later"); got != "3" {
		t.Errorf("after the undo the later table holds %q", got)
	}
	timeline("01")
	if b.pool != nil {
		forgotten(t, v, b.pool.Name)
	}

	must(t, b.server.Exec("ALTER SYSTEM SET archive_mode = on", fmt.Sprintf("ALTER SYSTEM SET archive_command = 'test ! -e \"%[1]s/%%f\" && cp \"%%p\" \"%[1]s/%%f\"'", archive)))
	again(t, by, b)
	says(t, roll(3, "--dry-run"), "archived")
	must(t, b.server.Exec("SELECT pg_switch_wal()"))
	roll(0, "--yes", "--replicas")
	b.restarted(t)
	timeline("03")
	if got := b.ask(t, "SELECT current_setting('archive_mode')"); got != "off" {
		t.Errorf("the settings of the point: %q", got)
	}
	if left, err := filepath.Glob(b.server.Dir + "/plumb*"); err != nil || len(left) > 0 {
		t.Errorf("it left %v in the data directory, %v", left, err)
	}
}

// forgotten wants that what a rollback was made of goes once it was undone and nobody wants what was written meanwhile.
func forgotten(t *testing.T, v verbs, pool string) {
	t.Helper()
	list := func() string { // with what came of a recovered copy
		out, err := exec.Command("zfs", "list", "-H", "-r", "-o", "name,origin", pool).CombinedOutput()
		must(t, err)
		return string(out)
	}
	v.typed(0, "prune", "--keep", "last=1", "--yes")
	was := list()
	if strings.Count(was, ".undone-") != 2 || !strings.Contains(was, "plumb-clone-") {
		t.Errorf("there is\n%s", was)
	}
	for line := range strings.Lines(was) {
		if name, _, _ := strings.Cut(line, "\t"); strings.Contains(name, ".undone-") {
			must(t, exec.Command("zfs", "destroy", name).Run())
		}
	}
	v.typed(0, "prune", "--keep", "last=1", "--yes")
	if now := list(); strings.Contains(now, "plumb-clone-") {
		t.Errorf("there was\n%s\nand is\n%s", was, now)
	}
}

// again stops and starts the server by hand.
func again(t *testing.T, by []string, b *bench) {
	t.Helper()
	must(t, exec.Command("sh", "-c", by[1]).Run())
	must(t, exec.Command("sh", "-c", by[3]).Run())
	b.restarted(t)
}

// TestRollbackOnBtrfs is the same on a subvolume that is mounted by its path, and with the WAL on one that
// is not.
func TestRollbackOnBtrfs(t *testing.T) {
	sandbox.NeedLong(t, "starts servers on filesystems of their own: run without -short")
	b := sandbox.ForTest(t, "")
	top, err := b.Filesystem("fs", "btrfs", 1024, nil, "")
	sandbox.Need(t, err)
	must(t, os.Chown(top, 0, 0))
	data, err := b.Mkdir("data")
	must(t, err)
	uid, gid := b.User()
	out, err := exec.Command("sh", "-ec", fmt.Sprintf(`cd %[1]s; btrfs subvolume create pg; btrfs subvolume create wal; mount -o subvol=pg,noatime "$(findmnt -n -o SOURCE %[1]s)" %[2]s; mkdir %[2]s/d; chown %[3]d:%[4]d %[2]s/d wal`,
		top, data, uid, gid)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { must(t, exec.Command("umount", data).Run()) })
	s, err := b.Postgres(sandbox.PostgresOptions{Port: sandbox.FreePort(t), Datadir: filepath.Join(data, "d"), WALdir: filepath.Join(top, "wal", "w")})
	sandbox.Need(t, err)
	k := newBench(t, b, nil, s)
	k.family = families[1]
	rollbackOfPostgreSQL(t, k)
	list, err := exec.Command("btrfs", "subvolume", "list", top).CombinedOutput()
	must(t, err)
	t.Logf("%s", list)
	if n := strings.Count(string(list), ".before-"); n != 2 || strings.Contains(string(list), "/clone-") || strings.Contains(string(list), "-ready") {
		t.Errorf("there is\n%s", list)
	}
}
