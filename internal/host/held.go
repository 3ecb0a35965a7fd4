package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Held is one connection to a server, for locks and transactions that end with
// their connection: it never logs in again. When the server refuses a statement the
// connection stays as it is; after any other error it is closed, and all calls
// return ErrBroken.
//
// One statement runs at a time; callers wait for each other.
type Held interface {
	// Exec runs one statement, which may change the server. Its only time limit
	// is the context's; when that ends, the connection is broken.
	Exec(ctx context.Context, statement string) error
	// Query is Exec for a statement with an answer, which is limited like
	// that of Reader.Query.
	Query(ctx context.Context, query string) (Rows, error)
	// ID is the server's own number for the connection.
	ID() int64
	// Whole asks the server for that number again. If there is no error, everything
	// since the login ran on this one connection.
	Whole(ctx context.Context) error
	// Beside logs in to the same server once more, so that one connection can end a statement of the other.
	Beside(ctx context.Context) (Held, error)
	// Close ends the connection, and with it the locks and transactions it had. It
	// does not wait for a statement that still runs.
	Close() error
}

// HoldDialer is a dialer that can also open a connection to be held.
type HoldDialer interface {
	// DialToHold logs in like Dial. The context is only for the login. The driver
	// must never connect again by itself.
	DialToHold(ctx context.Context, t Target, secret func(name string) ([]byte, error)) (HeldSession, error)
}

// HeldSession is the session of a driver behind a Held. Its methods are never called concurrently.
type HeldSession interface {
	Session
	ChangeSession
	// ID asks the server for its number of the connection.
	ID(ctx context.Context) (int64, error)
}

const (
	heldTime  = 24 * time.Hour  // for a statement of a held session
	proveTime = 5 * time.Second // for the server to answer with the number of the connection
)

var _ Held = (*held)(nil)

// held implements Held. Whoever uses the connection takes slot.
type held struct {
	name    string
	id      int64
	limits  QueryLimits
	stuck   *stuckCount
	life    context.Context // ends with the session
	end     context.CancelFunc
	slot    chan struct{}
	driver  sync.Mutex // guards session: a call that nobody waits for any more can still be using it
	session HeldSession
	broken  error // why the connection is closed; nil while it is not
	beside  func(context.Context) (Held, error)
}

// Hold logs in to a server, and holds the connection until it is closed or the context ends.
func (h *LiveDoer) Hold(ctx context.Context, t Target) (Held, error) {
	s, err := h.hold(ctx, t)
	if err != nil {
		return nil, Answered(fmt.Errorf("hold a session to %s: %w", t.Name, err))
	}
	stop := context.AfterFunc(ctx, func() { _ = s.shut(context.Cause(ctx)) }) // nobody waits for the result
	context.AfterFunc(s.life, func() { stop() })
	return s, nil
}

