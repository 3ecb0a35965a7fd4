package instance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
)

// nobodys is a user whom no machine has.
const nobodys = 61184

// All that a user runs is found and ended, also what was started meanwhile.
func TestEndAll(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("runs processes as another user: run as root")
	}
	d := hosttest.LiveDoer(t)
	c := exec.Command("sh", "-c", "while sleep 0.2; do setsid sleep 1000 & done")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodys, Gid: nobodys}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Wait() }()
	pids, err := of(t.Context(), d, nobodys)
	for end := time.Now().Add(time.Minute); err == nil && len(pids) < 3 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		pids, err = of(t.Context(), d, nobodys)
	}
	if err != nil || len(pids) < 2 || !slices.Contains(pids, strconv.Itoa(c.Process.Pid)) {
		t.Errorf("it runs %v, %v", pids, err)
	}
	if err := endAll(t.Context(), d, nobodys); err != nil {
		t.Error(err)
	}
	if pids, err := of(t.Context(), d, nobodys); err != nil || len(pids) > 0 {
		t.Errorf("it still runs %v, %v", pids, err)
	}
}

// A program that others than root can change is asked nothing.
func TestVersionOf(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("gives files to another user: run as root")
	}
	d, dir := hosttest.LiveDoer(t), t.TempDir()
	mark := filepath.Join(dir, "was-run")
	for _, c := range []struct {
		name  string
		spoil func(program string) error
	}{
		{"another's", func(p string) error { return os.Chown(p, nobodys, nobodys) }},
		{"writable", func(p string) error { return os.Chmod(p, 0o775) }},
		{"below another's directory", func(p string) error { return os.Chown(filepath.Dir(p), nobodys, nobodys) }},
	} {
		program := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-"), "mariadbd")
		if err := os.Mkdir(filepath.Dir(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(program); err != nil {
			t.Fatal(err)
		}
		if _, err := versionOf(context.Background(), d, protect.Server{UID: nobodys, GID: nobodys}, program); err == nil || !strings.Contains(err.Error(), "can change") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("one was run")
	}
}
