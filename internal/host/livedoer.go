package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
	"plumb/internal/host/redact"
	"plumb/internal/host/walk"
)

// LiveDoer is a live reader that can also change the machine: the only [Doer]
// that really does. No type assertion makes one of a Live reader: a caller
// must call NewLiveDoer.
type LiveDoer struct {
	*Live
	changing map[string]ChangeSession // by Target.Name
	unended  stuckCount               // commands that do not end; the reader counts its own
	locks    locks                    // that it has

	changeTime time.Duration // changeTime, except in tests
}

var _ Doer = (*LiveDoer)(nil)

const (
	runTime    = 10 * time.Minute // for a command: a restart of a server with a large buffer pool takes minutes
	execTime   = 2 * time.Minute  // for a statement that changes a server
	changeTime = time.Minute      // for one file: a sync waits for whatever else the disk has to write
)

// NewLiveDoer makes the doer of the machine that l reads. Its methods must not be called concurrently to change something; Plumb has one
// writer at a time anyway.
func NewLiveDoer(l *Live) *LiveDoer {
	return &LiveDoer{Live: l, changing: map[string]ChangeSession{}, changeTime: changeTime}
}

// Close ends the sessions that change servers, and then the others.
func (h *LiveDoer) Close() error {
	var all []error
	for _, s := range h.changing {
		all = append(all, s.Close())
	}
	clear(h.changing)
	return errors.Join(append(all, h.Live.Close())...)
}

// Raw implements Doer. It follows links as Replace does, so that both mean the same file.
func (h *LiveDoer) Raw(ctx context.Context, name string) ([]byte, error) {
	data, err := onFile(ctx, h.Live, name, true, func(context.Context) ([]byte, error) {
		return readPlace(name, h.options.FileBytes)
	})
	return data, fileError("read", name, err)
}

func readPlace(name string, limit int) ([]byte, error) {
	p, err := walk.To(name, walk.How{Follow: true})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	there, st, err := p.Look()
	if err != nil {
		return nil, err
	}
	defer unix.Close(there)
	return readThere(there, st, limit)
}

// Replace implements Doer.
func (h *LiveDoer) Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return changeError("replace", name, h.at(ctx, name, walk.How{Follow: true, Gone: walk.IsMade}, func(ctx context.Context, p walk.Place) error { return p.Replace(ctx, data, perm) }))
}

// at calls do with the place of a file. With how.Follow that is the place of the file a link leads to: replacing the link itself would
// leave the real file as it was.
//
// If the filesystem hangs, at gives up after changeTime, and do is not called any more should the filesystem come back. That the
// caller's context ends does not stop it, because half of a change is worse than a whole one.
func (h *LiveDoer) at(ctx context.Context, name string, how walk.How, do func(context.Context, walk.Place) error) error {
	_, err := h.onPlace(context.WithoutCancel(ctx), name, func(ctx context.Context) (*os.File, error) {
		return nil, at(name, how, func(p walk.Place) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, p)
		})
	})
	return err
}

// onPlace runs an operation that changes or locks a file. If it returns an open file after we gave up waiting, the file is closed.
func (h *LiveDoer) onPlace(ctx context.Context, name string, do func(context.Context) (*os.File, error)) (*os.File, error) {
	on := subject{names: parents(name), path: true}
	on.note = !isKernels(on.names[0])
	return remembering(ctx, h.Live, on, h.changeTime, func(ctx context.Context) (*os.File, error) {
		f, err := do(ctx)
		if err == nil && f != nil && ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), f.Close())
		}
		return f, err
	})
}

func at(name string, how walk.How, do func(walk.Place) error) error {
	p, err := walk.To(name, how)
	if err != nil {
		return err
	}
	defer p.Close()
	return do(p)
}

// Tidy implements Doer.
func (h *LiveDoer) Tidy(ctx context.Context, name string) error {
	err := h.at(ctx, name, walk.How{Follow: true}, func(_ context.Context, p walk.Place) error { return p.Tidy() })
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return changeError("remove what was left beside", name, err)
}

// Remove implements Doer.
func (h *LiveDoer) Remove(ctx context.Context, name string) error {
	err := h.at(ctx, name, walk.How{}, func(_ context.Context, p walk.Place) error { return p.Remove() })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return changeError("remove", name, err)
}

// Append implements Doer.
func (h *LiveDoer) Append(ctx context.Context, name string, data []byte) error {
	return changeError("append to", name, h.at(ctx, name, walk.How{Gone: walk.IsMade}, func(_ context.Context, p walk.Place) error { return p.Append(data) }))
}

// Write implements Doer.
func (h *LiveDoer) Write(ctx context.Context, name string, data []byte) error {
	err := h.at(ctx, name, walk.How{Follow: true}, func(_ context.Context, p walk.Place) error { return p.Write(data) })
	return changeError("write "+redact.Text(strings.TrimSpace(string(data)))+" to", name, err)
}

// Run implements Doer. The command is killed after runTime. If it waits in the kernel it does not end even then, and is left behind.
func (h *LiveDoer) Run(ctx context.Context, argv ...string) ([]byte, error) {
	line := redact.Command(argv)
	if len(argv) == 0 {
		return nil, kindError{"run: no command given", ErrRefused}
	}
	program, err := h.findProgram(ctx, argv[0])
	if err != nil {
		return nil, Answered(fmt.Errorf("run %s: %w", line, err))
	}
	c := newChild(program, argv, h.options.OutputBytes)
	c.cmd.Env = append(c.cmd.Env, h.locks.variable()...)
	out, err := h.run(ctx, c)
	if err != nil {
		return out, Answered(fmt.Errorf("run %s: %w", line, err))
	}
	return out, nil
}

