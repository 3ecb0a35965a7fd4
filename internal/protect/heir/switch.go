package heir

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"plumb/internal/host"
)

// outlives is the beginning of a shell script that is to outlive who starts it: it leaves our control groups, because a
// service manager that kills us kills all in them.
const outlives = `
trap '' HUP INT TERM PIPE
for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/systemd/cgroup.procs /sys/fs/cgroup/unified/cgroup.procs /sys/fs/cgroup/freezer/cgroup.procs; do
	[ -e "$f" ] && echo $$ >"$f"
done
echo -1000 >/proc/self/oom_score_adj
`

// Switch is a dead man's switch: a process of its own, in a session of its own, which acts when its input ends.
type Switch struct {
	io.WriteCloser // its input
	done           chan struct{}
	code           int
	err            error
}

// ready is what a switch says in a line of its own when it can act.
const ready = "armed"

const readyTime = 30 * time.Second // nothing is held meanwhile

// Start starts a shell script as a switch, and waits until it says "armed". It is told first at once. limit is how
// long it may have nothing to do.
func Start(ctx context.Context, d host.Streamer, script string, args []string, first []byte, limit time.Duration) (*Switch, error) {
	in, out := io.Pipe()
	s := &Switch{WriteCloser: out, done: make(chan struct{})}
	said := &word{heard: make(chan struct{})}
	argv := append([]string{"setsid", "--wait", "sh", "-c", outlives + script, "sh"}, args...)
	go func() {
		var flow host.Flow
		flow, s.err = d.Pipe(context.WithoutCancel(ctx), host.Pipe{Argv: argv, In: in, Out: said, Progress: limit + time.Hour, Outlives: true})
		s.code = flow.Code
		in.CloseWithError(io.ErrClosedPipe) // nobody waits in vain for it to take what it is told
		close(s.done)
	}()
	if len(first) > 0 {
		go func() { _, _ = out.Write(first) }() // if it ended, its end says why
	}
	var err error
	select {
	case <-said.heard:
		return s, nil
	case <-s.done:
		err = errors.Join(errors.New("it ended at once"), s.err)
	case <-time.After(readyTime):
		err = errors.New("it did not become ready")
	case <-ctx.Done():
		err = ctx.Err()
	}
	out.Close()
	return nil, err
}

// Ended tells whether it has ended, and with which error.
func (s *Switch) Ended() (bool, error) {
	select {
	case <-s.done:
		return true, s.err
	default:
		return false, nil
	}
}

// Wait ends its input and waits for its end. The error is of the waiting alone.
func (s *Switch) Wait(ctx context.Context) error {
	s.Close()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// word waits for a switch to say that it is ready.
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
