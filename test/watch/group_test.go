package watch

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// write writes a file of a control group.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0); err != nil {
		sandbox.Need(t, sandbox.Missing{What: "cannot write " + name + ": " + err.Error(), Hint: "run where control groups of version 1 can be written"})
	}
}

// own makes a control group of version 1 for a server, and gives the command
// that starts it there.
func own(t *testing.T, controllers ...string) (paths map[string]string, wrap []string) {
	t.Helper()
	paths = map[string]string{}
	script := ""
	for _, c := range controllers {
		dir := fmt.Sprintf("/sys/fs/cgroup/%s/plumb-watch-%d", c, os.Getpid())
		if err := os.Mkdir(dir, 0o755); err != nil {
			sandbox.Need(t, sandbox.Missing{What: "cannot make a control group: " + err.Error(), Hint: "run as root where control groups of version 1 are"})
		}
		t.Cleanup(func() {
			for range 50 {
				if os.Remove(dir) == nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
		paths[c] = dir
		script += "echo $$ > " + dir + "/cgroup.procs && "
	}
	return paths, []string{"sh", "-c", script + `exec "$@"`, "sh"}
}

func deviceNumber(t *testing.T, device string) string {
	t.Helper()
	text, err := os.ReadFile("/sys/class/block/" + device + "/dev")
	check_(t, err)
	return strings.TrimSpace(string(text))
}
