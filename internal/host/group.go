package host

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
	"plumb/internal/host/walk"
)

// graceTime is how long a command is given to end, asked or killed.
const graceTime = 5 * time.Second

// processGroup is a command and all it starts that does not leave.
type processGroup struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	barred bool // no start any more
	alive  bool // started and not yet waited for: its number is nobody else's
}

func newGroup(program string, argv []string) *processGroup {
	cmd := exec.Command(program, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + strings.Join(searchPath(), ":"), "LC_ALL=C", "HOME=/", "TERM=dumb", "SYSTEMD_PAGER="}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &processGroup{cmd: cmd}
}

// start starts the command, which can hang.
func (g *processGroup) start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.barred {
		return context.DeadlineExceeded
	}
	err := g.cmd.Start()
	g.alive = err == nil
	return hint.Cause(err)
}

// wait waits for the command's end.
func (g *processGroup) wait() error {
	err := g.cmd.Wait()
	g.mu.Lock()
	g.alive = false
	g.mu.Unlock()
	return err
}

// signal tells the command and what it started to end. One that has not been
// started will not be. It does not wait.
func (g *processGroup) signal(s Signal) {
	if !g.mu.TryLock() { // it is just being started, which can hang as well
		go g.lockedSignal(s)
		return
	}
	g.mu.Unlock()
	g.lockedSignal(s)
}

func (g *processGroup) lockedSignal(s Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.barred = true
	if g.alive {
		_ = syscall.Kill(-g.cmd.Process.Pid, s) // it may have ended by itself
	}
}

// untilExit waits until a child has ended, and leaves it a zombie. As long as it is
// one, its number cannot be given to another, so what is left of its group can
// be killed.
func untilExit(pid int) {
	_ = walk.Retry(func() error { return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) })
}
