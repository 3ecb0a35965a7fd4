package galera

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// lent is a plumb lend that runs.
type lent struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// lend starts it for a user, who asks for a node's files.
func (c *cluster) lend(node, uid int) *lent {
	c.t.Helper()
	l := &lent{t: c.t, cmd: c.plumb("lend")}
	l.cmd.Env = append(os.Environ(), fmt.Sprint("SUDO_UID=", uid))
	l.cmd.Stderr = os.Stderr
	var err error
	l.in, err = l.cmd.StdinPipe()
	must(c.t, err)
	out, err := l.cmd.StdoutPipe()
	must(c.t, err)
	l.out = bufio.NewReader(out)
	must(c.t, l.cmd.Start())
	l.say(c.nodes[node].Dir)
	return l
}

func (l *lent) say(line string) {
	_, err := io.WriteString(l.in, line+"\n")
	must(l.t, err)
}

func (l *lent) hears(word string) string {
	l.t.Helper()
	line, err := l.out.ReadString('\n')
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), word)
	if !ok {
		l.t.Fatalf("it says %q in place of %q: %v", line, word, err)
	}
	return rest
}

// TestLend: what is lent is the user's own, read-only, and gone when nobody needs it any more.
func TestLend(t *testing.T) {
	sandbox.NeedTime(t, "points that are lent take half a minute: make test-real")
	c := newCluster(t)
	c.fill(1)
	uid, gid := c.box.User()

	l := c.lend(0, uid+1)
	if line, err := l.out.ReadString('\n'); err == nil {
		t.Errorf("another's files are lent: %q", line)
	}
	if l.cmd.Wait() == nil {
		t.Error("another's files are lent")
	}
	l = c.lend(0, uid) // who asks ends before the server stands still
	l.hears("hold")
	l.in.Close()
	if l.cmd.Wait() == nil {
		t.Error("it says that all is well")
	}
	c.nothingLeft()

	l = c.lend(0, uid)
	l.hears("hold")
	l.say("held")
	l.hears("release")
	dir := l.hears("files ")
	sh(t, fmt.Sprintf("setpriv --reuid=%d --regid=%d --clear-groups cat %s/ibdata1 >/dev/null; ! touch %[3]s/x 2>/dev/null", uid, gid, dir))
	l.in.Close()
	must(t, l.cmd.Wait())
	c.nothingLeft()

	l = c.lend(0, uid)
	l.hears("hold")
	l.say("held")
	l.hears("release")
	l.hears("files ")
	must(t, l.cmd.Process.Kill())
	_ = l.cmd.Wait()

	l = c.lend(0, uid) // takes the mounts and the point of the one before away
	l.hears("hold")
	l.in.Close()
	_ = l.cmd.Wait()
	c.nothingLeft()
}
