package layout

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"plumb/internal/change"
	"plumb/test/namespace"
)

// held starts a process with mounts of its own, as a container has that starts, and gives what ends it. It takes what the box has mounted
// along.
func (x *box) held() (pid int, end func()) {
	x.t.Helper()
	c := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", namespace.LetGo(x.Dir)+"echo; exec sleep 600")
	out, err := c.StdoutPipe()
	if err != nil {
		x.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		x.t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	x.t.Cleanup(end)
	if n, err := out.Read(make([]byte, 1)); n == 0 {
		x.t.Fatalf("no mounts of its own can be had here: %v", err)
	}
	return c.Process.Pid, end
}

// patient runs an operation as an undo does: again, while what is unmounted here is held elsewhere, as by the tests beside this one.
func patient(op change.Op, env ...string) (string, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c := exec.Command(op.Argv[0], op.Argv[1:]...)
		c.Env = append(os.Environ(), env...)
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "is unmounted here, and busy") || time.Now().After(end) {
			return string(out), err
		}
	}
}
