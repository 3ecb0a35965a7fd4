package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// A demo that is hung up leaves nothing: no server, no pool, no mount, no
// directory.
func TestHungUp(t *testing.T) {
	sandbox.NeedLong(t, "starts real servers: run without -short")
	if _, err := exec.LookPath("mariadbd"); err != nil {
		t.Skip("needs an installed MariaDB: apt-get install mariadb-server-core")
	}
	dir := sandbox.Open(t) // the servers' user looks through it
	demo := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.Command("go", "build", "-o", demo, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(demo, "-plumb", "/bin/false")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	for serves := false; !serves; time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("it ended by itself: %s", said.String())
		default:
			serves = len(processesOf(dir)) > 0
		}
	}
	for range 2 { // a shell and the kernel both say it
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(said.String(), "demo: interrupted") {
		t.Errorf("%v: %s", cmd.ProcessState, said.String())
	}
	if left := processesOf(dir); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || bytes.Contains(mounts, []byte(dir)) {
		t.Errorf("left mounted: %s, %v", mounts, err)
	}
	left, err := filepath.Glob(dir + "/plumb-demo*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// processesOf lists the command lines in which a directory stands.
func processesOf(dir string) (all []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(dir)) {
			all = append(all, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return all
}
