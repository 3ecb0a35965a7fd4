package hosttest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"sync"

	"plumb/internal/host"
)

// ErrDead is what a machine answers that has lost its power.
var ErrDead = errors.New("the machine is dead")

// When a machine dies: of the change that it dies at, nothing, a part or all is done.
const (
	Before = "before"
	Amid   = "amid" // half of a file is written; a command goes on by itself, its input cut off
	After  = "after"
)

// Mortal is a machine that dies at one of its changes: from then on nothing works, as when the power is
// gone, or the process is killed. What was done stays done.
type Mortal struct {
	host.Hooked
	N int // changes so far

	mu    sync.Mutex
	at    int
	how   string
	going sync.WaitGroup // commands that nobody waits for any more
	held  []host.Held
}

// launching is what a mortal one can be in front of, beside a doer.
type launching interface {
	host.Launcher
	Hold(ctx context.Context, t host.Target) (host.Held, error)
}

// NewMortal lets the machine die at its change number at; 0: never.
func NewMortal(of host.Doer, at int, how string) *Mortal {
	m := &Mortal{at: at, how: how}
	m.Behind = of
	m.Around = func(_ context.Context, c host.Call, do func() error) error {
		if c.Reads() || c.Op == "lock" {
			return m.look(do)
		}
		return m.change(do, nil)
	}
	return m
}

// Rest waits for the commands that went on by themselves.
func (m *Mortal) Rest() { m.going.Wait() }

// Dead tells whether it has died.
func (m *Mortal) Dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at > 0 && m.N >= m.at
}

func (m *Mortal) look(do func() error) error {
	if m.Dead() {
		return ErrDead
	}
	return do()
}

// change does one change, or dies at it. half does what is done of it by who dies amid; nil: nothing.
func (m *Mortal) change(do func() error, half func()) error {
	if m.Dead() {
		return ErrDead
	}
	m.mu.Lock()
	m.N++
	dies := m.N == m.at
	held := m.held
	m.mu.Unlock()
	switch {
	case !dies:
		return do()
	case m.how == After:
		_ = do() // nobody is left to hear of it
	case m.how == Amid && half != nil:
		half()
	}
	for _, h := range held {
		_ = h.Close()
	}
	return ErrDead
}

// Append implements host.Doer.
func (m *Mortal) Append(ctx context.Context, name string, data []byte) error {
	return m.change(func() error { return m.Behind.Append(ctx, name, data) }, func() { _ = m.Behind.Append(ctx, name, data[:len(data)/2]) })
}

// Replace implements host.Doer. Amid it, half of the new file stands beside the old one, as host.LiveDoer calls it.
func (m *Mortal) Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	beside := path.Join(path.Dir(name), "."+path.Base(name)+".plumb-new")
	return m.change(func() error { return m.Behind.Replace(ctx, name, data, perm) }, func() { _ = m.Behind.Append(ctx, beside, data[:len(data)/2]) })
}

// Run implements host.Doer.
func (m *Mortal) Run(ctx context.Context, argv ...string) (out []byte, err error) {
	err = m.change(func() error { out, err = m.Behind.Run(ctx, argv...); return err }, func() {
		m.going.Go(func() { _, _ = m.Behind.Run(context.WithoutCancel(ctx), argv...) })
	})
	return out, err
}

// Pipe implements host.Streamer.
func (m *Mortal) Pipe(ctx context.Context, p host.Pipe) (f host.Flow, err error) {
	pipe := m.Behind.(host.Streamer).Pipe
	err = m.change(func() error { f, err = pipe(ctx, p); return err }, func() {
		if p.Out = io.Discard; p.In != nil {
			p.In = io.LimitReader(p.In, 64<<10)
		}
		m.going.Go(func() { _, _ = pipe(context.WithoutCancel(ctx), p) })
	})
	return f, err
}

// Start implements host.Launcher.
func (m *Mortal) Start(ctx context.Context, p host.Process) (host.Running, error) {
	r := running{of: m}
	start := func() (err error) { r.Running, err = m.Behind.(launching).Start(ctx, p); return err }
	return r, m.change(start, func() { _ = start() })
}

// running is a program that a machine has started: who is dead sends it no signal.
type running struct {
	host.Running
	of *Mortal
}

// Signal implements host.Running.
func (r running) Signal(s host.Signal) error {
	return r.of.change(func() error { return r.Running.Signal(s) }, nil)
}

// Hold gives a session that ends when the machine dies.
func (m *Mortal) Hold(ctx context.Context, t host.Target) (host.Held, error) {
	return m.hold(func() (host.Held, error) { return m.Behind.(launching).Hold(ctx, t) })
}

func (m *Mortal) hold(logIn func() (host.Held, error)) (host.Held, error) {
	h := held{of: m}
	err := m.look(func() (err error) { h.Held, err = logIn(); return err })
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = append(m.held, h.Held)
	return h, nil
}

type held struct {
	host.Held
	of *Mortal
}

// Beside implements host.Held.
func (h held) Beside(ctx context.Context) (host.Held, error) {
	return h.of.hold(func() (host.Held, error) { return h.Held.Beside(ctx) })
}

// Exec implements host.Held.
func (h held) Exec(ctx context.Context, statement string) error {
	return h.of.change(func() error { return h.Held.Exec(ctx, statement) }, nil)
}

// Query implements host.Held.
func (h held) Query(ctx context.Context, query string) (rows host.Rows, err error) {
	err = h.of.look(func() error { rows, err = h.Held.Query(ctx, query); return err })
	return rows, err
}

// Close implements host.Held.
func (h held) Close() error { return h.of.look(h.Held.Close) }
