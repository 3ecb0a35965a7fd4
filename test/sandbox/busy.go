package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Busy runs a program in a directory, as a server does in its data directory, until end is called. hasty is a directory for
// PATH with a sleep that takes no time, so that a script that waits for the program's end soon gives up.
func Busy(t testing.TB, dir string) (pid int, hasty string, end func()) {
	t.Helper()
	c := exec.Command("sleep", "60")
	c.Dir = dir
	Need(t, c.Start())
	end = func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed, or waited for before
	}
	t.Cleanup(end)
	hasty = t.TempDir()
	Need(t, os.WriteFile(filepath.Join(hasty, "sleep"), []byte("#!/bin/sh\n"), 0o755))
	return c.Process.Pid, hasty, end
}
