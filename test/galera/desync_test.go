package galera

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// plumb gives a command that runs plumb itself on the cluster's machine, as root.
func (c *cluster) plumb(args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(c.box.Dir, "bin", "plumb"), append(args, "--state", c.state)...)
}

// typed runs plumb to an exit code.
func (c *cluster) typed(code int, args ...string) string {
	c.t.Helper()
	cmd := c.plumb(args...)
	out, _ := cmd.CombinedOutput()
	c.t.Logf("$ plumb %s\n%s", strings.Join(args, " "), out)
	if got := cmd.ProcessState.ExitCode(); got != code {
		c.t.Fatalf("it ended with %d, not %d", got, code)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// server is how plumb calls a node.
func (c *cluster) server(node int) string {
	return fmt.Sprint("mysql:", c.nodes[node].Port)
}

func (c *cluster) status(node int, name string) (value string) {
	c.t.Helper()
	must(c.t, c.open(node).QueryRow("SELECT variable_value FROM information_schema.global_status WHERE variable_name = ?", name).Scan(&value))
	return value
}

func (c *cluster) desynced(node int) bool {
	c.t.Helper()
	var yes bool
	must(c.t, c.open(node).QueryRow("SELECT @@GLOBAL.wsrep_desync").Scan(&yes))
	return yes
}

// slowly are snapshots that take three seconds, in which the lock is held.
const slowly = "sleep 3"

// TestLockedNode takes points of one node under its lock while another is written to. The other must not wait for
// it, and the node must not stay desynced, also when plumb is killed.
func TestLockedNode(t *testing.T) {
	sandbox.NeedTime(t, "points of a node under its lock take half a minute: make test-real")
	c := newCluster(t)
	c.fill(2)
	c.join(1)
	out := c.typed(0, "snapshot", c.server(0), "--dry-run", "--with", slowly)
	for _, want := range []string{"SET GLOBAL wsrep_desync = ON", "SET SESSION wsrep_sync_wait = 0", "if plumb dies: another process, started beforehand, runs SET GLOBAL wsrep_desync = OFF"} {
		if !strings.Contains(out, want) {
			t.Errorf("the dry run does not say %q", want)
		}
	}
	before := c.status(0, "WSREP_FLOW_CONTROL_SENT")
	l := c.load(1)
	c.typed(0, "snapshot", c.server(0), "--mode", "locked", "--with", slowly)
	l.stop()
	t.Logf("the longest statement on the other node %s, while the lock was held for 3 s; %d rows; flow control sent %s times before, %s after", l.slow[1], l.rows.Load(), before, c.status(0, "WSREP_FLOW_CONTROL_SENT"))
	if l.slow[1] > 2*time.Second || c.desynced(0) {
		t.Errorf("the other node waited %s, and the node is desynced: %v", l.slow[1], c.desynced(0))
	}
	c.same(0, 1)
	c.without()
	c.killed()
	out = c.typed(0, "snapshot", c.server(0), "--mode", "crash", "--dry-run")
	if strings.Count(out, "wsrep_desync = ON") > 1 {
		t.Errorf("crash mode desyncs: %s", out)
	}
}

// without shows what the same lock does to the other node when the node is not desynced before.
func (c *cluster) without() {
	conn, err := c.open(0).Conn(c.t.Context())
	must(c.t, err)
	defer conn.Close()
	l := c.load(1)
	for _, s := range []string{"SET SESSION wsrep_sync_wait = 0", "BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT", "DO SLEEP(3)", "BACKUP STAGE END"} {
		_, err := conn.ExecContext(c.t.Context(), s)
		must(c.t, err)
	}
	l.stop()
	c.t.Logf("without desync: the longest statement on the other node %s, %d rows", l.slow[1], l.rows.Load())
	c.same(0, 1)
}

// killed kills plumb while it holds the lock.
func (c *cluster) killed() {
	lives := filepath.Join(c.t.TempDir(), "lives")
	for i := range 5 {
		must(c.t, os.WriteFile(lives, nil, 0o600))
		cmd := c.plumb("snapshot", c.server(0), "--mode", "locked", "--with", "while [ -e "+lives+" ]; do sleep 0.1; done; false")
		must(c.t, cmd.Start())
		for end := time.Now().Add(time.Minute); !c.desynced(0); time.Sleep(time.Duration(20*i) * time.Millisecond) {
			if time.Now().After(end) {
				c.t.Fatal("the node is not desynced")
			}
		}
		must(c.t, syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
		must(c.t, os.Remove(lives)) // what is left running would keep the next one from its turn
		began := time.Now()
		_ = cmd.Wait()
		for c.desynced(0) {
			if time.Since(began) > 30*time.Second {
				c.t.Fatal("the node stays desynced")
			}
			time.Sleep(10 * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		_, err := c.open(0).ExecContext(ctx, "INSERT INTO t.t (node) VALUES (7)")
		cancel()
		must(c.t, err)
		c.t.Logf("killed: the node is no longer desynced after %s", time.Since(began))
	}
}

// refused demands that a rollback is unless it is said that the cluster need not follow.
func (c *cluster) refused() {
	out := c.typed(3, "rollback", pointIn(c.typed(0, "snapshot", c.server(0), "--drill")), "--dry-run")
	if !strings.Contains(out, "it takes part in a cluster") {
		c.t.Errorf("a rollback is not refused: %s", out)
	}
}

func pointIn(out string) string {
	_, rest, _ := strings.Cut(out, "Point ")
	id, _, _ := strings.Cut(rest, " ")
	return id
}

// TestRollback of a node is refused unless it is said that the cluster need not follow.
func TestRollback(t *testing.T) {
	sandbox.NeedTime(t, "a cluster and a drill take half a minute: make test-real")
	c := newCluster(t)
	c.fill(2)
	c.refused()
}