func (h *LiveDoer) hold(ctx context.Context, t Target) (*held, error) {
	dialer, ok := h.options.Dialers[t.Engine].(HoldDialer)
	if !ok {
		return nil, fmt.Errorf("%w: a session to a server of kind %q cannot be held", ErrRefused, t.Engine)
	}
	s := &held{name: t.Name, stuck: &h.stuck, slot: make(chan struct{}, 1), limits: h.options.Query, beside: func(ctx context.Context) (Held, error) { return h.Hold(ctx, t) }}
	s.limits.Time = 0 // the context's alone
	secret := h.secrets(ctx)
	session, err := within(ctx, &h.stuck, h.options.DialTime, func(ctx context.Context) (HeldSession, error) {
		session, err := dialer.DialToHold(ctx, t, secret)
		if err == nil {
			s.id, err = session.ID(ctx)
			if err = errors.Join(err, ctx.Err()); err != nil { // also when nobody waits for it any more
				session.Close()
			}
		}
		return session, err
	})
	if err != nil {
		return nil, err
	}
	s.session = session
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// ID implements Held.
func (s *held) ID() int64 { return s.id }

// Beside implements Held.
func (s *held) Beside(ctx context.Context) (Held, error) { return s.beside(ctx) }

// Exec implements Held.
func (s *held) Exec(ctx context.Context, statement string) error {
	_, err := s.use(ctx, func(ctx context.Context) (Rows, error) { return Rows{}, s.session.Exec(ctx, statement) })
	if err != nil {
		return Answered(fmt.Errorf("execute %s on %s: %w", statement, s.name, err))
	}
	return nil
}

// Query implements Held.
func (s *held) Query(ctx context.Context, query string) (Rows, error) {
	got, err := s.use(ctx, func(ctx context.Context) (Rows, error) { return s.session.Query(ctx, query, s.limits) })
	rows, err := bounded(RedactRows(got), s.limits, err)
	if err != nil {
		return rows, Answered(fmt.Errorf("query %s: %w", s.name, err))
	}
	return rows, nil
}

// Whole implements Held.
func (s *held) Whole(ctx context.Context) error {
	_, err := s.use(ctx, func(ctx context.Context) (Rows, error) { return Rows{}, s.same(ctx) })
	if err != nil {
		return Answered(fmt.Errorf("look whether the session to %s is unbroken: %w", s.name, err))
	}
	return nil
}

// same is an error unless the connection still has its number on the server.
func (s *held) same(ctx context.Context) error {
	id, err := s.session.ID(ctx)
	if err == nil && id != s.id {
		err = fmt.Errorf("%w: it is connection %d of the server now and was %d", ErrBroken, id, s.id)
	}
	return err
}

// use makes one call. After an error it asks the server whether the connection is still the same, which spares a list of the errors
// that end a connection.
func (s *held) use(ctx context.Context, f func(context.Context) (Rows, error)) (Rows, error) {
	select {
	case s.slot <- struct{}{}:
	case <-ctx.Done():
		return Rows{}, ctx.Err() // nothing was sent
	}
	defer func() { <-s.slot }()
	if err := errors.Join(s.broken, ctx.Err()); err != nil {
		return Rows{}, err
	}
	got, err := s.call(ctx, heldTime, f)
	if err == nil {
		return got, nil
	}
	lost := errors.Join(ctx.Err(), s.life.Err())
	if lost == nil {
		_, lost = s.call(ctx, proveTime, func(ctx context.Context) (Rows, error) { return Rows{}, s.same(ctx) })
	}
	if lost == nil {
		return got, err
	}
	if !errors.Is(err, ErrBroken) {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	s.giveUp(err)
	return got, err
}

// call runs f with the session. It stops waiting when the caller's context, the limit or the session ends.
func (s *held) call(ctx context.Context, limit time.Duration, f func(context.Context) (Rows, error)) (Rows, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	return within(ctx, s.stuck, limit, func(ctx context.Context) (Rows, error) {
		s.driver.Lock()
		defer s.driver.Unlock()
		return f(ctx)
	})
}

// giveUp closes the session. The caller has taken the slot. A call that was left behind can still be using the session, and drivers can
// panic if it is closed then: a goroutine waits for the call to end.
func (s *held) giveUp(why error) {
	s.broken = why
	s.end()
	go func() {
		s.driver.Lock()
		defer s.driver.Unlock()
		_ = s.session.Close() // it is broken already
	}()
}

// Close implements Held.
func (s *held) Close() error { return s.shut(errors.New("it was closed")) }

// shut ends the session, and waits a moment for it to be closed.
func (s *held) shut(why error) error {
	s.end() // ends the wait for a statement that runs
	s.slot <- struct{}{}
	defer func() { <-s.slot }()
	if s.broken != nil {
		return nil
	}
	s.broken = fmt.Errorf("%w: %w", ErrBroken, why)
	_, err := within(context.Background(), s.stuck, proveTime, func(context.Context) (struct{}, error) {
		s.driver.Lock()
		defer s.driver.Unlock()
		return struct{}{}, s.session.Close()
	})
	if err != nil {
		return Answered(fmt.Errorf("close the session to %s: %w", s.name, err))
	}
	return nil
}
