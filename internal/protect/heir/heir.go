// Package heir is a dead man's switch for what a server keeps when our connection ends: a process of its
// own, logged in before anything is taken, that gives it back when we end, however that is.
//
// It leaves our session and our control groups, because a service manager that kills us kills all of
// those. What it is told, a password among it, comes over its standard input, where no ps shows it.
package heir

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

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

// released says that all was given back.
const released = "released"

// Arm implements protect.Heir.
func (h Heir) Arm(ctx context.Context, d host.Streamer, t host.Target, will []string, limit time.Duration) (protect.Armed, error) {
	text, err := json.Marshal(testament{t, will, limit})
	if err != nil {
		return nil, err
	}
	argv := h.Argv
	if h.DSN != "" {
		argv, text = append(slices.Clip(argv), "--dsn", "-"), append([]byte(h.DSN+"\n"), text...)
	}
	s, err := Start(ctx, d, `exec "$@"`, argv, append(text, '\n'), limit)
	if err != nil {
		return nil, hint.With(fmt.Errorf("start the process that releases the server if this one dies: %w", err), "it needs setsid and sh, and logs in as this command does")
	}
	return &armed{s, will}, nil
}

// armed is an heir that waits.
type armed struct {
	*Switch
	will []string
}

// End implements protect.Armed.
func (a *armed) End(ctx context.Context, back bool) error {
	if back {
		_, _ = io.WriteString(a, released+"\n") // if it has ended, its end says why
	}
	err := a.Wait(ctx)
	switch {
	case err != nil:
		return err
	case a.code == 0 || a.code == Acted && !back:
		return nil
	case a.code == Acted:
		return errors.New("the lock was released before the end, because it took too long")
	}
	return hint.With(fmt.Errorf("the process that releases the server if this one dies: %w", a.err), "check whether it was released; if not: "+strings.Join(a.will, "; "))
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
		if await.Pause(ctx, again) != nil {
			return fmt.Errorf("%s: %w", left[0], err)
		}
	}
	return held.Close()
}
