package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/host/redact"
	"plumb/internal/units"
)

// maxDials is how often a broken session is opened again within [LiveOptions].Again.
const maxDials = 3

// idle is how long a session must not have been used for its end to be nothing unusual. One that ended sooner broke: its server may be
// starting again, and a login that comes too soon would be remembered as refused.
const idle = 2 * time.Second

// unused is how long a session is kept that nobody uses. A server allows only so many, and the search for indexes, which queries every
// database of a server each half hour, would keep one for each.
const unused = time.Minute

// openSession is the session to one target. Whoever uses it takes slot, a channel so that waiting for it can end at a deadline.
type openSession struct {
	slot     chan struct{}
	session  *serial   // nil while it is not open
	failed   error     // why it could not be opened: the error of every query for a while
	dials    int       // since failed was last cleared
	dialed   time.Time // when it was last opened
	answered time.Time // when a query last ended
	asked    time.Time // when it was last asked for; guarded by the reader's mutex
	closed   bool
}

// Query implements Reader. An answer over the limits is cut, and the error is
// ErrTooLarge. A login that failed is not tried again for a while.
func (l *Live) Query(ctx context.Context, t Target, query string) (Rows, error) {
	rows, err := l.query(ctx, t, query)
	rows = RedactRows(rows)
	if err != nil {
		return rows, Answered(fmt.Errorf("query %s: %w", t.Name, err))
	}
	return rows, nil
}

func (l *Live) query(ctx context.Context, t Target, query string) (Rows, error) {
	dialer, ok := l.options.Dialers[t.Engine]
	if !ok {
		return Rows{}, fmt.Errorf("%w: no driver for %q", ErrDown, t.Engine)
	}
	if !dialer.Reads(query) {
		return Rows{}, fmt.Errorf("%w: %s", ErrRefused, query)
	}
	s, err := l.sessionFor(t)
	if err != nil {
		return Rows{}, err
	}
	select {
	case s.slot <- struct{}{}:
	case <-ctx.Done():
		return Rows{}, ctx.Err()
	}
	defer func() { <-s.slot }()
	if err := l.dial(ctx, dialer, t, s); err != nil {
		return Rows{}, err
	}
	return l.ask(ctx, s, query)
}

func (l *Live) sessionFor(t Target) (*openSession, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("%w: this reader is closed", ErrDown)
	}
	s, ok := l.sessions[t.Name]
	if ok {
		s.asked = l.options.Now()
	}
	l.dropUnused(unused)
	if !ok {
		if len(l.sessions) >= l.options.Sessions && !l.dropUnused(l.options.Again) {
			return nil, fmt.Errorf("%w: already connected to %d databases", ErrDown, len(l.sessions))
		}
		s = &openSession{slot: make(chan struct{}, 1), asked: l.options.Now()}
		l.sessions[t.Name] = s
	}
	return s, nil
}

// dropUnused closes the sessions that nobody has used for so long, and tells whether there were some. Servers that come and go leave
// such sessions behind. The caller holds the mutex.
func (l *Live) dropUnused(long time.Duration) (some bool) {
	for name, s := range l.sessions {
		if l.options.Now().Sub(s.asked) >= long {
			delete(l.sessions, name)
			go func() { _ = s.close(context.Background()) }() // nobody asks it any more
			some = true
		}
	}
	return some
}

// secrets returns the function with which a dialer reads logins. It reads with our own rights, even within a context that asks for those
// of somebody else, as it is we who choose the files.
func (l *Live) secrets(ctx context.Context) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if name == SecretDSN {
			return []byte(l.options.DSN), nil
		}
		return l.readRaw(ourselves(ctx), name)
	}
}

// dial opens the session if it is not open, or if the server ended it while it was idle. The caller has taken the slot.
func (l *Live) dial(ctx context.Context, dialer Dialer, t Target, s *openSession) error {
	if s.closed {
		return fmt.Errorf("%w: the session was closed", ErrDown)
	}
	now := l.options.Now()
	if s.session != nil && now.Sub(s.answered) >= idle && s.session.Ended() {
		s.drop()
		s.dials = 0 // the server ended it, and it did not break
	}
	if now.Sub(s.dialed) >= l.options.Again {
		s.failed, s.dials = nil, 0
	}
	if s.failed != nil || s.session != nil {
		return s.failed
	}
	secret := l.secrets(ctx)
	s.dials++
	s.dialed = now
	session, err := within(ctx, &l.stuck, l.options.DialTime, func(ctx context.Context) (Session, error) {
		session, err := dialer.Dial(ctx, t, secret)
		if err == nil && ctx.Err() != nil { // nobody waits for it any more
			session.Close()
			return nil, ctx.Err()
		}
		return session, err
	})
	if err != nil {
		if ctx.Err() == nil {
			s.failed = err
		}
		return err
	}
	s.session = &serial{session: session}
	return nil
}

// drop closes a session that is of no more use. The next query opens another.
func (s *openSession) drop() {
	session := s.session
	s.session = nil
	go session.Close()
}

// ask runs a query in the open session. If the session is lost, or does not answer in time, it is dropped, so that the next query opens
// another; but only maxDials times.
func (l *Live) ask(ctx context.Context, s *openSession, query string) (Rows, error) {
	limits, session := l.options.Query, s.session
	rows, err := within(ctx, &l.stuck, limits.Time+time.Second, func(ctx context.Context) (Rows, error) {
		ctx, cancel := context.WithTimeout(ctx, limits.Time)
		defer cancel()
		return session.Query(ctx, query, limits)
	})
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, ErrDown) {
		s.drop()
		if s.dials >= maxDials {
			s.failed = fmt.Errorf("%w: the session broke %s, at last: %w", ErrDown, units.Count(s.dials, "time"), err)
		}
	}
	s.answered = l.options.Now()
	return bounded(rows, limits, err)
}

// bounded cuts an answer that is over the limits, in case the driver did not.
func bounded(rows Rows, limits QueryLimits, err error) (Rows, error) {
	size := 0
	for i, row := range rows.Values {
		for _, cell := range row {
			if cell != nil {
				size += len(*cell)
			}
		}
		if i >= limits.Rows || size > limits.Bytes {
			rows.Values, rows.Cut = rows.Values[:i], true
			break
		}
	}
	if err == nil && rows.Cut {
		err = ErrTooLarge
	}
	return rows, err
}

func (s *openSession) close(ctx context.Context) error {
	select {
	case s.slot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.slot }()
	s.closed = true
	if s.session == nil {
		return nil
	}
	session := s.session
	s.session = nil
	var stuck stuckCount
	_, err := within(ctx, &stuck, time.Second, func(context.Context) (struct{}, error) {
		_ = session.Close() // if the connection was lost meanwhile, what was read from it is still right
		return struct{}{}, nil
	})
	return err
}

// RedactRows replaces the secrets in the answer to a query, in place of the
// cells that hold them; all other cells are left as they are.
func RedactRows(rows Rows) Rows {
	rows.Values = redact.Rows(rows.Columns, rows.Values)
	return rows
}
