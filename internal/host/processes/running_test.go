package processes

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"plumb/internal/host/hosttest"
)

// TestRunning: a command that runs is found by its arguments, also where a script stands in for its program, and not by a part of them.
// One of another user's is not: he could hinder what waits for it to end.
func TestRunning(t *testing.T) {
	word := fmt.Sprint("plumb-test-", os.Getpid())
	start := func(user uint32) {
		c := exec.Command("/bin/sh", "-c", "read x", word, "one")
		if user != 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		}
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = c.Wait() })
	}
	h := hosttest.LiveDoer(t)
	runs := func(argv ...string) bool {
		t.Helper()
		by, err := Running(t.Context(), h, argv)
		if err != nil {
			t.Fatal(err)
		}
		return by != ""
	}
	if os.Geteuid() == 0 {
		start(65534)
		if runs("x", "-c", "read x", word, "one") {
			t.Error("another user's counts")
		}
	}
	start(0)
	if !runs("zpool", "-c", "read x", word, "one") || !runs("x", word, "one") {
		t.Error("it is not found")
	}
	if runs("x", word) || runs("x", word, "on") || runs("x", "e", "one") {
		t.Error("another command counts as it")
	}
	if by, err := Running(t.Context(), h, []string{"a", "b", word}, []string{"x", word, "one"}); err != nil || by == "" {
		t.Errorf("among others: %q, %v", by, err)
	}
}
