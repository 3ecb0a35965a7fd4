// Package galera tries what Plumb does to Galera clusters on three real nodes on the loopback.
package galera

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plumb/internal/cli"
	"plumb/test/sandbox"
)

// TestMain makes a copy of this program with the name plumb plumb itself, for what the servers start.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "plumb" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cluster is up to three nodes, each with a subvolume of one btrfs.
type cluster struct {
	t        *testing.T
	box      *sandbox.Box
	top      string // of the btrfs
	state    string // of plumb
	gcomm    [3]int
	settings [3]sandbox.MySQLOptions
	nodes    [3]*sandbox.Server
	sessions [3]*sql.DB
}

// newCluster makes a cluster of one node.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	sandbox.NeedLong(t, "starts a cluster on a filesystem of its own: run without -short")
	const provider = "/usr/lib/galera/libgalera_smm.so"
	if _, err := os.Stat(provider); err != nil {
		t.Skip("no Galera: apt-get install galera-4")
	}
	b := sandbox.ForTest(t, "")
	c := &cluster{t: t, box: b}
	var err error
	c.top, err = b.Filesystem("fs", "btrfs", 3072, nil, "")
	sandbox.Need(t, err)
	must(t, os.Chown(c.top, 0, 0))
	c.state = filepath.Join(sandbox.Directory(t, "galera"), "state") // root's alone, which the box is not
	c.script()
	uid, gid := b.User()
	for i := range c.gcomm {
		c.gcomm[i] = sandbox.FreePort(t)
	}
	for i := range c.nodes {
		dir := fmt.Sprintf("%s/node%d", c.top, i)
		sh(t, fmt.Sprintf("btrfs -q subvolume create %[1]s && mkdir %[1]s/data && chown %[2]d:%[3]d %[1]s/data", dir, uid, gid))
		c.settings[i] = sandbox.MySQLOptions{Name: fmt.Sprintf("run%d", i), Port: sandbox.FreePort(t), Datadir: dir + "/data", Settings: fmt.Sprintf(`innodb_log_file_size=32M
innodb_buffer_pool_size=64M
innodb_flush_log_at_trx_commit=2
innodb_autoinc_lock_mode=2
binlog_format=ROW
wsrep_on=ON
wsrep_provider=%s
wsrep_cluster_name=%s
wsrep_cluster_address=gcomm://%s
wsrep_node_name=node%d
wsrep_node_address=127.0.0.1:%d
wsrep_sst_method=plumb
wsrep_sst_auth=plumb:secret
wsrep_sst_receive_address=127.0.0.1:%d
wsrep_provider_options="gmcast.listen_addr=tcp://127.0.0.1:%d;ist.recv_addr=127.0.0.1:%d;gcache.size=64M;pc.weight=%d"
`, provider, filepath.Base(b.Dir), c.others(i), i, c.gcomm[i], sandbox.FreePort(t), c.gcomm[i], sandbox.FreePort(t), 3-2*min(i, 1))} // the first goes on alone
	}
	t.Cleanup(func() { // leaving a cluster in peace can take long
		for _, s := range c.nodes {
			if s != nil {
				_ = syscall.Kill(s.PID, syscall.SIGKILL)
			}
		}
	})
	c.join(0)
	return c
}

// others lists the nodes that a node joins: none for the first, which begins the cluster.
func (c *cluster) others(node int) string {
	if node == 0 {
		return ""
	}
	return fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", c.gcomm[0], c.gcomm[1])
}

// script puts wsrep_sst_plumb where the servers find it. They run as a user of their own; what stands in
// for sudo is a setpriv that belongs to root.
func (c *cluster) script() {
	_, gid := c.box.User()
	uid, _ := c.box.User()
	self, err := os.Executable()
	must(c.t, err)
	bin := filepath.Join(c.box.Dir, "bin")
	sh(c.t, fmt.Sprintf(`mkdir -m 755 %[1]s; cp %[2]s %[1]s/plumb; chmod 755 %[1]s/plumb; install -o root -g %[3]d -m 4750 "$(command -v setpriv)" %[1]s/become
cat >%[1]s/wsrep_sst_plumb <<'END'
#!/bin/sh
exec %[1]s/plumb sst --lend "%[1]s/become --reuid=0 --regid=0 --clear-groups -- env SUDO_UID=%[4]d %[1]s/plumb lend --state %[5]s" "$@"
END
chmod 755 %[1]s/wsrep_sst_plumb`, bin, self, gid, uid, c.state))
	c.t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// join starts a node, and waits until it is one of the cluster.
func (c *cluster) join(node int) {
	c.t.Helper()
	began := time.Now()
	s, err := c.box.MySQL(c.settings[node])
	if s == nil {
		must(c.t, err)
	}
	c.nodes[node] = s // one that is slow is waited for below
	c.t.Logf("node %d answers after %s", node, time.Since(began))
	defer func() { c.t.Logf("node %d is synced after %s", node, time.Since(began)) }()
	c.wait(node, "SELECT variable_value = 'Synced' FROM information_schema.global_status WHERE variable_name = 'WSREP_LOCAL_STATE_COMMENT'")
}

func (c *cluster) open(node int) *sql.DB {
	if c.sessions[node] == nil {
		db, err := c.nodes[node].Open()
		must(c.t, err)
		c.t.Cleanup(func() { db.Close() })
		c.sessions[node] = db
	}
	return c.sessions[node]
}

// wait waits until a question is answered with yes.
func (c *cluster) wait(node int, question string) {
	c.t.Helper()
	db := c.open(node)
	var yes sql.NullBool
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := db.QueryRow(question).Scan(&yes)
		if err == nil && yes.Bool {
			return
		}
		if time.Now().After(end) || syscall.Kill(c.nodes[node].PID, 0) != nil {
			c.t.Fatalf("%s: %v, %v\n%s", question, yes, err, c.log(node))
		}
	}
}

