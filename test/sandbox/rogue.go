package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Nobody is the user that a rogue runs as.
const Nobody = 65534

// Open makes a directory that other users can pass through.
func Open(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	Need(t, os.Chmod(filepath.Dir(dir), 0o755))
	Need(t, os.Chmod(dir, 0o755))
	return dir
}

// Rogue starts a process of an ordinary user under the name of a server: a
// shell that runs a script, with any arguments. It ends with the test.
func Rogue(t testing.TB, name, script string, args ...string) (pid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to start a process of another user")
	}
	shell, err := exec.LookPath("bash")
	Need(t, err)
	text, err := os.ReadFile(shell)
	Need(t, err)
	program := filepath.Join(Open(t), name)
	Need(t, os.WriteFile(program, text, 0o755))
	c := exec.Command(program, append([]string{"-c", script, name}, args...)...)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
	Need(t, c.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait() // it was killed
	})
	return c.Process.Pid
}
