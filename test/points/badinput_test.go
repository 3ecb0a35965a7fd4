package points

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/namespace"
	"plumb/test/sandbox"
)

// shell runs a line, which must go well.
func shell(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.Command("sh", "-ec", line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	return string(out)
}

// TestBadInput: what cannot go well is refused with its reason, and nothing is gone then.
func TestBadInput(t *testing.T) {
	sandbox.NeedTime(t, "starts three servers, one of them several times: make test-real")
	b, v := onBtrfsOf(t, families[0], "db/data", "db/log")
	top := filepath.Dir(filepath.Dir(b.server.Dir))
	server := b.db(t, b.look(t)).String()
	id := pointID.FindString(v.typed(0, "snapshot", server))
	there := func() string {
		return shell(t, "all=$(btrfs subvolume list "+top+"); echo \"$all\" | sed 's/.* path //'")
	}
	was := there()

	dir := filepath.Join(v.state+"-copies", "dev")
	shell(t, "mkdir -p "+dir+"; echo mine > "+dir+"/file")
	says(t, v.typed(3, "clone", id, "--name", "dev"), "a copy named dev already exists")
	if text, err := os.ReadFile(dir + "/file"); string(text) != "mine\n" {
		t.Errorf("what lay where the clone was to be: %q, %v", text, err)
	}
	b.twoPlumbs(t, v, server)

	shm, err := b.box.Mount("shm", "tmpfs", "tmpfs", "size=64m")
	sandbox.Need(t, err)
	other := b.beside(t, filepath.Join(top, "db/other"), "log_bin = "+shm+"/binlog\nserver_id = 8\n")
	says(t, v.typed(3, "snapshot", "mysql:"+fmt.Sprint(other.Port)), "would not include "+shm, "which is on tmpfs")
	says(t, v.typed(3, "snapshot"), "this host has several servers, and none was named")
	says(t, v.typed(3, "snapshot", "mysql"), "can be any of several servers")
	says(t, v.typed(3, "rollback", id, "--stop", "false", "--start", "false", "--unproven", "--yes"), "has files on its datasets too, and would be rolled back with it")
	shell(t, fmt.Sprintf("kill %d; p=%[1]d; "+untilEnded, other.PID))

	says(t, v.typed(3, "rollback", id, "--unproven", "--yes"), "no systemd unit starts it")
	b.restartsMidway(t, v, server)
	b.inAContainer(t, v, server, id)
	shell(t, fmt.Sprintf("i=0; while [ $(df -B1M --output=avail %[1]s | tail -1) -ge 64 ]; do i=$((i+1)); [ $i -lt 200 ]; fallocate -l 16M %[1]s/db/full$i; sync -f %[1]s; done", top))
	says(t, v.typed(3, "snapshot", server), "are free: less than a tenth")
	shell(t, fmt.Sprintf("i=0; while [ $(df -B1M --output=avail %[1]s | tail -1) -ge 8 ]; do i=$((i+1)); [ $i -lt 200 ]; fallocate -l 4M %[1]s/db/more$i; sync -f %[1]s; done", top))
	says(t, v.typed(3, "drill", id), "of the storage that a copy of ", "plumb prune makes room")
	if now := there(); now != was {
		t.Errorf("there was\n%s\nand there is\n%s", was, now)
	}
}

// TestFullPool: of a pool that is nearly full no point is taken.
func TestFullPool(t *testing.T) {
	sandbox.NeedTime(t, "fills a pool: make test-real")
	b := on(t, grounds[0], families[0], 512)
	shell(t, "zfs create -o compression=off "+b.pool.Name+"/full; zfs set mountpoint="+b.pool.Dir+"/full "+b.pool.Name+"/full")
	full := fmt.Sprintf(`zpool list -H -o cap %s | tr -d %%`, b.pool.Name)
	shell(t, fmt.Sprintf(`i=0; while [ $(%s) -lt 92 ]; do i=$((i+1)); [ $i -lt 100 ]; head -c 8M /dev/zero | tr '\0' x > %s/full/file$i; sync; done`, full, b.pool.Dir))
	v := verbs{t, filepath.Join(t.TempDir(), "state")}
	before := shell(t, "zfs list -H -r -t all -o name "+b.pool.Name)
	server := b.db(t, b.look(t)).String()
	says(t, v.typed(3, "snapshot", server), "has only", "a tenth must be free", "plumb prune makes room")
	says(t, v.typed(3, "snapshot", server, "--dry-run"), "a snapshot would be refused")
	if after := shell(t, "zfs list -H -r -t all -o name "+b.pool.Name); after != before {
		t.Errorf("there was\n%s\nand there is\n%s", before, after)
	}
}

// beside starts another server in a directory of the same filesystem.
func (b *bench) beside(t *testing.T, data, settings string) *sandbox.Server {
	t.Helper()
	uid, gid := b.box.User()
	shell(t, fmt.Sprintf("mkdir %s; chown %d:%d %[1]s", data, uid, gid))
	s, err := b.box.MySQL(sandbox.MySQLOptions{Name: "other", Port: sandbox.FreePort(t), Datadir: data, Settings: settings + "innodb_buffer_pool_size = 32M\ninnodb_log_file_size = 8M"})
	must(t, err)
	return s
}

// twoPlumbs wants to take a point while another is at it.
func (b *bench) twoPlumbs(t *testing.T, v verbs, server string) {
	t.Helper()
	dir := t.TempDir()
	unlock, err := b.Do.Lock(t.Context(), filepath.Join(v.state, "points", "lock"))
	must(t, err)
	defer unlock()
	says(t, v.typed(3, "snapshot", server, "--with", "touch "+dir+"/taken"), "another Plumb is taking or removing points on this host")
	if _, err := os.Stat(dir + "/taken"); err == nil {
		t.Error("it was taken all the same")
	}
}

// restartsMidway has the server killed and started again between the lock and its release.
func (b *bench) restartsMidway(t *testing.T, v verbs, server string) {
	t.Helper()
	_, start := b.stopAndStart(t)
	file := filepath.Join(filepath.Dir(b.server.Socket), "mysqld.pid")
	line := fmt.Sprintf("p=$(cat %s); kill -9 $p; while kill -0 $p 2>/dev/null && ! grep -q '^State:.[ZX]' /proc/$p/status; do sleep 0.05; done; rm -f %[1]s; %s; until [ -e %[1]s ]; do sleep 0.1; done; echo id", file, strings.Join(start, " "))
	pid := b.server.PID
	says(t, v.typed(1, "snapshot", server, "--mode", "locked", "--with", line), "label crash", "the server was restarted meanwhile", "the lock was lost", "Less than asked")
	if b.again(t); b.server.PID == pid {
		t.Error("it was not restarted")
	}
}

// inAContainer starts the server with a root directory of its own.
func (b *bench) inAContainer(t *testing.T, v verbs, server, id string) {
	t.Helper()
	stop, start := b.stopAndStart(t)
	shell(t, strings.Join(stop, " "))
	root := filepath.Join(t.TempDir(), "root")
	shell(t, "mkdir "+root)
	script := namespace.LetGo(b.box.Dir) + fmt.Sprintf("mount --rbind / %s && exec chroot %[1]s %s", root, strings.Join(start, " "))
	if out, err := exec.Command("unshare", "--mount", "--propagation", "slave", "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for end := time.Now().Add(time.Minute); b.ask(t, "SELECT 'up'") != "up" && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	says(t, v.typed(3, "snapshot", server), "runs in a container")
	says(t, v.typed(3, "rollback", id, "--unproven", "--stop", strings.Join(stop, " "), "--start", "false", "--yes"), "runs in a container")
	if got := b.ask(t, "SELECT 'up'"); got != "up" {
		t.Errorf("it was stopped: %s", got)
	}
	shell(t, strings.Join(stop, " "))
	shell(t, strings.Join(start, " "))
	for end := time.Now().Add(time.Minute); b.ask(t, "SELECT 'up'") != "up" && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	b.again(t)
}