func (c *cluster) log(node int) string {
	text, _ := os.ReadFile(fmt.Sprintf("%s/run%d-run/error.log", c.box.Dir, node))
	others, _ := exec.Command("sh", "-c", "grep -h -A3 -i 'plumb: ' "+c.box.Dir+"/run*-run/error.log").Output()
	return string(text[max(0, len(text)-6000):]) + "\nOf all nodes:\n" + string(others)
}

// said gives the lines of a node's log that Plumb wrote.
func (c *cluster) said(node int) (all []string) {
	text, err := os.ReadFile(fmt.Sprintf("%s/run%d-run/error.log", c.box.Dir, node))
	must(c.t, err)
	for line := range strings.Lines(string(text)) {
		if _, what, ok := strings.Cut(line, "[INFO] plumb: "); ok {
			all = append(all, strings.TrimSpace(what))
		}
	}
	return all
}

func sh(t testing.TB, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// load writes to some nodes until it is stopped.
type load struct {
	stop func()
	rows atomic.Int64
	mu   sync.Mutex
	slow [3]time.Duration // the longest statement on each
}

func (c *cluster) load(nodes ...int) *load {
	l := &load{}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, n := range nodes {
		db := c.open(n)
		for range 2 {
			all.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					_, err := db.Exec("INSERT INTO t.t (node, text) VALUES (?, REPEAT('x', 200))", n)
					l.mu.Lock()
					l.slow[n] = max(l.slow[n], time.Since(began))
					l.mu.Unlock()
					if err == nil {
						l.rows.Add(1)
					}
					time.Sleep(2 * time.Millisecond) // the machine has other work
				}
			})
		}
	}
	l.stop = func() { cancel(); all.Wait() }
	c.t.Cleanup(l.stop)
	return l
}

// same demands that all nodes hold the same rows.
func (c *cluster) same(nodes ...int) {
	c.t.Helper()
	var sums, rows [3]string
	at := 0
	for _, n := range nodes {
		var here int
		must(c.t, c.open(n).QueryRow("SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'WSREP_LAST_COMMITTED'").Scan(&here))
		at = max(at, here)
	}
	for _, n := range nodes {
		c.wait(n, fmt.Sprintf("SELECT variable_value >= %d", at)+" FROM information_schema.global_status WHERE variable_name = 'WSREP_LAST_COMMITTED'")
		var table string
		must(c.t, c.open(n).QueryRow("CHECKSUM TABLE t.t").Scan(&table, &sums[n]))
		must(c.t, c.open(n).QueryRow("SELECT COUNT(*) FROM t.t").Scan(&rows[n]))
		if sums[n] != sums[nodes[0]] || rows[n] != rows[nodes[0]] {
			c.t.Errorf("node %d has %s rows, checksum %s, and node %d has %s, %s", n, rows[n], sums[n], nodes[0], rows[nodes[0]], sums[nodes[0]])
		}
	}
	c.t.Logf("%s rows on each of %v, checksum %s", rows[nodes[0]], nodes, sums[nodes[0]])
}

// fill makes the table, of some megabytes.
func (c *cluster) fill(megabytes int) {
	must(c.t, c.nodes[0].Exec("CREATE DATABASE t", "CREATE TABLE t.t (id BIGINT AUTO_INCREMENT PRIMARY KEY, node INT, text TEXT)",
		fmt.Sprintf("INSERT INTO t.t (node, text) SELECT 9, REPEAT(SHA2(seq, 256), 16) FROM t.seq_1_to_%d", megabytes*1000)))
}

// nothingLeft demands that all that was made of points is gone.
func (c *cluster) nothingLeft() {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		left := sh(c.t, fmt.Sprintf("ls -A %[1]s-copies %[1]s/points 2>/dev/null | grep -v -e : -e '^$' -e lock -e destroyed.log || :; btrfs subvolume list %[2]s | grep -v -e 'path node[012]$' || :", c.state, c.top))
		if left == "" {
			return
		}
		if time.Now().After(end) {
			c.t.Errorf("left: %s", left)
			return
		}
	}
}