func (h *LiveDoer) run(ctx context.Context, c *child) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	waiting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() {
		c.kill()
		time.AfterFunc(graceTime, giveUp)
	})()
	type head struct {
		out []byte
		err error
	}
	got, err := within(waiting, &h.unended, runTime+2*graceTime, func(context.Context) (head, error) {
		out, err := c.run()
		return head{out, err}, nil
	})
	switch {
	case err != nil && waiting.Err() != nil:
		err = errStays
	case err == nil:
		err = got.err
	}
	if err != nil {
		err = errors.Join(err, ctx.Err())
	}
	return got.out, err
}

// findProgram looks a command up in PATH. It does not wait long for a directory on a filesystem that hangs.
func (h *LiveDoer) findProgram(ctx context.Context, name string) (string, error) {
	return within(ctx, &h.unended, h.options.FileTime, func(context.Context) (string, error) { return findProgram(name) })
}

// Exec implements Doer. It uses another session than Query.
func (h *LiveDoer) Exec(ctx context.Context, t Target, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, execTime)
	defer cancel()
	s, err := h.sessionToChange(ctx, t)
	if err == nil {
		err = s.Exec(ctx, statement)
		if errors.Is(err, ErrDown) || errors.Is(err, context.DeadlineExceeded) {
			delete(h.changing, t.Name)
			_ = s.Close() // it is broken already
		}
	}
	if err != nil {
		return Answered(fmt.Errorf("execute %s on %s: %w", statement, t.Name, err))
	}
	return nil
}

func (h *LiveDoer) sessionToChange(ctx context.Context, t Target) (ChangeSession, error) {
	if s, ok := h.changing[t.Name]; ok {
		return s, nil
	}
	dialer, ok := h.options.Dialers[t.Engine].(Changer)
	if !ok {
		return nil, fmt.Errorf("%w: servers of kind %q cannot be changed", ErrRefused, t.Engine)
	}
	s, err := dialer.DialToChange(ctx, t, h.secrets(ctx))
	if err == nil {
		h.changing[t.Name] = s
	}
	return s, err
}

// Writable implements Doer. For a missing file it tells whether the nearest directory above it that exists can be written to.
func (h *LiveDoer) Writable(ctx context.Context, name string) error {
	return changeError("write", name, h.at(ctx, name, walk.How{Follow: true, Gone: walk.IsTheEnd}, func(_ context.Context, p walk.Place) error {
		if strings.HasPrefix(name, "/proc/sys/") || strings.HasPrefix(name, "/sys/") {
			return p.Writable() // written in place
		}
		return p.Replaceable()
	}))
}

// MakeDir implements Doer.
func (h *LiveDoer) MakeDir(ctx context.Context, name string, perm fs.FileMode, uid, gid int) error {
	return changeError("make directory", name, h.at(ctx, name, walk.How{}, func(_ context.Context, p walk.Place) error { return p.MakeDir(perm, uid, gid) }))
}

// Rename implements Doer.
func (h *LiveDoer) Rename(ctx context.Context, from, to string) error {
	return changeError("rename "+from+" to", to, h.at(ctx, from, walk.How{}, func(_ context.Context, old walk.Place) error {
		return at(to, walk.How{}, old.Rename)
	}))
}

// Lock implements Doer. It waits a moment for commands that a killed Plumb ran under the lock.
func (h *LiveDoer) Lock(ctx context.Context, name string) (func(), error) {
	f, err := h.onPlace(context.WithoutCancel(ctx), name, func(context.Context) (f *os.File, err error) {
		err = at(name, walk.How{Gone: walk.IsMade}, func(p walk.Place) (err error) {
			if f, err = p.Open(unix.O_RDWR|unix.O_CREAT, 0o600); err == nil {
				err = flock(f, p)
			}
			return err
		})
		if err != nil && f != nil {
			release(f)
			f = nil
		}
		return f, err
	})
	if err != nil {
		return nil, changeError("lock", name, err)
	}
	id, err := lockID(f)
	if err == nil {
		err = h.alone(ctx, id)
	}
	if err != nil {
		release(f)
		return nil, changeError("lock", name, err)
	}
	h.locks.take(id)
	return sync.OnceFunc(func() { h.locks.give(id); release(f) }), nil
}

// flock locks a file, if it is still the one in its place: whoever had the lock may have removed it since it was opened, and then the
// next to come would lock another beside us.
func flock(f *os.File, in walk.Place) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	if err != nil || !in.Has(f) {
		return ErrLocked
	}
	return nil
}

// release gives a lock back. Closing alone is not enough: a child that is being started right now has the same file open for a moment,
// and with it the lock.
func release(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // if it fails the close below still unlocks
	f.Close()
}

func changeError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrLocked) {
		return fmt.Errorf("%s %s: %w", op, name, err)
	}
	return Answered(fmt.Errorf("%s %s: %w", op, name, strip(err)))
}

// strip removes the path and operation from an error, which the caller names better.
func strip(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if all := slices.DeleteFunc(slices.Clone(joined.Unwrap()), func(e error) bool { return e == nil }); len(all) == 1 {
			return strip(all[0])
		}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return hint.Cause(err)
}
