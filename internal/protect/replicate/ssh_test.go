package replicate

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
)

const envOnly = "PLUMB_RECEIVE_ONLY" // of the process that a key's forced command starts

func TestMain(m *testing.M) {
	only := os.Getenv(envOnly)
	if only == "" {
		os.Exit(m.Run())
	}
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	if err := Receive(context.Background(), d, only, os.Getenv("SSH_ORIGINAL_COMMAND"), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sshd starts a server on the loopback with one key, which may only receive. It gives its port and what ssh needs.
func sshd(t *testing.T, only string) (port int, options []string) {
	t.Helper()
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skip("no sshd (apt-get install openssh-server)")
	}
	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		sh(t, "ssh-keygen -q -t ed25519 -N '' -f "+filepath.Join(dir, key))
	}
	public, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	must(t, err)
	if os.Mkdir("/run/sshd", 0o755) == nil { // sshd wants it
		t.Cleanup(func() { os.Remove("/run/sshd") })
	}
	must(t, os.WriteFile(filepath.Join(dir, "authorized"), fmt.Appendf(nil, `restrict,command="%s=%s exec %s" %s`, envOnly, only, os.Args[0], public), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin forced-commands-only\n", port, dir, dir)
	must(t, os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600))
	c := exec.Command("/usr/sbin/sshd", "-D", "-f", filepath.Join(dir, "config"))
	must(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	for late := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			conn.Close()
			break
		} else if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	return port, []string{"-F", "none", "-i", filepath.Join(dir, "user"), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + filepath.Join(dir, "known")}
}

// TestReplicateOverSSH sends over a real sshd, with a key that may only receive.
func TestReplicateOverSSH(t *testing.T) {
	w := twoPools(t)
	target := w.target()
	port, options := sshd(t, target.Dataset)
	target.User, target.Host, target.Port = "root", "127.0.0.1", port
	r := w.replicator()
	r.SSH = options
	for range 2 {
		p := w.point(t, 1000)
		_, err := r.Run(t.Context(), p, target, Options{})
		must(t, err)
		w.same(t, p)
	}
	cut := r
	cut.Keeper = keeper(&cutting{LiveDoer: w.keeper.Do.(*host.LiveDoer), left: 4 << 20}, w.dir)
	p := w.point(t, 10000)
	if _, err := cut.Run(t.Context(), p, target, Options{}); err == nil {
		t.Error("it was not cut")
	}
	_, err := r.Run(t.Context(), p, target, Options{})
	must(t, err)
	w.same(t, p)
	for _, line := range []string{"zfs destroy -r " + target.Dataset, "zfs receive -F " + target.Dataset + "/a", "id", ""} {
		out, err := exec.Command("ssh", append(append([]string{"-p", fmt.Sprint(port), "-o", "BatchMode=yes"}, options...), "root@127.0.0.1", line)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "refused") {
			t.Errorf("%q over SSH: %v, %s", line, err, out)
		}
	}
	elsewhere := target
	elsewhere.Dataset = w.to.Name + "/elsewhere"
	if _, err := r.Run(t.Context(), w.point(t, 10), elsewhere, Options{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("to another dataset: %v", err)
	}
}
