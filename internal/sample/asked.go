package sample

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// LoggedIn gives the servers of a kind that Plumb can query.
func LoggedIn(s *stack.Stack, kind string) (all []*stack.Thing) {
	for _, t := range s.OfKind(kind) {
		if in, ok := t.Bool("logged_in"); ok && in {
			all = append(all, t)
		}
	}
	return all
}

// Asked is a server that is asked again and again. Its sources share it, and so
// one session.
type Asked struct {
	Ref stack.Ref
	// Find works out the way to log in. It is called until it has done so once: a
	// server that starts again is another process, and gets other sources.
	Find   func(ctx context.Context, h host.Reader) (host.Target, error)
	Denied string // what to do about a question that the user may not ask

	mu     sync.Mutex
	target *host.Target
}

// NoLogin is the error of Find where no way to log in is known.
func NoLogin(of stack.Ref) error {
	return hint.With(fmt.Errorf("there is no way to log in to %s", of), "give one with --dsn")
}

// Source makes a source of one part of what is read of the server.
func (a *Asked) Source(part string, every time.Duration, take Taker) Source {
	return Made(a.Ref.String()+" "+part, every, take)
}

// Target gives the way to log in.
func (a *Asked) Target(ctx context.Context, h host.Reader) (host.Target, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.target != nil {
		return *a.target, nil
	}
	t, err := a.Find(ctx, h)
	if err != nil {
		return t, err
	}
	a.target = &t
	return t, nil
}

// Ask asks one question.
func (a *Asked) Ask(ctx context.Context, h host.Reader, query string) (host.Rows, error) {
	t, err := a.Target(ctx, h)
	if err != nil {
		return host.Rows{}, err
	}
	rows, err := h.Query(ctx, t, query)
	return rows, a.Refused(err)
}

// Refused says of an error what to do, where a right is missing.
func (a *Asked) Refused(err error) error {
	if errors.Is(err, host.ErrDenied) && hint.Of(err) == "" {
		return hint.With(err, a.Denied)
	}
	return err
}

// relearn is how old what was learned of a server may be: settings, consumers
// and extensions come and go while it runs.
const relearn = time.Minute

// Learned keeps what decides which questions a server understands.
type Learned[T any] struct {
	mu    sync.Mutex
	value T
	at    time.Time // zero: nothing was learned
}

// Get gives what was learned, and asks for it when that is too long ago. The
// lock is not held meanwhile: who asks may take long.
func (l *Learned[T]) Get(ask func() (T, error)) (T, error) {
	l.mu.Lock()
	have, at := l.value, l.at
	l.mu.Unlock()
	if !at.IsZero() && time.Since(at) < relearn {
		return have, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value, l.at = value, time.Now()
	return value, nil
}

// Forget has it asked for again.
func (l *Learned[T]) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

// WithoutPort gives the host of a client's address, as a server writes it.
func WithoutPort(address string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 && strings.Trim(address[i+1:], "0123456789") == "" {
		return address[:i]
	}
	return address
}

// sooner is by how much a transaction can seem to begin after it was asked about, in seconds: it does while the
// question is on its way, and some servers tell whole seconds.
const sooner = 5

// Oldest sets the age of a server's oldest transaction, in seconds; 0 where there is none. Of one that began in
// the future it is not known.
func Oldest(b *series.Batch, of stack.Ref, age float64) {
	const name = "longest_transaction"
	if age < -sooner {
		b.Gap(of, "a transaction began in the future: the clock was set back", "", name)
		return
	}
	b.Set(of, name, max(0, age))
}
