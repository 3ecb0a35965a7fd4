package host

import (
	"context"
	"errors"
	"testing"
	"time"
)

// stubborn is a session whose queries go on after their deadline. It tells when
// one began and when it was closed, and waits to be told that one may end.
type stubborn struct{ began, end, closed chan struct{} }

func (s stubborn) Query(context.Context, string, QueryLimits) (Rows, error) {
	close(s.began)
	<-s.end
	return Rows{}, nil
}

func (s stubborn) Close() error { close(s.closed); return nil }

func (s stubborn) Dial(context.Context, Target, func(string) ([]byte, error)) (Session, error) {
	return s, nil
}

func (s stubborn) Reads(string) bool { return true }

// TestSessionsAreNotClosedUnderAQuery: a driver's connection that is closed
// while a query still reads from it can panic.
func TestSessionsAreNotClosedUnderAQuery(t *testing.T) {
	s := stubborn{began: make(chan struct{}), end: make(chan struct{}), closed: make(chan struct{})}
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": s}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.began
		cancel()
	}()
	if _, err := l.Query(ctx, Target{Engine: "fake", Name: "a"}, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Fatalf("a query that nobody waits for: %v", err)
	}
	select {
	case <-s.closed:
		t.Error("closed while a query was still running")
	case <-time.After(50 * time.Millisecond):
	}
	close(s.end)
	<-s.closed
}
