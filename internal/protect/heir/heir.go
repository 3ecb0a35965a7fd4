// Package heir is a dead man's switch for what a server keeps when our connection ends: a process of its
// own, logged in before anything is taken, that gives it back when we end, however that is.
//
// It leaves our session and our control groups, because a service manager that kills us kills all of
// those. What it is told, a password among it, comes over its standard input, where no ps shows it.
package heir

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Apart is the beginning of a shell script that is to outlive who starts it.
const Apart = `
trap '' HUP INT TERM PIPE
for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/systemd/cgroup.procs /sys/fs/cgroup/unified/cgroup.procs /sys/fs/cgroup/freezer/cgroup.procs; do
	[ -e "$f" ] && echo $$ >"$f"
done
echo -1000 >/proc/self/oom_score_adj
`

// Heir starts heirs.
type Heir struct {
	Argv []string // command that runs Serve
	DSN  string   // of the command line; the command gets it with --dsn -, as the first line
}

var _ protect.Heir = Heir{}

// testament is what an heir is told.
type testament struct {
	Target host.Target
	Will   []string
	Limit  time.Duration // after which it does not wait any longer
}

// Words between the two.
const (
	ready    = "armed"
	released = "released"
)

const armTime = 30 * time.Second // nothing is held meanwhile

// Arm implements protect.Heir.
func (h Heir) Arm(ctx context.Context, d host.Streamer, t host.Target, will []string, limit time.Duration) (protect.Armed, error) {
	text, err := json.Marshal(testament{t, will, limit})
	if err != nil {
		return nil, err
	}
	argv := append([]string{"setsid", "--wait", "sh", "-c", Apart + `exec "$@"`, "sh"}, h.Argv...)
	if h.DSN != "" {
		argv, text = append(argv, "--dsn", "-"), append([]byte(h.DSN+"\n"), text...)
	}
	in, out := io.Pipe()
	a := &armed{out: out, end: make(chan end, 1), will: will}
	said := &word{heard: make(chan struct{})}
	go func() {
		flow, err := d.Pipe(context.WithoutCancel(ctx), host.Pipe{Argv: argv, In: in, Out: said, Progress: limit + time.Hour})
		in.CloseWithError(io.ErrClosedPipe)
		a.end <- end{flow.Code, err}
	}()
	go func() { _, _ = out.Write(append(text, '\n')) }() // if it ended, its end says why
	select {
	case <-said.heard:
		return a, nil
	case e := <-a.end:
		err = errors.Join(errors.New("it ended at once"), e.err)
	case <-time.After(armTime):
		err = errors.New("it does not log in")
	case <-ctx.Done():
		err = ctx.Err()
	}
	out.Close()
	return nil, hint.With(fmt.Errorf("start the process that gives the server back if we cannot: %w", err), "it needs setsid and sh, and logs in as this command does")
}

// armed is an heir that waits.
type armed struct {
	out  *io.PipeWriter
	end  chan end
	will []string
}

// end is how an heir ended.
type end struct {
	code int
	err  error
}

// End implements protect.Armed.
func (a *armed) End(ctx context.Context, back bool) error {
	if back {
		_, _ = io.WriteString(a.out, released+"\n") // if it has ended, its end says why
	}
	a.out.Close()
	select {
	case e := <-a.end:
		switch {
		case e.code == 0 || e.code == Acted && !back:
			return nil
		case e.code == Acted:
			return errors.New("what was held was given back in the midst, because it took too long")
		}
		return hint.With(fmt.Errorf("the process that gives the server back if we cannot: %w", e.err), "look whether it was given back; if not: "+strings.Join(a.will, "; "))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// word waits for the heir's.
type word struct {
	text  bytes.Buffer
	once  bool
	heard chan struct{}
}

// Write implements io.Writer.
func (w *word) Write(p []byte) (int, error) {
	if !w.once {
		w.text.Write(p[:min(len(p), 64)])
		if w.once = strings.Contains(w.text.String(), ready+"\n"); w.once {
			close(w.heard)
		}
	}
	return len(p), nil
}

// Holder logs in to servers.
type Holder interface {
	Hold(ctx context.Context, t host.Target) (host.Held, error)
}

const (
	arrive = 200 * time.Millisecond // for what was sent to the server just before the other's end
	again  = 250 * time.Millisecond
)

// Acted is the exit status of an heir that gave back what was held; with 0 it did not have to.
const Acted = 1

// Serve is an heir's life: it logs in, says that it is there, and waits. It tells whether it had to give back
// what was held.
func Serve(ctx context.Context, m Holder, in io.Reader, out io.Writer) (acted bool, err error) {
	ctx = context.WithoutCancel(ctx) // signals are for the other
	lines := bufio.NewReaderSize(in, 1<<20)
	text, err := lines.ReadSlice('\n')
	if err != nil {
		return false, fmt.Errorf("read what to give back: %w", err)
	}
	var t testament
	if err := json.Unmarshal(text, &t); err != nil {
		return false, fmt.Errorf("read what to give back: %w", err)
	}
	held, err := m.Hold(ctx, t.Target)
	if err != nil {
		return false, err
	}
	if _, err := io.WriteString(out, ready+"\n"); err != nil {
		return false, err
	}
	last := make(chan string, 1)
	go func() {
		line, _ := lines.ReadString('\n')
		last <- strings.TrimSpace(line)
	}()
	select {
	case line := <-last:
		if line == released {
			return false, held.Close()
		}
	case <-time.After(t.Limit):
	}
	time.Sleep(arrive)
	return true, act(ctx, m, t, held)
}

// act runs each statement until it has succeeded once: a lock that was asked for can still be granted later.
func act(ctx context.Context, m Holder, t testament, held host.Held) (err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Limit)
	defer cancel()
	left := t.Will
	for len(left) > 0 {
		if held == nil {
			held, err = m.Hold(ctx, t.Target)
		}
		if held != nil {
			err = held.Exec(ctx, left[0])
		}
		switch {
		case err == nil:
			left = left[1:]
			continue
		case errors.Is(err, host.ErrDenied):
			return fmt.Errorf("%s: %w", left[0], err)
		case errors.Is(err, host.ErrBroken):
			held = nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", left[0], err)
		case <-time.After(again):
		}
	}
	return held.Close()
}
