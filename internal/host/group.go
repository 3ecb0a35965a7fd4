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

// graceTime is how long a command may take to end once it is told to, or killed.
const graceTime = 5 * time.Second

// processGroup is a command, and the processes it starts as long as they stay in its process group.
type processGroup struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	barred bool // it must not be started any more
	alive  bool // started and not yet waited for: its number cannot be another process's
}

func newGroup(program string, argv []string) *processGroup {
	cmd := exec.Command(program, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + strings.Join(searchPath(), ":"), "LC_ALL=C", "HOME=/", "TERM=dumb", "SYSTEMD_PAGER="}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &processGroup{cmd: cmd}
}

// start starts the command. That can hang.
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

// signal sends a signal to the command and what it started. If the command has not been started it will not be any more. signal does not
// wait: not even for a command that is being started right now, as that can hang.
func (g *processGroup) signal(s Signal) {
	if !g.mu.TryLock() {
		go func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.signalLocked(s)
		}()
		return
	}
	defer g.mu.Unlock()
	g.signalLocked(s)
}

// signalLocked is signal for who has the mutex.
func (g *processGroup) signalLocked(s Signal) {
	g.barred = true
	if g.alive {
		_ = syscall.Kill(-g.cmd.Process.Pid, s) // it may have ended by itself
	}
}

// untilExit waits until a child has ended, and leaves it a zombie. As long as it is
// one, its number cannot be given to another process, so that the rest of its group can
// be killed safely.
func untilExit(pid int) {
	_ = walk.Retry(func() error { return unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) })
}
