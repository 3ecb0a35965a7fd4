package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
	"plumb/internal/host/redact"
	"plumb/internal/host/walk"
)

var _ Launcher = (*LiveDoer)(nil)

// Start implements Launcher. The program gets a session and a process group
// of its own, so that no signal of a terminal reaches it, and writes straight
// to its log, so that it keeps running when we are killed.
func (h *LiveDoer) Start(ctx context.Context, p Process) (Running, error) {
	line := redact.Command(p.Argv)
	if len(p.Argv) == 0 {
		return nil, kindError{"start: no command given", ErrRefused}
	}
	if err := ctx.Err(); err != nil {
		return nil, Answered(fmt.Errorf("start %s: %w", line, err))
	}
	program, err := h.findProgram(ctx, p.Argv[0])
	if err != nil {
		return nil, Answered(fmt.Errorf("start %s: %w", line, err))
	}
	r, err := h.start(ctx, program, p)
	if err != nil {
		return nil, Answered(fmt.Errorf("start %s: %w", line, err))
	}
	return r, nil
}

// startTime is how long a program may take to begin. One on a filesystem that hangs never does.
const startTime = time.Minute

// start starts a program. One that begins when nobody waits for it any more is
// killed.
func (h *LiveDoer) start(ctx context.Context, program string, p Process) (*running, error) {
	var begun *running
	var taken atomic.Bool // set by whichever comes first, the start or our giving up; the other kills the program
	r, err := within(context.WithoutCancel(ctx), &h.unended, startTime, func(context.Context) (*running, error) {
		r, err := start(program, p)
		if begun = r; err == nil && taken.Swap(true) {
			err = errors.Join(context.DeadlineExceeded, r.Signal(Kill))
		}
		return r, err
	})
	if err != nil && taken.Swap(true) && begun != nil {
		err = errors.Join(err, begun.Signal(Kill))
	}
	return r, err
}

func start(program string, p Process) (*running, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	out := null
	if p.Log != "" {
		if out, err = openLog(p); err != nil {
			return nil, fmt.Errorf("open its log: %w", err)
		}
		defer out.Close()
	}
	cmd := exec.Command(program, p.Argv[1:]...)
	cmd.Args[0] = p.Argv[0]
	cmd.Dir = "/"
	if p.Dir != "" {
		cmd.Dir = p.Dir
	}
	cmd.Env = append([]string{"PATH=" + strings.Join(searchPath(), ":"), "LC_ALL=C", "HOME=/"}, p.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.UID != 0 || p.GID != 0 { // with no supplementary groups
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.UID), Gid: uint32(p.GID)}
	}
	if err := startInGroups(cmd, p.Groups); err != nil {
		return nil, hint.Cause(err)
	}
	r := &running{cmd: cmd, pid: cmd.Process.Pid, done: make(chan struct{})}
	go r.wait()
	return r, nil
}

// openLog opens the file for a program's output, which belongs to the user the
// program runs as. If the directory is that user's as well, there may be a link, a pipe, or a
// hard link to somebody else's file under the name: these are refused.
func openLog(p Process) (*os.File, error) {
	f, err := os.OpenFile(p.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st) // Fd also ends the non-blocking mode, which the program must not inherit
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1:
		err = fmt.Errorf("%s: %w", p.Log, walk.ErrNotRegular)
	case p.UID != 0 && int(st.Uid) != p.UID, p.GID != 0 && int(st.Gid) != p.GID:
		err = f.Chown(p.UID, p.GID)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// running is a program that Start started.
type running struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{}
	err  error // after done

	mu     sync.Mutex
	reaped bool // its process ID may be another process's now
}

// PID implements Running.
func (r *running) PID() int { return r.pid }

// Done implements Running.
func (r *running) Done() <-chan struct{} { return r.done }

// Err implements Running.
func (r *running) Err() error {
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// Signal implements Running.
func (r *running) Signal(s Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reaped {
		return nil
	}
	if err := syscall.Kill(-r.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return Answered(fmt.Errorf("send %s to process %d: %w", s, r.pid, err))
	}
	return nil
}

// wait waits for the program to end, and kills the rest of its group.
func (r *running) wait() {
	untilExit(r.pid)
	r.mu.Lock()
	_ = syscall.Kill(-r.pid, syscall.SIGKILL) // mostly there is nobody left
	r.err = r.cmd.Wait()
	r.reaped = true
	r.mu.Unlock()
	close(r.done)
}
