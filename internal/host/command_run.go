package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
	"plumb/internal/host/redact"
	"plumb/internal/units"
)

// Output implements Reader. If a command fails, what it printed is returned with
// an error that contains the beginning of its standard error; if that says that
// permissions are missing, the error is ErrDenied.
//
// argv[0] is a name, which is looked up in PATH and the sbin directories, or an
// absolute path, which is only run if nobody but root and we could have put the
// program there: a check run by root must not run what some user left.
func (l *Live) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if len(argv) == 0 {
		return nil, kindError{"run: no command given", ErrRefused}
	}
	line := strings.Join(argv, " ")
	name := filepath.Base(argv[0])
	allowed := slices.ContainsFunc(l.commands, func(p commandPattern) bool { return p.match(name, argv[1:]) })
	if !allowed {
		return nil, Answered(fmt.Errorf("run %s: %w", line, ErrRefused))
	}
	out, err := l.output(ctx, argv)
	if out != nil {
		out = redact.Output(argv, out)
	}
	if err != nil {
		return out, Answered(fmt.Errorf("run %s: %w", line, err))
	}
	return out, nil
}

func (l *Live) output(ctx context.Context, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.CommandTime)
	defer cancel()
	program, err := within(ctx, &l.stuck, l.options.FileTime, func(context.Context) (string, error) {
		return findProgram(argv[0])
	})
	if err != nil {
		return nil, err
	}
	c := newChild(program, argv, l.options.OutputBytes)
	// A child that hangs in the kernel cannot even be killed, and so is started and waited for in a goroutine of its own. While it
	// hangs, the same command is not started again each time somebody asks.
	out, err := remembering(ctx, l, subject{names: []string{strings.Join(argv, " ")}, note: true}, l.options.CommandTime,
		func(context.Context) ([]byte, error) { return c.run() })
	if err != nil {
		c.kill() // which does nothing to a command that has ended
	}
	return out, err
}

// searchPath is PATH and the directories of system commands, which an ordinary
// user's PATH may lack.
func searchPath() []string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	return append(dirs, "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin")
}

func findProgram(name string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("%w: not an absolute path", ErrRefused)
		}
		return trusted(name)
	}
	for _, dir := range searchPath() {
		if !filepath.IsAbs(dir) {
			continue
		}
		program := filepath.Join(dir, name)
		if st, err := os.Stat(program); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return program, nil
		}
	}
	return "", ErrNoCommand
}

// trusted resolves the path of a program and refuses it if somebody other than
// root and ourselves can change the file or a directory above it.
func trusted(name string) (string, error) {
	program, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoCommand
	}
	if err != nil {
		return "", hint.Cause(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(program, &st); err != nil {
		return "", err
	}
	at, _, err := Replaceable(program, statx)
	if err != nil {
		return "", err
	}
	if st.Mode&0o022 != 0 {
		at = program
	}
	if at != "" {
		return "", fmt.Errorf("%w: other users can change %s", ErrRefused, at)
	}
	return program, nil
}

// child is one running command whose output is kept.
type child struct {
	*processGroup
	stdout headWriter
	stderr headWriter
}

func newChild(program string, argv []string, limit int) *child {
	c := &child{processGroup: newGroup(program, argv)}
	c.cmd.WaitDelay = time.Second // a daemon that the command started may keep its output open
	c.stdout = headWriter{limit: limit, full: c.kill}
	c.stderr = headWriter{limit: 64 << 10, full: func() {}}
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	return c
}

func (c *child) run() ([]byte, error) {
	if err := c.start(); err != nil {
		return nil, err
	}
	err := c.wait()
	if c.stdout.cut {
		return c.stdout.buf.Bytes(), ErrTooLarge
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil {
		err = exitError(err, c.stderr.buf.Bytes(), units.Start)
	}
	return slices.Clone(c.stdout.buf.Bytes()), err
}

// kill kills the command and what it started. It does not wait for them to end.
func (c *child) kill() { c.signal(Kill) }

// mostSaid is how much of what a command said goes into an error, in characters: a server names each line of a configuration that it does not take.
const mostSaid = 1000

// exitError adds what the command said on standard error: the beginning or the end of it.
func exitError(err error, stderr []byte, part func(text string, most int) string) error {
	said := strings.Join(strings.FieldsFunc(string(stderr), func(c rune) bool { return c == '\n' || c == '\r' }), "; ")
	if said != "" {
		err = fmt.Errorf("%w: %s", err, part(strings.ToValidUTF8(said, "?"), mostSaid))
	}
	for _, sign := range []string{"permission denied", "operation not permitted", "must be root", "must be run as root",
		"must be superuser", "requires root", "only root", "are you root", "not enough privilege", "access denied"} {
		if strings.Contains(strings.ToLower(string(stderr)), sign) {
			return fmt.Errorf("%w: %w", ErrDenied, err)
		}
	}
	return err
}

// headWriter keeps the beginning of what is written to it.
type headWriter struct {
	buf   bytes.Buffer
	limit int    // bytes
	cut   bool   // there was more
	full  func() // is called once, when there is more
}

func (w *headWriter) Write(p []byte) (int, error) {
	room := w.limit - w.buf.Len()
	if len(p) <= room {
		return w.buf.Write(p)
	}
	w.buf.Write(p[:max(room, 0)])
	if !w.cut {
		w.cut = true
		w.full()
	}
	return len(p), nil
}
