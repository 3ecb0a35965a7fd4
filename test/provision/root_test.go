// Package provision tests what provision does to a whole system: in a Debian of its own, where it
// may install and remove what it likes.
package provision

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/test/namespace"
	"plumb/test/program"
	"plumb/test/sandbox"
)

const inside = "PLUMB_TEST_IN_ROOT"

// script makes a root of Debian's least system, in which nothing that is written reaches the
// cache, and changes into it.
const script = `set -e
at=$1 debian=$2 files=$3; shift 3
mount -t tmpfs tmpfs "$at"
mkdir "$at/upper" "$at/work" "$at/root"
mount -t overlay overlay -o "lowerdir=$debian,upperdir=$at/upper,workdir=$at/work" "$at/root"
cd "$at/root"
cp /etc/resolv.conf etc/resolv.conf
cp "$0" run/test
[ -z "$files" ] || cp "$files" run/
mount -t proc proc proc
mount --rbind /dev dev
mount -t sysfs -o ro sysfs sys
chroot . /run/test "$@" # not as the first process, which has to wait for orphans: the shell does
`

// inDebian runs the test again in a Debian of its own, and tells whether that is here. A file comes along, to /run.
func inDebian(t *testing.T) bool { return inDebianWith(t, "") }

func inDebianWith(t *testing.T, file string) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	sandbox.NeedTime(t, "installs servers into a Debian of its own, a minute: run it with PLUMB_REAL=1")
	debian, err := sandbox.DebianRoot()
	sandbox.Need(t, err)
	ports, err := sandbox.Alone("usual-ports") // its servers listen where their packages have them do, on this machine's network
	must(t, err)
	defer ports.Close()
	for _, port := range []string{"3306", "5432"} {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Skipf("a server of Debian's packages needs port %s of this machine: %v", port, err)
		}
		must(t, l.Close())
	}
	self, err := os.Executable()
	must(t, err)
	own := []string{"--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c"}
	c := exec.Command("unshare", append(own, namespace.LetGo("")+script, self, t.TempDir(), debian, file, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v", "-test.timeout=40m")...)
	c.Env = append(os.Environ(), inside+"=1", "TMPDIR=/tmp", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machine is the system that a test runs in, with a journal.
type machine struct {
	t *testing.T
	h *host.LiveDoer
	k *change.Executor
}

func newMachine(t *testing.T) *machine {
	h := host.NewLiveDoer(host.NewLive(host.LiveOptions{CommandTime: 5 * time.Minute}))
	t.Cleanup(func() { h.Close() })
	k := change.NewExecutor(h, "test")
	return &machine{t, h, k}
}

// draft makes recipes ready as the steps of one change.
func draft(recipes ...change.Recipe) (d change.Draft) {
	for i, r := range recipes {
		d.Steps = append(d.Steps, change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: fmt.Sprint("stage", i)}}, Recipe: r})
	}
	return d
}

// apply does recipes as one change.
func (m *machine) apply(recipes ...change.Recipe) (number int, err error) {
	m.t.Helper()
	out, err := m.k.Apply(context.Background(), draft(recipes...), change.ApplyOptions{Begin: change.Begin{Host: "test"}})
	return out.Number, err
}

func (m *machine) undo(number int, o change.UndoOptions) error {
	return m.k.Undo(context.Background(), []int{number}, o)
}

// exists tells whether a file is there.
func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// waitFor waits until something holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	const most = 10 * time.Minute // on a machine on which much else runs
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("after %s there is no %s", most, what)
}

// goneOn runs a command after one that was killed, and again for as long as it says that something which that one started still runs. It
// gives what it says then.
func goneOn(t *testing.T, command func() *exec.Cmd) (out []byte, err error) {
	t.Helper()
	waitFor(t, "end of what a killed plumb has left", func() bool {
		out, err = command().CombinedOutput()
		return !program.Awaits(out)
	})
	return out, err
}

// processes gives the numbers of the processes of a name in this root that have not ended. Orphans
// are this process's children, who does not wait for them.
func processes(name string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, f := range all {
		text, err := os.ReadFile(f)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err == nil && len(line) > 0 && strings.TrimSpace(string(text)) == name {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}
