package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/host/redact"
)

// Hands are a live reader that can also change the machine: the only [Doer]
// that does. A Live reader cannot be turned into one by a type assertion;
// somebody must ask for it by name.
type Hands struct {
	*Live
	changing map[string]ChangeSession // by Target.Name
}

var _ Doer = (*Hands)(nil)

// RunTime ends a command that changes the machine: a restart of a server
// with a large buffer pool takes minutes.
const RunTime = 10 * time.Minute

// execTime ends a statement that changes a server.
const execTime = 2 * time.Minute

// NewHands makes the doer of the machine that l reads. It is not safe for
// concurrent changes: one writer at a time is the law anyway.
func NewHands(l *Live) *Hands {
	return &Hands{Live: l, changing: map[string]ChangeSession{}}
}

// Close ends the sessions that change servers, and then the others.
func (h *Hands) Close() error {
	var all []error
	for _, s := range h.changing {
		all = append(all, s.Close())
	}
	clear(h.changing)
	return errors.Join(append(all, h.Live.Close())...)
}

// Raw implements Doer.
func (h *Hands) Raw(ctx context.Context, name string) ([]byte, error) { return h.readRaw(ctx, name) }

// Replace implements Doer: it writes a new file beside the old one, with its
// owner, mode and extended attributes, syncs it, renames it over the old one
// and syncs the directory.
func (h *Hands) Replace(_ context.Context, name string, data []byte, perm fs.FileMode) error {
	target, err := through(name)
	if err == nil {
		err = makeDirectory(filepath.Dir(target))
	}
	if err == nil {
		err = replace(target, data, perm)
	}
	return changeError("replace", name, err)
}

// through follows symbolic links, because replacing a link by a file would
// leave the real file as it was.
func through(name string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(name)
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", underlying(err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", syscall.ELOOP
}

func replace(name string, data []byte, perm fs.FileMode) error {
	beside := leftover(name)
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(beside) // is gone when all went well
	_, err = f.Write(data)
	if err == nil {
		err = likeOld(f, name, perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(beside, name); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(name))
}

// leftover is the name under which a new file is written. It is always the
// same, so that one which a killed Plumb left can be found. None of the
// programs that read whole directories takes a name like this.
func leftover(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".plumb-new")
}

// Tidy implements Doer.
func (h *Hands) Tidy(_ context.Context, name string) error {
	target, err := through(name)
	if err == nil {
		err = os.Remove(leftover(target))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return changeError("remove what was left beside", name, err)
}

// likeOld gives a new file the mode, owner and extended attributes (labels,
// access lists) of the one it will replace.
func likeOld(f *os.File, old string, perm fs.FileMode) error {
	info, err := os.Stat(old)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Chmod(perm)
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() || ok && int(st.Gid) != os.Getegid() {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return fmt.Errorf("keep its owner: %w", err)
		}
	}
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	return copyAttributes(old, int(f.Fd()))
}

// copyAttributes copies extended attributes. A filesystem without them has
// none to lose.
func copyAttributes(old string, to int) error {
	names := make([]byte, 64<<10)
	n, err := unix.Listxattr(old, names)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read its extended attributes: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Getxattr(old, name, value)
		if err == nil {
			err = unix.Fsetxattr(to, name, value[:n], 0)
		}
		if err != nil {
			return fmt.Errorf("keep its extended attribute %s: %w", name, err)
		}
	}
	return nil
}

