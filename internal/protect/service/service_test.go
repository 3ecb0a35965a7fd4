package service

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// TestSurely: what is not there, or does not run, needs no stopping.
func TestSurely(t *testing.T) {
	for _, stop := range [][]string{{"systemctl", "stop", "--", "plumb-no-such-unit.service"}, {"service", "plumb-no-such-service", "stop"}} {
		argv, sure := Surely(stop)
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil || !sure {
			t.Errorf("%q: %v: %s", argv, err, out)
		}
	}
	if got, sure := Surely([]string{"sh", "-c", "x"}); strings.Join(got, " ") != "sh -c x" || sure {
		t.Errorf("a command of a person's own became %q", got)
	}
}

// TestUntilEnded: a server that does not end is told by its number, and one that has is not waited for.
func TestUntilEnded(t *testing.T) {
	server := exec.Command("sleep", "60")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	wait := func() (string, error) {
		argv := untilEnded(server.Process.Pid, 1)
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		return string(out), err
	}
	if out, err := wait(); err == nil || !strings.Contains(out, "of the server has not ended 1s after") {
		t.Errorf("it runs: %v: %s", err, out)
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if out, err := wait(); err != nil || out != "" { // it is a zombie, which has let go of all
		t.Errorf("killed: %v: %s", err, out)
	}
	_ = server.Wait()
	if out, err := wait(); err != nil || out != "" {
		t.Errorf("it has ended: %v: %s", err, out)
	}
}

// TestComesBack: a server that is not seen to run would count as stopped, one whose unit starts nothing would stay stopped, and one that
// systemd starts for the next client would not.
func TestComesBack(t *testing.T) {
	const asks = "systemctl show --property=CanStart,Transient,TriggeredBy -- db.service"
	const state = "systemctl show --property=ActiveState -- "
	at := host.Target{Network: "unix", Address: "/run/db.sock"}
	for _, c := range []struct{ unit, said, listens, want string }{
		{"", "", "/run/db.sock", ""}, {"db.service", "CanStart=yes\nTransient=no\n", "/run/db.sock", ""},
		{"db.service", "CanStart=no\nTransient=no\n", "/run/db.sock", "could not be started again"}, {"", "", "/run/other.sock", "cannot be seen from here"},
		{"db.service", "CanStart=yes\nTransient=no\nTriggeredBy=idle.socket\n", "/run/db.sock", ""},
		{"db.service", "CanStart=yes\nTransient=no\nTriggeredBy=idle.socket db.socket\n", "/run/db.sock", "db.socket starts it again"},
		{"db.service", "CanStart=yes\nTransient=no\nTriggeredBy=gone.socket\n", "/run/db.sock", "would be started by gone.socket"},
	} {
		h := hosttest.Map{Outputs: map[string]string{asks: c.said, state + "idle.socket": "ActiveState=inactive\n", state + "db.socket": "ActiveState=active\n"}, Files: map[string]string{"/proc/net/unix": "ffff0000: 00000002 00000000 00010000 0001 01 4711 " + c.listens + "\n", c.listens: ""}}
		if err := ComesBack(t.Context(), h, c.unit, at); (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || hint.Of(err) == "") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A server that was stopped is not back because another one, with a root of its own, listens under the same name.
func TestAnotherOfTheNameIsNotTheServer(t *testing.T) {
	perl, err := exec.LookPath("perl")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs root, and perl: apt-get install perl-base")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	pids := map[string]string{} // by the root
	for _, root := range []string{"/", filepath.Join(dir, "guest")} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		server := exec.Command(perl, "-MSocket", "-e", `$| = 1; chroot $ARGV[0] and socket(S, AF_UNIX, SOCK_STREAM, 0) and bind(S, sockaddr_un($ARGV[1])) and listen(S, 5) and print "in\n"; sleep 600`, root, socket)
		out, err := server.StdoutPipe()
		if err == nil {
			err = server.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
		if n, err := out.Read(make([]byte, 3)); n != 3 || err != nil {
			t.Fatalf("%s: %d bytes, %v", root, n, err)
		}
		pids[root] = strconv.Itoa(server.Process.Pid)
	}
	look, shows, err := Listening("unix", socket)
	if err != nil || shows != socket {
		t.Fatal(shows, err)
	}
	k := change.NewExecutor(hosttest.LiveDoer(t), "test")
	k.Dir = filepath.Join(dir, "journal")
	stop := change.Switch{On: "the server", Inspect: look, After: change.None, Patience: 20_000, Do: change.Commands([]string{"sh", "-c", `kill "$1" && rm "$2"`, "sh", pids["/"], socket}), Undo: change.Commands([]string{"true"})}
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "server", Name: "x"}, Name: "stop"}}, Recipe: change.Recipe{Acts: []change.Act{{Switch: &stop}}}}}}, change.ApplyOptions{})
	if err != nil {
		t.Fatal(err) // it would count as running for the other's sake
	}
	ctx, end := context.WithTimeout(t.Context(), time.Second)
	defer end()
	if err := k.Undo(ctx, []int{out.Number}, change.UndoOptions{}); err == nil {
		t.Error("it counts as started again")
	}
}
