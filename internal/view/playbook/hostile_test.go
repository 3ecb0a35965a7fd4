package playbook

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/test/sandbox"
)

// victim makes a file that root alone may read.
func victim(t *testing.T) (name string, untouched func()) {
	t.Helper()
	name = filepath.Join(sandbox.Open(t), "victim")
	scratchFile(t, filepath.Dir(name), "victim", "root's\n")
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, func() {
		t.Helper()
		text, err := os.ReadFile(name)
		info, err2 := os.Lstat(name)
		if err != nil || err2 != nil || string(text) != "root's\n" || info.Mode() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			t.Fatalf("it is %q, %v, %v %v", text, info.Mode(), err, err2)
		}
	}
}

func shells(t *testing.T, do func(t *testing.T, shell string)) {
	t.Helper()
	for _, shell := range []string{"sh", "dash", "bash"} {
		if path, err := exec.LookPath(shell); err == nil {
			t.Run(shell, func(t *testing.T) { do(t, path) })
		}
	}
}

// A link under the name that a script's new file once had leads it nowhere.
func TestScriptFollowsNoPlantedLink(t *testing.T) {
	shells(t, func(t *testing.T, shell string) {
		name, untouched := victim(t)
		r, run := newScriptRun(t, shell)
		for _, file := range []string{"etc/my.cnf", "etc/sysctl.conf"} {
			if err := os.Symlink(name, filepath.Join(r.dir, file+".plumb-new")); err != nil {
				t.Fatal(err)
			}
		}
		for _, verb := range []string{"apply", "undo"} {
			if out, err := run(verb); err != nil {
				t.Fatalf("%s: %v\n%s", verb, err, out)
			}
			untouched()
		}
	})
}

// Where another user can put links as fast as he likes, the script works as he
// does, so that they lead to nothing of root's. Where several can, it says so
// and edits nothing.
func TestScriptIsTheOwnerInOthersDirectories(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to start a process of another user")
	}
	shells(t, func(t *testing.T, shell string) {
		name, untouched := victim(t)
		r, run := newScriptRun(t, shell)
		for dir := r.dir; dir != os.TempDir(); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		etc := filepath.Join(r.dir, "etc")
		if err := os.Chown(etc, sandbox.Nobody, sandbox.Nobody); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("bash", "-c", fmt.Sprintf(`cd %s && : >ready; while :; do for f in my.cnf sysctl.conf; do
	for n in $f $f.plumb-new; do ln -sfn %s $n; done; for n in $f.plumb-new.??????; do ln -sfn %[2]s $n; done; rm -f $f; echo "[mysqld]" >$f; done; done 2>/dev/null`, etc, name))
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: sandbox.Nobody, Gid: sandbox.Nobody}}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL); _ = c.Wait() }()
		for ready := false; !ready; {
			_, err := os.Lstat(etc + "/ready")
			ready = err == nil
		}
		for range 5 {
			_, _ = run("apply") // what comes of it is between him and himself
			untouched()
			_, _ = run("undo")
			untouched()
		}
		if err := os.Chmod(etc, 0o777); err != nil {
			t.Fatal(err)
		}
		out, err := run("apply")
		if err == nil || !strings.Contains(out, "others can change "+etc) {
			t.Fatalf("%v\n%s", err, out)
		}
		untouched()
	})
}
