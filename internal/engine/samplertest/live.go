// Package samplertest has what the tests of the servers' samplers share: a
// private server that sources are asked about while a test does something to it.
package samplertest

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Live is a private server, and what watches it.
type Live struct {
	T      testing.TB
	DB     *sql.DB
	Host   *host.Live
	Source func(part string) sample.Source
	Pause  time.Duration // between two questions of the same kind
}

// LoggedIn is a stack with one server that Plumb can query.
func LoggedIn(kind, address string) (*stack.Stack, stack.Ref) {
	s, obs := &stack.Stack{}, stack.Observation{}
	server := obs.New(kind, address)
	server.Set("logged_in", stack.Bool(true), "test")
	s.Add("test", obs)
	return s, server.Ref
}

// Exec runs statements.
func (l *Live) Exec(statements ...string) {
	l.T.Helper()
	for _, q := range statements {
		if _, err := l.DB.Exec(q); err != nil {
			l.T.Fatalf("%s: %v", q, err)
		}
	}
}

// Take asks one source.
func (l *Live) Take(part string) (series.Batch, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return l.Source(part).Take(ctx, l.Host)
}

// Must asks one source that answers.
func (l *Live) Must(part string) series.Batch {
	l.T.Helper()
	b, err := l.Take(part)
	if err != nil {
		l.T.Fatalf("%s: %v", part, err)
	}
	return b
}

// Until asks a source again until it says what is waited for.
func (l *Live) Until(part, what string, done func(series.Batch) bool) series.Batch {
	l.T.Helper()
	var b series.Batch
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(l.Pause) {
		if b = l.Must(part); done(b) {
			return b
		}
	}
	l.T.Fatalf("%s never said %s: %+v", part, what, b)
	return b
}

// Busy has so many sessions run a statement until the test ends.
func (l *Live) Busy(n int, statement string) {
	l.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	l.T.Cleanup(func() { cancel(); all.Wait() })
	for range n {
		c, err := l.DB.Conn(ctx)
		if err != nil {
			l.T.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			_, _ = c.ExecContext(ctx, statement) // it is ended
		})
	}
}

// Counted waits until so many sessions are active. A look can be late, which is an
// error, and the server may be at it still when the next one comes: none says more
// than that.
func (l *Live) Counted(n int) series.Batch {
	l.T.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(l.Pause) {
		began := time.Now()
		b, err := l.Take("sessions")
		active, sum := Reads(b, "sessions_active"), 0.0
		for _, class := range series.Classes {
			sum += Reads(b, "sessions_"+string(class))
		}
		if active > float64(n+1) || sum != active {
			l.T.Fatalf("%v of %d are active, %v by what they do", active, n, sum)
		}
		if err == nil && active == float64(n) {
			l.T.Logf("%d sessions were read in %v", n, time.Since(began).Round(time.Millisecond))
			return b
		}
	}
	l.T.Fatalf("%d active sessions were never counted", n)
	return series.Batch{}
}

// Held opens a session that the test keeps.
func (l *Live) Held(statements ...string) *sql.Conn {
	l.T.Helper()
	c, err := l.DB.Conn(context.Background())
	if err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(func() { c.Close() })
	for _, q := range statements {
		if _, err := c.ExecContext(context.Background(), q); err != nil {
			l.T.Fatalf("%s: %v", q, err)
		}
	}
	return c
}

// Later runs a statement that will wait.
func (l *Live) Later(c *sql.Conn, q string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.ExecContext(context.Background(), q) // the test ends it by its server's end
	}()
	l.T.Cleanup(func() { <-done })
}

// Recovers sees that a source whose session was killed fails, and answers again within a time.
func (l *Live) Recovers(part string, within time.Duration) {
	l.T.Helper()
	failed := 0
	for end := time.Now().Add(within); ; time.Sleep(l.Pause) {
		_, err := l.Take(part)
		switch {
		case err != nil:
			failed++
		case failed > 0:
			return
		}
		if time.Now().After(end) {
			l.T.Fatalf("after %s and %d errors: %v", within, failed, err)
		}
	}
}

// Dead has a server that was ended be asked: each time that is an error, and none
// takes long.
func (l *Live) Dead(part string) {
	l.T.Helper()
	began := time.Now()
	for range 5 {
		if b, err := l.Take(part); err == nil || len(b.Readings) > 0 {
			l.T.Errorf("of a dead server: %v %v", err, b)
		}
	}
	if d := time.Since(began); d > 10*time.Second {
		l.T.Errorf("a dead server was waited for: %v", d)
	}
}

// Value gives a reading of a batch.
func Value(b series.Batch, name string) (float64, bool) {
	i := slices.IndexFunc(b.Readings, func(r series.Reading) bool { return r.Name == name })
	if i < 0 {
		return 0, false
	}
	return b.Readings[i].Value, true
}

// Reads is Value where a reading that is not there is as good as 0.
func Reads(b series.Batch, name string) float64 {
	n, _ := Value(b, name)
	return n
}
