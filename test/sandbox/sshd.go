package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// SSHD starts a server on the loopback for root with one key, which may run one command and nothing else. It gives its
// port and what ssh needs.
func SSHD(t testing.TB, forced string) (port int, options []string) {
	t.Helper()
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skip("no sshd (apt-get install openssh-server)")
	}
	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		_, err := output(exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)))
		Need(t, err)
	}
	public, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	Need(t, err)
	if os.Mkdir("/run/sshd", 0o755) == nil { // sshd wants it
		t.Cleanup(func() { os.Remove("/run/sshd") })
	}
	port = FreePort(t)
	Need(t, os.WriteFile(filepath.Join(dir, "authorized"), fmt.Appendf(nil, `restrict,command="%s" %s`, forced, public), 0o600))
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin forced-commands-only\n", port, dir, dir)
	Need(t, os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600))
	c := exec.Command("/usr/sbin/sshd", "-D", "-f", filepath.Join(dir, "config"))
	Need(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	for late := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			conn.Close()
			return port, []string{"-F", "none", "-i", filepath.Join(dir, "user"), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + filepath.Join(dir, "known")}
		} else if time.Now().After(late) {
			t.Fatal(err)
		}
	}
}
