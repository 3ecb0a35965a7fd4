package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/host"
	"plumb/internal/lab/experiment"
	"plumb/test/sandbox"
)

// oneFile is an engine whose servers have one configuration file.
type oneFile struct{ Engine }

func (oneFile) Files(_ Program, _ experiment.Server, _, run string) (map[string][]byte, error) {
	return map[string][]byte{run + "/my.cnf": []byte("[mysqld]\n")}, nil
}

// The user that servers run as, whose server on this machine may have been
// broken into, puts links in the way of root as fast as he can.
func TestTheServersUserGainsNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to start a process of another user")
	}
	dir := sandbox.Open(t)
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	defer doer.Close()
	l := &Lab{Box: Workspace{Dir: dir, Do: doer}, UID: sandbox.Nobody, GID: sandbox.Nobody}
	made := &layout{place: 1, engine: oneFile{}}
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.fresh(t.Context(), l.runDir(1)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("bash", "-c", fmt.Sprintf(`cd %s && : >ready; while :; do
	ln -sfn %[2]s my.cnf; ln -sfn %[2]s .my.cnf.plumb-new; ln -sfn %[2]s output.log; rm -f my.cnf; : >my.cnf; done 2>/dev/null`, l.runDir(1), victim))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: sandbox.Nobody, Gid: sandbox.Nobody}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL); _ = c.Wait() }()
	for ready := false; !ready; {
		_, err := os.Lstat(l.runDir(1) + "/ready")
		ready = err == nil
	}
	written := 0
	for written < 100 {
		if err := l.configure(t.Context(), made, experiment.Server{}, ""); err == nil {
			written++
		}
		if said := l.tail(t.Context(), l.runDir(1)+"/output.log"); strings.Contains(said, "root's") {
			t.Fatal("root's file was read for an error's text")
		}
		info, err := os.Lstat(victim)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(victim)
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 0 || string(text) != "root's" {
			t.Fatalf("root's file is %q of user %d", text, st.Uid)
		}
	}
}
