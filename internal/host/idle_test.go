package host

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"plumb/internal/host/statement"
)

// timingOut is a server that ends sessions. One that is ended answers nothing.
type timingOut struct {
	dials, asked atomic.Int32
	closed       atomic.Int32
	ended        atomic.Bool // the session that was opened last
	tells        bool        // the session can tell
}

func (d *timingOut) Dial(context.Context, Target, func(string) ([]byte, error)) (Session, error) {
	d.dials.Add(1)
	d.ended.Store(false)
	if !d.tells {
		return mute{d}, nil
	}
	return struct {
		mute
		ender
	}{mute{d}, ender{d}}, nil
}

func (d *timingOut) Reads(query string) bool { return statement.Reads(query) }

type mute struct{ d *timingOut }

func (s mute) Query(context.Context, string, QueryLimits) (Rows, error) {
	s.d.asked.Add(1)
	if s.d.ended.Load() {
		return Rows{}, fmt.Errorf("%w: terminating connection due to idle-session timeout", ErrDown)
	}
	return Rows{Columns: []string{"a"}}, nil
}

func (s mute) Close() error { s.d.closed.Add(1); return nil }

type ender struct{ d *timingOut }

func (e ender) Ended() bool { return e.d.ended.Load() }

// A session that the server has ended while it was idle is opened again before anything is asked in it, however often that
// happens. One that ended between two questions in a row broke: that is told.
func TestAnIdleSessionThatHasEnded(t *testing.T) {
	for _, c := range []struct {
		name  string
		tells bool
		pause time.Duration
		want  error
	}{
		{"idle", true, 10 * time.Second, nil},
		{"busy", true, time.Second, ErrDown},
		{"a driver that does not tell", false, 10 * time.Second, ErrDown},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, now := &timingOut{tells: c.tells}, time.Now()
			l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": d}, Now: func() time.Time { return now }})
			ask := func() error {
				_, err := l.Query(t.Context(), Target{Engine: "fake", Name: "a"}, "SELECT 1")
				return err
			}
			if err := ask(); err != nil {
				t.Fatal(err)
			}
			for range 2 * maxDials {
				before := d.asked.Load()
				d.ended.Store(true)
				now = now.Add(c.pause)
				if err := ask(); !errors.Is(err, c.want) {
					t.Fatalf("%v, want %v", err, c.want)
				}
				if n := d.asked.Load() - before; n != 1 {
					t.Errorf("it was asked %d times", n)
				}
				if c.want != nil {
					break
				}
			}
		})
	}
}

// A session that nobody asks any more is closed, while another one is asked; and opened again when it is asked.
func TestAnUnusedSessionIsClosed(t *testing.T) {
	d, now := &timingOut{tells: true}, time.Now()
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": d}, Now: func() time.Time { return now }})
	ask := func(name string) {
		t.Helper()
		if _, err := l.Query(t.Context(), Target{Engine: "fake", Name: name}, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	ask("once")
	for range 6 {
		ask("often")
		now = now.Add(10 * time.Second)
	}
	if n := d.closed.Load(); n != 0 {
		t.Errorf("%d sessions are closed too soon", n)
	}
	ask("often")
	for end := time.Now().Add(time.Minute); d.closed.Load() == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if closed, dials := d.closed.Load(), d.dials.Load(); closed != 1 || dials != 2 {
		t.Errorf("%d sessions of %d are closed, want 1 of 2", closed, dials)
	}
	ask("once")
	if n := d.dials.Load(); n != 3 {
		t.Errorf("%d sessions were opened", n)
	}
}
