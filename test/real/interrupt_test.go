package real

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An interrupted command ends at once, says so, and leaves no half file.
func TestInterrupt(t *testing.T) {
	dir := fakeZFS(t, "exec sleep 3017.3")
	tape := filepath.Join(t.TempDir(), "x.tape")
	for _, args := range [][]string{{"check"}, {"stack"}, {"capture", "-o", tape}} {
		t.Run(args[0], func(t *testing.T) {
			cmd := exec.Command(shared.plumb.Path, args...)
			withPath(dir)(cmd)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			check(t, cmd.Start())
			for range 6000 { // until it waits for zpool
				if len(left("3017.3")) > 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			started := time.Now()
			check(t, cmd.Process.Signal(os.Interrupt))
			cmd.Wait()
			if took := time.Since(started); took > 20*time.Second {
				t.Errorf("it ended after %v", took)
			}
			if code := cmd.ProcessState.ExitCode(); code != 3 || errs.String() != "plumb: read this host: interrupted\n" || out.Len() > 0 {
				t.Errorf("exit %d, %q, %d bytes of output", code, errs.String(), out.Len())
			}
			for late := time.Now().Add(20 * time.Second); len(left("3017.3")) > 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(late) {
					t.Fatalf("left running: %v", left("3017.3"))
				}
			}
		})
	}
	if names, _ := os.ReadDir(filepath.Dir(tape)); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// A reader that goes away ends the writer without a word, as it does for any
// program; a full disk is said.
func TestOutputThatCannotBeWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("reads this host: run without -short")
	}
	out, err := exec.Command("sh", "-c", `"$0" rules --json | head -c 10 >/dev/null; "$0" rules > /dev/full; echo "exit $?"; "$0" check > /dev/full; echo "exit $?"; "$0" capture > /dev/full; echo "exit $?"`,
		shared.plumb.Path).CombinedOutput()
	check(t, err)
	text := string(out)
	if strings.Count(text, "no space left on device\nexit 3\n") != 3 || strings.Count(text, "\n") != 6 {
		t.Errorf("it says:\n%s", text)
	}
	r, w, err := os.Pipe()
	check(t, err)
	r.Close()
	cmd := exec.Command(shared.plumb.Path, "rules")
	cmd.Stdout = w
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.Run()
	w.Close()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGPIPE || errs.Len() > 0 {
		t.Errorf("ended with %v, %q", cmd.ProcessState, errs.String())
	}
}
