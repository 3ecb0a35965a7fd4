package service

import (
	"os/exec"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
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
		h := hosttest.Map{Outputs: map[string]string{asks: c.said, state + "idle.socket": "ActiveState=inactive\n", state + "db.socket": "ActiveState=active\n"}, Files: map[string]string{"/proc/net/unix": "ffff0000: 00000002 00000000 00010000 0001 01 4711 " + c.listens + "\n"}}
		if err := ComesBack(t.Context(), h, c.unit, at); (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || hint.Of(err) == "") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
