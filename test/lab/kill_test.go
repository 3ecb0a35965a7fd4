package lab

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kills is how often the lab is killed.
func kills() int {
	if os.Getenv("PLUMB_REAL") != "" {
		return 10
	}
	return 2
}

// crash is the experiment in which the lab is killed. Two kills come before the end of the first block, so there a second one would only
// be waited for.
func (l lab) crash() string {
	l.t.Helper()
	const file, two, one = "testdata/crash.yaml", "{least: 2, most: 2}", "{least: 1, most: 1}"
	if kills() > 2 {
		return file
	}
	text, err := os.ReadFile(file)
	must(l.t, err)
	if strings.Count(string(text), two) != 1 {
		l.t.Fatalf("%s has not two blocks", file)
	}
	short := filepath.Join(l.t.TempDir(), "crash.yaml")
	must(l.t, os.WriteFile(short, []byte(strings.Replace(string(text), two, one, 1)), 0o600))
	return short
}

// The lab is killed at random moments and resumed: in the end the ledger has
// the trials of an uninterrupted run, and nothing is left on the machine.
func TestKilled(t *testing.T) {
	needRoot(t)
	needServer(t, mariadb, "/sbin/mkfs.xfs")
	l := newLab(t)
	file := l.crash()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range kills() {
		args := l.args(file)
		if i > 0 {
			args = append(args, "--resume")
		}
		after := time.Duration(200+r.IntN(12000)) * time.Millisecond
		if l.killed(after, args) {
			t.Logf("kill %d after %s", i+1, after)
		} else {
			t.Logf("kill %d: it had ended within %s", i+1, after)
		}
	}
	l.run(file, "--resume")
	x, records := l.records(file)
	if got := trials(records); !slices.Equal(got, wanted(x)) {
		t.Errorf("trials: %v, want %v; marked: %q", got, wanted(x), marks(records))
	}
	l.nothingLeft()
}

// What a killed lab left is listed and taken away, and nothing else.
func TestSweep(t *testing.T) {
	needRoot(t)
	needServer(t, mariadb, "/sbin/mkfs.xfs")
	l := newLab(t)
	if !l.killed(8*time.Second, l.args("testdata/crash.yaml")) {
		t.Fatal("it had ended before it could be killed")
	}
	out, _ := plumb.Run(t, 0, "lab", "sweep", "--state", l.state, "--dry-run")
	t.Log(out)
	plumb.Run(t, 0, "lab", "sweep", "--state", l.state, "--yes")
	l.nothingLeft()
}

// killed runs plumb and kills it after a time; false when it had ended.
func (l lab) killed(after time.Duration, args []string) bool {
	l.t.Helper()
	cmd := exec.Command(plumb.Path, args...)
	must(l.t, cmd.Start())
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	select {
	case <-done:
		return false
	case <-time.After(after):
		must(l.t, cmd.Process.Signal(syscall.SIGKILL))
		<-done
		return true
	}
}
