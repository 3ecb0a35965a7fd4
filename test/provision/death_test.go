package provision

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

const installs = "PLUMB_TEST_INSTALLS"

// TestInstallForAnother is the Plumb that is killed.
func TestInstallForAnother(t *testing.T) {
	flavor := os.Getenv(installs)
	if flavor == "" {
		t.Skip("it is run, and killed, by others")
	}
	m := newMachine(t)
	_, err := m.apply(m.recipeOf(flavor))
	must(t, err)
}

// dies installs a server in a process of its own, and kills that with all it
// started once a file is there. It gives the change's number.
func (m *machine) dies(flavor, amid string) int {
	m.t.Helper()
	c := exec.Command("/run/test", "-test.run=^TestInstallForAnother$")
	c.Env = append(os.Environ(), installs+"="+flavor)
	must(m.t, c.Start())
	waitFor(m.t, amid, func() bool { return exists(amid) })
	must(m.t, c.Process.Kill())
	all, err := os.ReadDir("/proc")
	must(m.t, err)
	for _, e := range all { // this root has processes of its own alone
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && pid != 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = c.Wait()
	waitFor(m.t, "end of dpkg", func() bool { return processes("dpkg") == nil && processes("apt-get") == nil })
	changes, err := m.k.Changes(context.Background())
	must(m.t, err)
	return changes[len(changes)-1].Number
}
