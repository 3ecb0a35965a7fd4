package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/trust"
)

// TestTheListenerIsAskedOnTheConnectionItself: a socket of another user's process
// is no server that a file's password may be told, wherever it lies and
// whoever owns the path; the same socket of our own is.
func TestTheListenerIsAskedOnTheConnectionItself(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan int, 4)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n, _ := c.Read(make([]byte, 1)) // nothing, when the line is hung up
			heard <- n
			c.Close()
		}
	}()
	r := Server{Engine: "mysql", Network: "unix", Address: socket, Secret: trust.Secret{File: "/root/.my.cnf"}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := r.Dial(ctx) // our own
	if err != nil {
		t.Fatal(err)
	}
	p, err := listener(conn)
	conn.Close()
	<-heard
	if err != nil || p.PID != os.Getpid() || len(p.UIDs) != 1 || p.UIDs[0] != os.Getuid() || p.Apart != "" {
		t.Errorf("who listens: %+v, %v", p, err)
	}
	if os.Getuid() != 0 {
		t.Skip("needs root to run a process as another user")
	}
	other := exec.Command("sleep", "60")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	r.PID = other.Process.Pid
	_, err = r.Dial(ctx)
	if n := <-heard; n != 0 || !errors.Is(err, host.ErrWithheld) || !errors.Is(err, host.ErrLogin) || host.Withheld(err) == nil {
		t.Errorf("a server of another user: %v; %d bytes were sent", err, n)
	}
	r.Secret = trust.Secret{}
	if conn, err := r.Dial(ctx); err != nil {
		t.Errorf("a login without a secret: %v", err)
	} else {
		conn.Close()
	}
}

func TestServicesOfTheSystemAlone(t *testing.T) {
	for groups, want := range map[string]string{
		"0::/system.slice/mariadb.service\n":                                           "mariadb.service",
		"0::/system.slice/system-postgresql.slice/postgresql@15-main.service/x\n":      "postgresql@15-main.service",
		"12:cpu:/system.slice/mariadb.service\n1:name=systemd:/user.slice/a.service\n": "",
		"1:name=systemd:/system.slice/mysql.service\n0::/\n":                           "mysql.service",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/mariadb.service\n": "",
		"0::/system.slice/docker-0123.scope\n":                                         "",
		"0::/../system.slice/mariadb.service\n":                                        "",
		"":                                                                             "",
	} {
		if got := systemUnit(groups); got != want {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}

// TestSocketsOfContainersAreFoundInsideThem: a process in a directory as its root has
// an absolute link to a socket; the host has another socket there.
func TestSocketsOfContainersAreFoundInsideThem(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give a process another root directory")
	}
	top := t.TempDir()
	inside := filepath.Join(top, "container")
	place := filepath.Join(top, "run") // the same path outside and inside
	for _, dir := range []string{place, inside + place, inside + "/proc", inside + "/bin"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listen := func(name string) net.Listener {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Skipf("needs a temporary directory with a shorter name: %v", err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	outer := listen(place + "/s")
	inner := listen(inside + place + "/s")
	if err := os.Symlink(place+"/s", inside+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../../../../.."+place+"/s", inside+"/up"); err != nil {
		t.Fatal(err)
	}
	p := rooted(t, inside)
	for _, s := range []string{place + "/s", inside + place + "/s"} {
		if err := os.Chmod(s, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range []string{"/link", "/up", place + "/s"} {
		for _, uid := range []int{0, 65534} {
			conn, err := dialUnixAs(ctx, uid, p+name)
			if err != nil {
				t.Errorf("%s as %d: %v", name, uid, err)
				continue
			}
			conn.Close()
			if !accepted(inner, time.Minute) {
				t.Errorf("%s as %d led to the socket of the host", name, uid)
			}
		}
	}
	if accepted(outer, 50*time.Millisecond) { // it waits already, if it does
		t.Error("the host's socket was reached")
	}
	if who := processOf(pidOf(p)); !strings.Contains(who.Apart, "another root directory") {
		t.Errorf("the process is not seen to be apart: %+v", who)
	}
}

// accepted reports whether a connection comes to a listener within a time.
func accepted(l net.Listener, within time.Duration) bool {
	_ = l.(*net.UnixListener).SetDeadline(time.Now().Add(within))
	c, err := l.Accept()
	if err == nil {
		c.Close()
	}
	return err == nil
}

// rooted starts a process with a directory as its root, and gives its root in
// /proc.
func rooted(t *testing.T, dir string) string {
	t.Helper()
	perl, err := exec.LookPath("perl")
	if err != nil {
		t.Skip("needs perl, which can change its root without another program: apt-get install perl-base")
	}
	cmd := exec.Command(perl, "-e", `$| = 1; chroot $ARGV[0] and chdir "/" and print "in\n"; sleep 600`, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if n, err := out.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Fatalf("change the root: %d bytes, %v", n, err)
	}
	return fmt.Sprintf("/proc/%d/root", cmd.Process.Pid)
}

func pidOf(root string) int { return uniqueNumbers([]string{strings.Split(root, "/")[2]})[0] }
