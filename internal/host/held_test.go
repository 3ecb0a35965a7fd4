package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// heldDialer opens one session that answers by the words of the statement.
type heldDialer struct {
	fakeDialer
	id     atomic.Int64 // what the server calls the connection
	dials  atomic.Int32
	closed chan struct{}
	once   sync.Once // of both sessions, where there are two
	fakeSession
}

func (d *heldDialer) DialToHold(context.Context, Target, func(string) ([]byte, error)) (HeldSession, error) {
	d.dials.Add(1)
	d.id.CompareAndSwap(0, 7)
	return d, nil
}

func (d *heldDialer) Exec(ctx context.Context, statement string) error {
	_, err := d.Query(ctx, statement, QueryLimits{})
	return err
}

func (d *heldDialer) ID(ctx context.Context) (int64, error) {
	_, err := d.Query(ctx, "ID", QueryLimits{})
	if id := d.id.Load(); id > 0 {
		return id, err
	}
	return 0, errors.Join(err, ErrDown)
}

func (d *heldDialer) Query(ctx context.Context, query string, limits QueryLimits) (Rows, error) {
	if strings.Contains(query, "wrong") {
		return Rows{}, errors.New("syntax error")
	}
	return d.fakeSession.Query(ctx, query, limits)
}

func (d *heldDialer) Close() error { d.once.Do(func() { close(d.closed) }); return nil }

func hold(t *testing.T, ctx context.Context) (*heldDialer, Held) {
	t.Helper()
	d := &heldDialer{closed: make(chan struct{})}
	h := NewLiveDoer(NewLive(LiveOptions{Dialers: map[string]Dialer{"fake": d}, Query: QueryLimits{Rows: 5}}))
	t.Cleanup(func() { h.Close() })
	s, err := h.Hold(ctx, Target{Engine: "fake", Name: "a"})
	must(t, err)
	return d, s
}

// A second session is of the same server, and lives on without the first.
func TestBeside(t *testing.T) {
	d, s := hold(t, t.Context())
	second, err := s.Beside(t.Context())
	must(t, err)
	if n := d.dials.Load(); n != 2 {
		t.Errorf("logged in %d times", n)
	}
	must(t, s.Close())
	must(t, second.Exec(t.Context(), "KILL QUERY 7"))
}

// gone is an error of a session that is of no more use, and closed.
func gone(t *testing.T, d *heldDialer, s Held) {
	t.Helper()
	select {
	case <-d.closed:
	case <-time.After(time.Minute):
		t.Fatal("the connection was not closed")
	}
	_, err := s.Query(t.Context(), "SELECT 1")
	for _, err := range []error{err, s.Exec(t.Context(), "SET a"), s.Whole(t.Context())} {
		if !errors.Is(err, ErrBroken) {
			t.Errorf("after its end: %v", err)
		}
	}
	must(t, s.Close())
	if d.dials.Load() != 1 {
		t.Errorf("%d dials", d.dials.Load())
	}
}

func TestHeldLastsThroughRefusals(t *testing.T) {
	d, s := hold(t, t.Context())
	for range 3 {
		if err := s.Exec(t.Context(), "wrong"); err == nil || errors.Is(err, ErrBroken) {
			t.Errorf("a statement the server refuses: %v", err)
		}
		must(t, s.Exec(t.Context(), "SET a"))
		if rows, err := s.Query(t.Context(), "SELECT many"); !errors.Is(err, ErrTooLarge) || len(rows.Values) != 5 {
			t.Errorf("11 rows with a limit of 5: %d, %v", len(rows.Values), err)
		}
	}
	rows, err := s.Query(t.Context(), "SELECT password")
	if err != nil || *rows.Values[0][1] != "***" {
		t.Errorf("a secret: %v", err)
	}
	must(t, s.Whole(t.Context()))
	if s.ID() != 7 {
		t.Errorf("it is connection %d", s.ID())
	}
	must(t, s.Close())
	gone(t, d, s)
}

// Whatever the error is called: when the server does not know the connection
// any more, or knows it as another, that is the end.
func TestHeldIsBrokenForEver(t *testing.T) {
	for name, id := range map[string]int64{"gone": -1, "another": 8} {
		d, s := hold(t, t.Context())
		d.id.Store(id)
		must(t, s.Exec(t.Context(), "SET a")) // a driver that connects again by itself
		if err := s.Exec(t.Context(), "wrong"); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
		gone(t, d, s)
		d, s = hold(t, t.Context())
		d.id.Store(id)
		if err := s.Whole(t.Context()); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
		d.id.Store(7)
		gone(t, d, s)
	}
}

func TestHeldEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d, s := hold(t, ctx)
	must(t, s.Exec(t.Context(), "SET a"))
	cancel()
	gone(t, d, s)

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d, s := hold(t, ctx)
		time.AfterFunc(50*time.Millisecond, cancel) // while a statement runs
		if err := s.Exec(t.Context(), "slow"); !errors.Is(err, ErrBroken) {
			t.Errorf("a statement amid which the context ended: %v", err)
		}
		gone(t, d, s)
	})
}

// A statement that is not waited for may have been carried out or not.
func TestHeldIsBrokenByWhatIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := hold(t, t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		done := make(chan error)
		go func() { done <- s.Exec(ctx, "slow") }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := s.Exec(short, "SET a"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBroken) {
			t.Errorf("one that was never sent: %v", err)
		}
		if err := <-done; !errors.Is(err, ErrBroken) {
			t.Errorf("one that was: %v", err)
		}
		gone(t, d, s)
	})
}

func TestHeldIsClosedUnderAStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := hold(t, t.Context())
		done := make(chan error)
		go func() { done <- s.Exec(t.Context(), "slow") }()
		synctest.Wait()
		must(t, s.Close())
		if err := <-done; !errors.Is(err, ErrBroken) {
			t.Errorf("the statement: %v", err)
		}
		gone(t, d, s)
	})
}

// Only a LiveDoer holds sessions, and only to servers whose dialer can.
func TestOnlyHandsHold(t *testing.T) {
	type holder interface {
		Hold(context.Context, Target) (Held, error)
	}
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": &fakeDialer{}}})
	for _, r := range []Reader{l, NewCached(l)} {
		if _, ok := r.(holder); ok {
			t.Errorf("a %s holds sessions", fmt.Sprintf("%T", r))
		}
	}
	if _, err := NewLiveDoer(l).Hold(t.Context(), Target{Engine: "fake"}); !errors.Is(err, ErrRefused) {
		t.Errorf("a dialer that cannot hold: %v", err)
	}
}