// makeDirectory makes what is missing of a path, each name durably.
func makeDirectory(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	up := filepath.Dir(dir)
	if up != dir {
		if err := makeDirectory(up); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(up)
}

func syncDirectory(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Remove implements Doer.
func (h *Hands) Remove(_ context.Context, name string) error {
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncDirectory(filepath.Dir(name))
	}
	return changeError("remove", name, err)
}

// Append implements Doer.
func (h *Hands) Append(_ context.Context, name string, data []byte) error {
	return changeError("append to", name, appendTo(name, data))
}

func appendTo(name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := makeDirectory(dir); err != nil {
		return err
	}
	_, missing := os.Lstat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && missing != nil {
		err = syncDirectory(dir)
	}
	return err
}

// Write implements Doer.
func (h *Hands) Write(_ context.Context, name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	return changeError("write "+redact.Text(strings.TrimSpace(string(data)))+" to", name, err)
}

// Run implements Doer. It waits for the command's end, at most RunTime.
func (h *Hands) Run(ctx context.Context, argv ...string) ([]byte, error) {
	line := strings.Join(argv, " ")
	if len(argv) == 0 {
		return nil, kindError{"run: no command given", ErrRefused}
	}
	program, err := findProgram(argv[0])
	if err != nil {
		return nil, answered(fmt.Errorf("run %s: %w", line, err))
	}
	c := newChild(program, argv, h.options.OutputBytes)
	stop := context.AfterFunc(ctx, c.kill)
	defer stop()
	late := time.AfterFunc(RunTime, c.kill)
	defer late.Stop()
	out, err := c.run()
	if err != nil {
		return out, answered(fmt.Errorf("run %s: %w", line, errors.Join(err, ctx.Err())))
	}
	return out, nil
}

// Exec implements Doer. Its session is kept apart from the one that reads.
func (h *Hands) Exec(ctx context.Context, t Target, statement string) error {
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
		return answered(fmt.Errorf("execute %s on %s: %w", statement, t.Name, err))
	}
	return nil
}

func (h *Hands) sessionToChange(ctx context.Context, t Target) (ChangeSession, error) {
	if s, ok := h.changing[t.Name]; ok {
		return s, nil
	}
	dialer, ok := h.options.Dialers[t.Engine].(Changer)
	if !ok {
		return nil, fmt.Errorf("%w: servers of kind %q cannot be changed", ErrRefused, t.Engine)
	}
	s, err := dialer.DialToChange(ctx, t, func(name string) ([]byte, error) {
		if name == SecretDSN {
			return []byte(h.options.DSN), nil
		}
		return h.readRaw(ctx, name)
	})
	if err == nil {
		h.changing[t.Name] = s
	}
	return s, err
}

// Writable implements Doer. For a file that is not there, what counts is
// whether its directory, or the nearest one above that exists, can be written to.
func (h *Hands) Writable(_ context.Context, name string) error {
	return changeError("write", name, writable(name))
}

func writable(name string) error {
	target, err := through(name)
	if err != nil {
		return err
	}
	if strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/") {
		return unix.Access(target, unix.W_OK) // written in place
	}
	at := filepath.Dir(target)
	for at != "/" {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		at = filepath.Dir(at)
	}
	if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
		return err
	}
	var room unix.Statfs_t
	if err := unix.Statfs(at, &room); err != nil {
		return err
	}
	const enough = 1 << 20
	if room.Blocks > 0 && room.Bavail*uint64(room.Bsize) < enough {
		return fmt.Errorf("%w: less than 1 MiB is free", syscall.ENOSPC)
	}
	return nil
}

// Lock implements Doer. The kernel gives the lock back when the process ends.
func (h *Hands) Lock(_ context.Context, name string) (func(), error) {
	if err := makeDirectory(filepath.Dir(name)); err != nil {
		return nil, changeError("lock", name, err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, changeError("lock", name, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, changeError("lock", name, err)
	}
	return func() {
		// Closing alone is not enough: a child that is just being started still
		// holds the same open file.
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // the close below gives it back too
		f.Close()
	}, nil
}

func changeError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrLocked) {
		return fmt.Errorf("%s %s: %w", op, name, ErrLocked)
	}
	return answered(fmt.Errorf("%s %s: %w", op, name, strip(err)))
}

// strip leaves out path and operation, which the caller names better.
func strip(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if all := slices.DeleteFunc(slices.Clone(joined.Unwrap()), func(e error) bool { return e == nil }); len(all) == 1 {
			return strip(all[0])
		}
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return underlying(err)
}
