// Package again runs this very program once more, for one answer: what needs
// much memory for a moment needs it in a process that ends.
package again

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Program is this program. One Program runs it once at a time.
type Program struct{ stays atomic.Bool }

// Call says what is asked of it.
type Call struct {
	Args  []string
	First []byte        // what it is given at once; its input ends no earlier than its answer
	Limit time.Duration // after which it is ended
	Most  int           // bytes of its answer, which is one line
}

// Why there is no answer.
var (
	errStays    = errors.New("it waits in the kernel and does not end, even when killed")
	errCutOff   = errors.New("its answer is cut off")
	errTooLarge = errors.New("its answer is too large")
)

const (
	ownFile = "/proc/self/exe" // also when the file was replaced meanwhile: what answers is of our version
	grace   = 2 * time.Second  // between asking it to end and killing it, and after that
	words   = 300              // bytes that are repeated of its standard error
)

// Run runs it, with our environment and with no more rights than we have, and
// gives the line that it answers. As long as one stays in the kernel no other is started.
func (p *Program) Run(ctx context.Context, c Call) (answer []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("run plumb %s: %w", strings.Join(c.Args, " "), err)
		}
	}()
	if p.stays.Load() {
		return nil, fmt.Errorf("the one before: %w", errStays)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	r := newRun(c, cancel)
	go r.toItsEnd()
	select {
	case err = <-r.ended:
	case <-ctx.Done():
		if err = p.end(r); err == nil && !r.out.cut {
			err = ctx.Err()
		}
	}
	switch {
	case errors.Is(err, errStays):
		return nil, err
	case r.out.cut:
		return nil, errTooLarge
	case err != nil:
		return nil, r.said(err)
	case !r.out.whole:
		return nil, errCutOff
	}
	return r.out.text, nil
}

// end asks it to end, and kills it when it does not.
func (p *Program) end(r *run) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		r.signal(signal)
		select {
		case <-r.ended:
			return nil
		case <-time.After(grace):
		}
	}
	p.stays.Store(true)
	go func() { <-r.ended; p.stays.Store(false) }()
	return errStays
}

// run is one run. All of it that can hang is done by a goroutine of its own.
type run struct {
	cmd   *exec.Cmd
	first []byte
	out   *line
	err   tail // what it says
	ended chan error

	mu     sync.Mutex
	alive  bool
	barred bool // from being started: it was to end before
}

func newRun(c Call, full func()) *run {
	r := &run{cmd: exec.Command(ownFile, c.Args...), first: c.First, out: &line{most: c.Most, full: full, got: make(chan struct{})}, ended: make(chan error, 1)}
	r.cmd.Args[0] = os.Args[0]
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's interrupt is for us
	r.cmd.Stdout, r.cmd.Stderr = r.out, &r.err
	r.cmd.WaitDelay = grace // something it left may hold its output open
	return r
}

func (r *run) toItsEnd() {
	in, err := r.cmd.StdinPipe()
	if err == nil {
		err = r.start()
	}
	if err != nil {
		r.ended <- err
		return
	}
	over := make(chan struct{})
	go func() {
		_, _ = in.Write(r.first) // if it takes none, its end says why
		select {
		case <-r.out.got:
		case <-over:
		}
		in.Close()
	}()
	err = r.cmd.Wait()
	close(over)
	r.mu.Lock()
	r.alive = false
	r.mu.Unlock()
	r.ended <- err
}

func (r *run) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.barred {
		return context.DeadlineExceeded
	}
	err := r.cmd.Start()
	r.alive = err == nil
	return err
}

// signal tells it to end. One that is just being started hears of it then.
func (r *run) signal(s syscall.Signal) {
	go func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.barred = true
		if r.alive {
			_ = r.cmd.Process.Signal(s) // it may have ended by itself
		}
	}()
}

// said adds what it said last.
func (r *run) said(err error) error {
	text := strings.Join(strings.FieldsFunc(string(r.err), func(c rune) bool { return c == '\n' || c == '\r' }), "; ")
	if text == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.ToValidUTF8(text, "?"))
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = append((*t)[:0], (*t)[max(0, len(*t)-words):]...)
	return len(p), nil
}

// line keeps a line, and tells when it has all of it, or too much.
type line struct {
	text       []byte // no bytes.Buffer, which would read for itself
	most       int
	whole, cut bool
	full       func()
	got        chan struct{}
}

func (l *line) Write(p []byte) (int, error) {
	if len(l.text)+len(p) > l.most {
		l.cut = true
		l.full()
		return 0, errTooLarge
	}
	if len(p) > 0 && p[len(p)-1] == '\n' && !l.whole {
		l.whole = true
		close(l.got)
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

// WhileWanted is for the program that is run: its context ends when its input
// does, which is when whoever started it has ended, however that came. A moment
// later it ends itself.
func WhileWanted(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error is an end, too
		cancel()
		time.Sleep(2 * grace)
		os.Exit(3)
	}()
	return ctx, cancel
}
