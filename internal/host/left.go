package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host/proc"
)

// A command goes on when the Plumb that ran it is killed, and would act after what it does was taken back, or beside a second try. Nobody ends
// it, since half of an mkfs or a pg_upgrade is worse than a whole one. So a lock is free only when the commands that were run under it have ended.
//
// They are known by a variable of their environment. If they inherited the lock itself, an open file, no search would be needed; but a server
// that one of them starts would then keep it for as long as it runs, and lvm and sudo close the files that they did not open.

// underLocks is the variable: our process and session, and the locks that we have.
const underLocks = "PLUMB_UNDER_LOCKS"

// locks are those that a doer has.
type locks struct {
	mu  sync.Mutex
	all []string
}

func (l *locks) take(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, id)
}

func (l *locks) give(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.all, id); i >= 0 {
		l.all = slices.Delete(l.all, i, i+1)
	}
}

// variable is for the environment of a command: none without a lock.
func (l *locks) variable() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return nil
	}
	session, _ := unix.Getsid(0) // of ourselves it is always told
	return []string{fmt.Sprintf("%s=%d %d %s", underLocks, os.Getpid(), session, strings.Join(l.all, " "))}
}

// lockID tells the file of a lock from any other.
func lockID(f *os.File) (string, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), err
}

// LeftRunning is the error of a lock under which a killed Plumb has left a command. It is an ErrLocked, too.
type LeftRunning struct{ Who string } // "process 4711 (mkfs.xfs)"

// Error implements error.
func (e LeftRunning) Error() string {
	return e.Who + " is still running; a Plumb that was killed started it"
}

// Unwrap is for errors.Is.
func (e LeftRunning) Unwrap() error { return ErrLocked }

// Hint says what a person can do.
func (e LeftRunning) Hint() string {
	return "wait until it has ended; one that waits in the kernel for a disk ends when the machine is restarted, at the latest"
}

// HeldBy says of a lock that was refused who has it: a command that a killed Plumb has left, or else other, with a hint. Any other error
// stays as it is.
func HeldBy(err error, other, then string) error {
	if left, ok := errors.AsType[LeftRunning](err); ok {
		return left
	}
	if errors.Is(err, ErrLocked) {
		return hint.With(kindError{other, ErrLocked}, then)
	}
	return err
}

const (
	leftTime  = 2 * time.Second // most commands take less
	mostBytes = 1 << 20         // of an environment: those of our commands are small
	services  = 999             // the last user ID of services; those of people begin at 1000
)

// errBegins is the error of a command that cannot be asked yet what it is.
var errBegins = errors.New("a command is just being started")

// alone waits a moment until no command of a killed Plumb runs any more under a lock that was taken just now.
func (h *LiveDoer) alone(ctx context.Context, lock string) error {
	ctx = context.WithoutCancel(ctx) // who is only told to stop gets an answer nevertheless
	err := await.Until(ctx, leftTime, func() (bool, error) {
		_, err := within(ctx, &h.unended, h.changeTime, func(context.Context) (any, error) { return nil, leftUnder(lock) })
		return err == nil || !errors.Is(err, ErrLocked) && !errors.Is(err, errBegins), err
	})
	if errors.Is(err, errBegins) { // who says for so long nothing of himself is none of them
		return nil
	}
	return err
}

// leftUnder looks for a command that a killed Plumb left under a lock.
func leftUnder(lock string) (err error) {
	all, failed := os.ReadDir("/proc")
	if failed != nil {
		return failed
	}
	for _, e := range all {
		c, is := commandOf(e.Name())
		if !is {
			continue
		}
		left := c.left(lock, func(pid string) bool { return len(about(pid, "cmdline")) > 0 })
		if errors.Is(left, ErrLocked) {
			return left
		}
		err = errors.Join(err, left)
	}
	return err
}

// command is a process that leads its group in the session of another, as each of our commands does, and no server that one of them started.
type command struct {
	pid, name, parent, session string
	user                       int64 // who runs it, even if the program is one that becomes root
	environ, line              string
}

func commandOf(pid string) (c command, is bool) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	_, name, f, ok := proc.SplitStat(text)
	// state, parent, group, session
	if err != nil || !ok || len(f) < 4 || strings.Contains("ZX", f[0]) || f[2] != pid || f[3] == pid {
		return c, false
	}
	c = command{pid: pid, name: name, parent: f[1], session: f[3], environ: about(pid, "environ"), line: about(pid, "cmdline")}
	c.user, is = proc.Keyed([]byte(about(pid, "status")), "Uid:") // the real one is first
	return c, is
}

// about reads a file about a process; "" for one that may not be looked at, or has ended.
func about(pid, file string) string {
	text, _ := readHead("/proc/"+pid+"/"+file, mostBytes)
	return string(text)
}

// left is an error of a command that runs under a lock, if it was left: it is no child of the Plumb that ran it any more. That Plumb
// is as good as dead when it has no command line: the kernel frees its memory before it gives back its locks, and only then has others adopt its
// children. What is just being started has neither command line nor environment. Our commands run as we do, or as a server does; anybody
// else could set the variable to keep us from the lock.
func (c command) left(lock string, alive func(pid string) bool) error {
	if c.environ == "" && c.line == "" {
		return errBegins
	}
	if c.user > services && c.user != int64(os.Getuid()) {
		return nil
	}
	for v := range strings.SplitSeq(c.environ, "\x00") {
		value, ours := strings.CutPrefix(v, underLocks+"=")
		f := strings.Fields(value) // the Plumb, its session, its locks
		if ours && len(f) > 2 && f[1] == c.session && slices.Contains(f[2:], lock) && (c.parent != f[0] || !alive(f[0])) {
			return LeftRunning{fmt.Sprintf("process %s (%s)", c.pid, c.name)}
		}
	}
	return nil
}
