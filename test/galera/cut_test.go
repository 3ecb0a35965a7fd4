package galera

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// TestCutOff kills the donor's end and the joiner's while files come. The joiner must not start on
// half of them, must keep what it had, and can join again.
func TestCutOff(t *testing.T) {
	sandbox.NeedTime(t, "transfers that are cut off take a minute: make test-real")
	c := newCluster(t)
	c.fill(250)
	c.join(1)
	must(t, c.nodes[1].Stop())
	dir := c.nodes[1].Dir
	c.forget(1)
	was := sh(t, "cd "+dir+" && sha256sum ib_logfile0 ibdata1 t/t.ibd && ls -I grastate.dat -I gvwstate.dat")

	for _, who := range []string{"donor", "joiner"} {
		joiner := c.start(1)
		tar := c.midway(1)
		if who == "donor" {
			must(t, syscall.Kill(parent(t, tar), syscall.SIGKILL))
		} else {
			script := c.find("--role\x00joiner", dir)
			must(t, syscall.Kill(joiner.pid, syscall.SIGKILL))
			must(t, syscall.Kill(script, syscall.SIGKILL))
		}
		must(t, syscall.Kill(tar, syscall.SIGCONT))
		joiner.ends(t)
		if is := sh(t, "cd "+dir+" && sha256sum ib_logfile0 ibdata1 t/t.ibd && ls -I grastate.dat -I gvwstate.dat"); is != was {
			t.Errorf("after the %s was killed the joiner has\n%s\nand had\n%s", who, is, was)
		}
		c.nothingLeft()
		c.wait(0, "SELECT variable_value = 'Synced' FROM information_schema.global_status WHERE variable_name = 'WSREP_LOCAL_STATE_COMMENT'")
		must(t, c.nodes[0].Exec("INSERT INTO t.t (node) VALUES (0)"))
		c.forget(1)
	}
	c.rejoin(1)
	c.same(0, 1)
	if left := sh(t, "ls -A "+dir+" | grep -e plumb-sst-new -e plumb-sst-old || :"); left != "" {
		t.Errorf("left: %s", left)
	}
	c.poisoned(1)
}

// poisoned has a node whose files were being exchanged when the machine died.
func (c *cluster) poisoned(node int) {
	must(c.t, c.nodes[node].Stop())
	c.forget(node)
	name := filepath.Join(c.nodes[node].Dir, "ib_logfile0")
	must(c.t, os.WriteFile(name, []byte("plumb: a state transfer was cut off while files were put into place.\n"), 0o600))
	c.start(node, "--wsrep-on=OFF").ends(c.t)
	if text := c.log(node); !strings.Contains(text, "Aborting") {
		c.t.Errorf("it starts on half of its files: %s", text)
	}
	c.rejoin(node)
	c.same(0, node)
}

// TestBypass has a node come back that lacks little: it gets no files, and keeps its own. One that shows
// another secret gets nothing.
func TestBypass(t *testing.T) {
	sandbox.NeedTime(t, "a node that leaves and comes back takes half a minute: make test-real")
	c := newCluster(t)
	c.fill(2)
	c.join(1)
	must(t, c.nodes[1].Stop())
	must(t, c.nodes[0].Exec("INSERT INTO t.t (node) VALUES (0)"))
	before := len(c.said(0))
	c.rejoin(1)
	c.same(0, 1)
	if got := c.said(0)[before:]; len(got) > 0 {
		t.Errorf("the donor says %q", got)
	}
	must(t, c.nodes[1].Stop())
	c.forget(1)
	c.start(1, "--wsrep-sst-auth=plumb:other").ends(t)
	if all := strings.Join(c.said(1), "\n"); !strings.Contains(all, "has not the proof") {
		t.Errorf("the joiner says %s", all)
	}
	c.rejoin(1)
	c.same(0, 1)
}

// forget makes a node forget its place in the cluster: it must get all files anew.
func (c *cluster) forget(node int) { sh(c.t, "rm -f "+c.settings[node].Datadir+"/grastate.dat") }

// process is a server that is not waited for.
type process struct {
	pid  int
	done chan error
}

// start starts a node that was set up before.
func (c *cluster) start(node int, args ...string) process {
	c.t.Helper()
	uid, gid := c.box.User()
	cmd := exec.Command("mariadbd", append([]string{fmt.Sprintf("--defaults-file=%s/run%d-run/my.cnf", c.box.Dir, node)}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	must(c.t, cmd.Start())
	p := process{cmd.Process.Pid, make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	c.t.Cleanup(func() { _ = syscall.Kill(p.pid, syscall.SIGKILL) })
	return p
}

// rejoin starts a node again, and waits until it is one of the cluster.
func (c *cluster) rejoin(node int) {
	c.t.Helper()
	c.nodes[node].PID = c.start(node).pid
	c.wait(node, "SELECT variable_value = 'Synced' FROM information_schema.global_status WHERE variable_name = 'WSREP_LOCAL_STATE_COMMENT'")
}

func (p process) ends(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.done:
		if err == nil {
			t.Error("it ended as if all were well")
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("it does not end")
	}
}

// find waits for a process with some text and a path in its command line.
func (c *cluster) find(text, where string) int {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range all {
			line, err := os.ReadFile(name)
			if err == nil && strings.Contains(string(line), text) && strings.Contains(string(line), where) && !strings.HasPrefix(string(line), "sh\x00") {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				return pid
			}
		}
	}
	c.t.Fatalf("no process with %q", text)
	return 0
}

// midway stops the donor's tar when a part of the files has come.
func (c *cluster) midway(node int) (tar int) {
	c.t.Helper()
	tar = c.find("tar\x00--create", c.state)
	must(c.t, syscall.Kill(tar, syscall.SIGSTOP))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		size := sh(c.t, fmt.Sprintf("du -sm %s/.plumb-sst-new 2>/dev/null | cut -f 1 || :", c.settings[node].Datadir))
		if n, _ := strconv.Atoi(size); n > 0 {
			c.t.Logf("%d MB have come", n)
			return tar
		}
		if time.Now().After(end) {
			c.t.Fatal("nothing comes")
		}
		must(c.t, syscall.Kill(tar, syscall.SIGCONT))
		time.Sleep(5 * time.Millisecond)
		must(c.t, syscall.Kill(tar, syscall.SIGSTOP))
	}
}

func parent(t *testing.T, pid int) int {
	t.Helper()
	n, err := strconv.Atoi(sh(t, fmt.Sprintf("ps -o ppid= -p %d", pid)))
	must(t, err)
	return n
}
