package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Script is what a run does.
type Script struct {
	// Line is read by bash, as root, in /root. It may have many lines.
	Line string
	// In are files and directories to come along, as /in/LASTNAME, read-only.
	In []string
	// Out is a new or empty directory for what the line leaves in /out; "" for none.
	Out string
	// Systemd has systemd as the first process, and its services started;
	// without, a machine boots faster and nothing runs but the line.
	Systemd bool
	// Kernel are more words for the kernel's command line.
	Kernel []string
	// Disks are further disks.
	Disks []Disk
	// Deadline ends the run; 0 for ten minutes. A build of the image is no part of it.
	Deadline time.Duration
	// Live sees the output while it comes; nil for nobody. One that wants the
	// power cut cancels the context of the run: QEMU is killed with SIGKILL.
	Live io.Writer
}

// Result is what came of a run, as far as it got.
type Result struct {
	Code    int           // of the line; -1 when it did not end
	Output  []byte        // what it printed, the first 4 MiB
	Lost    int           // bytes it printed beyond
	Boot    time.Duration // until the line began; 0 when it did not
	Took    time.Duration // all of it
	Console string        // the end of the kernel's console
}

// ErrDown is a machine that ended before its line did, as one does that panics.
var ErrDown = errors.New("the machine went down before its line ended")

// errDeadline is why a run was ended.
var errDeadline = errors.New("the deadline of the run has passed")

// consoleBytes is how much of the console is kept: a panic with its trace.
const consoleBytes = 8 << 10

// grace is how long a machine whose line ended may take to power off.
const grace = 15 * time.Second

func (s Script) check() error {
	for i, d := range s.Disks {
		if err := d.check(); err != nil {
			return err
		}
		for _, other := range s.Disks[:i] {
			if other.Name == d.Name {
				return fmt.Errorf("two disks are called %s", d.Name)
			}
		}
	}
	return nil
}

// Run boots the machine, runs the line and powers the machine off. An error
// means that the line did not end; how it ended is in the result. The error of
// a cancelled context is that of the context.
func (m *Machine) Run(ctx context.Context, s Script) (Result, error) {
	if strings.TrimSpace(s.Line) == "" {
		return Result{}, errors.New("no line to run")
	}
	if s.Deadline <= 0 {
		s.Deadline = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Deadline, errDeadline)
	defer cancel()
	start := time.Now()
	h, done, err := m.prepare(ctx, s)
	if err != nil {
		return Result{}, err
	}
	defer done()
	r, err := m.boot(ctx, h, s.Live)
	r.Took = time.Since(start)
	if err == nil && s.Out != "" {
		err = bring(ctx, h.out, s.Out)
	}
	return r, err
}

// boot runs QEMU until the machine is off.
func (m *Machine) boot(ctx context.Context, h hardware, live io.Writer) (Result, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	h.console = filepath.Join(filepath.Dir(h.in), "console")
	w := &wire{live: live, start: time.Now(), onEnd: func() { time.AfterFunc(grace, stop) }}
	cmd := exec.CommandContext(running, m.qemu, h.arguments()...)
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(h.in)) // where the changes of the system's disk go
	errs := &progress{log: io.Discard}
	cmd.Stdout, cmd.Stderr = w, errs
	err := tied(cmd)
	r, ended := w.finish()
	r.Console = tailOf(h.console)
	switch {
	case ended:
		return r, nil
	case ctx.Err() != nil:
		return r, fmt.Errorf("run in a %s: %w; the console ends with\n%s", m.Release, context.Cause(ctx), r.Console)
	}
	return r, fmt.Errorf("run in a %s: %w", m.Release, errors.Join(ErrDown, err, errors.New(strings.TrimSpace(errs.tail()+"\n"+r.Console))))
}

// Shell boots the machine with a shell on a terminal. Ctrl-C goes to the
// machine, Ctrl-A X ends it. QEMU sets the terminal, so the caller keeps its
// state and restores it.
func (m *Machine) Shell(ctx context.Context, s Script, in, out, errs *os.File) error {
	s.Line = ""
	h, done, err := m.prepare(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	cmd := exec.CommandContext(ctx, m.qemu, h.arguments()...)
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(h.in))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	if err := tied(cmd); err != nil {
		return fmt.Errorf("shell in a %s: %w", m.Release, errors.Join(err, context.Cause(ctx)))
	}
	if s.Out == "" {
		return nil
	}
	return bring(ctx, h.out, s.Out)
}

// prepare makes what a run needs; done takes it away.
func (m *Machine) prepare(ctx context.Context, s Script) (h hardware, done func(), err error) {
	if err := s.check(); err != nil {
		return h, nil, err
	}
	if s.Out != "" {
		if err := emptyDir(s.Out); err != nil {
			return h, nil, err
		}
	}
	dir, done, err := workplace(ctx, filepath.Dir(m.Dir))
	if err != nil {
		return h, nil, err
	}
	h = hardware{image: m.Image, memoryMB: m.MemoryMB, cpus: m.CPUs, words: s.Kernel}
	h.in, err = makeIn(ctx, dir, s)
	if err == nil && s.Out != "" {
		h.out = filepath.Join(dir, "out.img")
		err = makeFilesystem(ctx, h.out, "out", outBytes, 4096)
	}
	if err == nil {
		h.disks, err = makeDisks(dir, s.Disks)
	}
	if err != nil {
		done()
		return h, nil, err
	}
	return h, done, nil
}

// tailOf gives the end of a log.
func tailOf(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > consoleBytes {
		if _, err := f.Seek(-consoleBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, consoleBytes))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(strings.ReplaceAll(string(text), "\r", ""), "?")
}
