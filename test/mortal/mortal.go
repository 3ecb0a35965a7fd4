// Package mortal is for tests that look at what a killed process leaves: a
// machine on which the process dies at one of its operations, and the loop
// that tries all such deaths.
package mortal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/host"
)

// env tells a process at which operation it dies, and how.
const env = "PLUMB_MORTAL"

// Machine is a doer on this machine whose process dies at one operation.
type Machine struct {
	*host.LiveDoer
	At  int    // operation at which it dies, from 1; 0: never
	How string // before, amid or after it; amid only where half of it can be done
	N   int    // operations so far
}

// Born gives the machine of a process that Live started.
func Born() (*Machine, error) {
	m := &Machine{LiveDoer: host.NewLiveDoer(host.NewLive(host.LiveOptions{}))}
	if _, err := fmt.Sscan(os.Getenv(env), &m.At, &m.How); err != nil {
		return nil, fmt.Errorf("read %s: %w", env, err)
	}
	return m, nil
}

// Tell prints how many operations there were, for Live to read.
func (m *Machine) Tell() { fmt.Println("operations", m.N) }

func (m *Machine) die(how string) {
	if m.N == m.At && m.How == how {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (m *Machine) around(do func() error) error {
	m.N++
	m.die("before")
	err := do()
	m.die("after")
	return err
}

// Append implements host.Doer. A process that dies amid it has written half.
func (m *Machine) Append(ctx context.Context, name string, data []byte) error {
	return m.around(func() error {
		if m.N == m.At && m.How == "amid" {
			_ = m.LiveDoer.Append(ctx, name, data[:len(data)/2])
			m.die("amid")
		}
		return m.LiveDoer.Append(ctx, name, data)
	})
}

// Run implements host.Doer.
func (m *Machine) Run(ctx context.Context, argv ...string) (out []byte, err error) {
	err = m.around(func() error { out, err = m.LiveDoer.Run(ctx, argv...); return err })
	return out, err
}

// Write implements host.Doer.
func (m *Machine) Write(ctx context.Context, name string, data []byte) error {
	return m.around(func() error { return m.LiveDoer.Write(ctx, name, data) })
}

// Remove implements host.Doer.
func (m *Machine) Remove(ctx context.Context, name string) error {
	return m.around(func() error { return m.LiveDoer.Remove(ctx, name) })
}

// MakeDir implements host.Doer.
func (m *Machine) MakeDir(ctx context.Context, name string, perm fs.FileMode, uid, gid int) error {
	return m.around(func() error { return m.LiveDoer.MakeDir(ctx, name, perm, uid, gid) })
}

// Rename implements host.Doer.
func (m *Machine) Rename(ctx context.Context, from, to string) error {
	return m.around(func() error { return m.LiveDoer.Rename(ctx, from, to) })
}

// Start implements host.Launcher.
func (m *Machine) Start(ctx context.Context, p host.Process) (r host.Running, err error) {
	err = m.around(func() error { r, err = m.LiveDoer.Start(ctx, p); return err })
	return r, err
}

// Pipe implements host.Streamer.
func (m *Machine) Pipe(ctx context.Context, p host.Pipe) (f host.Flow, err error) {
	err = m.around(func() error { f, err = m.LiveDoer.Pipe(ctx, p); return err })
	return f, err
}

// Live runs a command whose process has its machine from Born, to its death
// when at is not 0, and gives how many operations it told of.
func Live(t *testing.T, c *exec.Cmd, at int, how string) (operations int) {
	t.Helper()
	c.Env = append(c.Environ(), fmt.Sprintf("%s=%d %s", env, at, how))
	out, err := c.CombinedOutput()
	if killed := Killed(err); killed && at == 0 || !killed && err != nil {
		t.Fatalf("to die %s operation %d: %v: %s", how, at, err, out)
	}
	for line := range strings.Lines(string(out)) {
		fmt.Sscanf(line, "operations %d", &operations)
	}
	return operations
}

// Killed tells of how a command ended whether it was killed.
func Killed(err error) bool {
	ended, ok := errors.AsType[*exec.ExitError](err)
	return ok && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// Ways tries the deaths of a process that has n operations, one in every so
// many, until the test has failed.
func Ways(t *testing.T, n, every int, try func(at int, how string)) {
	t.Helper()
	for at := 1; at <= n && !t.Failed(); at++ {
		for i, how := range []string{"before", "amid", "after"} {
			if (at*3+i)%every == 0 {
				try(at, how)
			}
		}
	}
}
