package processes

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// listenIn starts a process that listens at a socket in another root directory.
func listenIn(t *testing.T, root, socket string) {
	t.Helper()
	perl, err := exec.LookPath("perl")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs root, and perl, which can change its root without another program: apt-get install perl-base")
	}
	if err := os.MkdirAll(filepath.Dir(root+socket), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(perl, "-MSocket", "-e", `$| = 1; chroot $ARGV[0] and socket(S, AF_UNIX, SOCK_STREAM, 0) and bind(S, sockaddr_un($ARGV[1])) and listen(S, 5) and print "in\n"; sleep 600`, root, socket)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if n, err := out.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Fatalf("listen in another root: %d bytes, %v", n, err)
	}
}

// A server with another root listens under the same name, and the kernel lists it like ours.
func TestListens(t *testing.T) {
	root, socket := t.TempDir(), filepath.Join(t.TempDir(), "s")
	listenIn(t, root, socket)
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	listens := func(what string, at string, want bool) {
		t.Helper()
		if is, err := Listens(t.Context(), h, at); is != want || err != nil {
			t.Errorf("%s: %v, %v", what, is, err)
		}
	}
	listens("the other alone", socket, false)
	listens("the other, by its name here", root+socket, false) // it has not given itself that name
	ours, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listens("both", socket, true)
	ours.SetUnlinkOnClose(false)
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	listens("ours has ended, and left its file", socket, false)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	listens("and that is gone", socket, false)
}

// Whoever listens counts when it cannot be seen where, and what cannot be read is an error.
func TestListensUnseen(t *testing.T) {
	const text = "ffff0000: 00000002 00000000 00010000 0001 01 4711 /run/s\n"
	here := map[string]host.Stat{"/run/s": {Inode: 7}}
	bad := errors.New("bad")
	for what, c := range map[string]struct {
		h    hosttest.Map
		want string
	}{
		"no process is seen":         {hosttest.Map{Files: map[string]string{"/proc/net/unix": text}, Stats: here}, "true <nil>"},
		"its root is not":            {hosttest.Map{Files: map[string]string{"/proc/net/unix": text}, Stats: here, Links: map[string]string{"/proc/9/fd/3": "socket:[4711]"}, Errors: map[string]error{"stat /proc/9/root/run/s": fs.ErrPermission}}, "true <nil>"},
		"it has another":             {hosttest.Map{Files: map[string]string{"/proc/net/unix": text}, Stats: map[string]host.Stat{"/run/s": {Inode: 7}, "/proc/9/root/run/s": {Inode: 8}}, Links: map[string]string{"/proc/9/fd/3": "socket:[4711]"}}, "false <nil>"},
		"it is the one":              {hosttest.Map{Files: map[string]string{"/proc/net/unix": text}, Stats: map[string]host.Stat{"/run/s": {Inode: 7}, "/proc/9/root/run/s": {Inode: 7}}, Links: map[string]string{"/proc/9/fd/3": "socket:[4711]"}}, "true <nil>"},
		"the list is not read":       {hosttest.Map{Errors: map[string]error{"file /proc/net/unix": bad}}, "false see who listens on /run/s: file /proc/net/unix: bad"},
		"the processes are not read": {hosttest.Map{Files: map[string]string{"/proc/net/unix": text}, Stats: here, Errors: map[string]error{"glob /proc/[0-9]*": bad}}, "false see who listens on /run/s: glob /proc/[0-9]*: bad"},
	} {
		is, err := Listens(t.Context(), c.h, "/run/s")
		if got := fmt.Sprint(is, " ", err); got != c.want {
			t.Errorf("%s: %s", what, got)
		}
	}
}
