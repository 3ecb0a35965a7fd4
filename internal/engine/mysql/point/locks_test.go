package point

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// busy is a server whose lock is not granted for some tries. How long each was waited for is kept.
type busy struct {
	host.Held
	refuses int // tries; -1 for all
	takes   time.Duration
	stirs   int   // looks at which a statement runs
	other   bool  // a second session leads to another server
	deaf    error // what the second session answers
	typed   []string
	waited  []time.Duration
	held    bool
	killed  chan struct{}
}

func (b *busy) ID() int64 { return 7 }

func (b *busy) Query(_ context.Context, q string) (host.Rows, error) {
	var text []*string
	one := func(s string) *string { return &s }
	switch {
	case strings.HasPrefix(q, thisServer):
		text = []*string{one("this server")}
	case q == unended:
		text = []*string{one(strconv.Itoa(b.stirs))}
		b.stirs = max(b.stirs-1, 0)
	case q == rowWaits:
		text = []*string{one("Innodb_row_lock_current_waits"), one("0")}
	default:
		return host.Rows{}, nil
	}
	return host.Rows{Values: [][]*string{text}}, nil
}

func (b *busy) Exec(ctx context.Context, s string) error {
	b.typed = append(b.typed, s)
	limit := time.Hour
	if text, rest, ok := strings.Cut(strings.TrimPrefix(s, setStatement), forStatement); ok {
		n, _ := strconv.ParseFloat(text, 64)
		limit, s = time.Duration(n*float64(time.Second)), rest
	}
	switch s {
	case stageCommit, readLock:
		return b.lock(min(limit, lockWait))
	case "BACKUP STAGE END", "UNLOCK TABLES":
		b.held = false
	}
	return nil
}

func (b *busy) lock(limit time.Duration) error {
	if b.refuses == 0 {
		time.Sleep(b.takes)
		b.held = true
		return nil
	}
	select {
	case <-b.killed: // too late for the try before
	default:
	}
	began := time.Now()
	defer func() { b.waited = append(b.waited, time.Since(began)) }()
	b.refuses = max(b.refuses-1, -1)
	select {
	case <-b.killed:
		return errors.New("Error 1317 (70100): Query execution was interrupted")
	case <-time.After(limit):
	}
	if limit == lockWait {
		return errors.New("Error 1205 (HY000): Lock wait timeout exceeded")
	}
	return fmt.Errorf("%w: Error 1969 (70100): max_statement_time exceeded", context.DeadlineExceeded)
}

func (b *busy) Beside(context.Context) (host.Held, error) { return second{of: b}, nil }

func (b *busy) Close() error { return nil }

// second is the session that ends the wait of the first.
type second struct {
	host.Held
	of *busy
}

func (s second) Query(ctx context.Context, q string) (host.Rows, error) {
	if s.of.other {
		return host.Rows{}, nil
	}
	return s.of.Query(ctx, q)
}

func (s second) Exec(_ context.Context, statement string) error {
	if s.of.deaf == nil && statement == "KILL QUERY 7" {
		s.of.killed <- struct{}{}
	}
	return s.of.deaf
}

func (second) Close() error { return nil }

// each runs a test with a server whose own limits are short, and with one of which a second session must end waits.
func each(t *testing.T, f func(t *testing.T, b *busy, m protect.Mode)) {
	for _, sv := range []protect.Server{{Flavor: "mariadb", Version: "10.11.6"}, {Flavor: "mysql", Version: "8.4.6"}} {
		t.Run(sv.Flavor, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &judged{sv: sv, v: map[string]string{"log_bin": "ON", "sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1", "datadir": "/d"}}
				f(t, &busy{killed: make(chan struct{}, 1)}, j.locked())
			})
		})
	}
}

// A lock that is not granted soon is given up, everything is given back, and it is tried again, so that nobody waits
// for it for long. What is told of it counts from the try that succeeded.
func TestShortTries(t *testing.T) {
	each(t, func(t *testing.T, b *busy, m protect.Mode) {
		const short, refused = 105, 110 // tries of 8 ms with a breath of 16 are 105 in half of five seconds
		b.refuses, b.takes = refused, 3*time.Millisecond
		began := time.Now()
		q, err := (&Engine{}).Quiesce(t.Context(), b, m, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		held := q.(protect.Blocking)
		if f := held.Failed(); f.Tries != refused || f.Longest != 2*firstTry {
			t.Errorf("failed %+v", f)
		}
		if since := time.Since(held.Since()); since != b.takes || !b.held {
			t.Errorf("held for %s, of %s in all: %t", since, time.Since(began), b.held)
		}
		for i, w := range b.waited {
			if want := firstTry << (i / short); w != want {
				t.Errorf("try %d waited for %s, and may for %s", i, w, want)
			}
		}
		back := len(slices.DeleteFunc(slices.Clone(b.typed), func(s string) bool { return s != m.Statements[len(m.Statements)-1] }))
		if back != refused {
			t.Errorf("given back %d times: %q", back, b.typed)
		}
	})
}

// A lock that is never granted is given up in time, by the server, and nothing is held.
func TestNeverGranted(t *testing.T) {
	for _, limit := range []time.Duration{50 * time.Millisecond, answerTime, time.Second, 5 * time.Second, time.Minute} {
		each(t, func(t *testing.T, b *busy, m protect.Mode) {
			b.refuses = -1
			began := time.Now()
			q, err := (&Engine{}).Quiesce(t.Context(), b, m, limit)
			if took := time.Since(began); q != nil || err == nil || b.held || took > limit || !strings.Contains(err.Error(), "nothing is locked") {
				t.Errorf("within %s: %v, %v after %s", limit, q, err, took)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it may still come about: %v", err)
			}
			for i, w := range b.waited {
				if last := i == len(b.waited)-1; w > lockWait || !last && w > longTry || i > 0 && !last && w < b.waited[i-1] {
					t.Errorf("try %d of %d waited for %s", i, len(b.waited), w)
				}
			}
		})
	}
}

// The session that ends a wait must be of the same server, where its number is ours; without it nothing is tried again.
func TestSecondSession(t *testing.T) {
	each(t, func(t *testing.T, b *busy, m protect.Mode) {
		if !slices.Contains(m.Statements, readLock) {
			return
		}
		b.other = true
		if q, err := (&Engine{}).Quiesce(t.Context(), b, m, 5*time.Second); q != nil || err == nil || !strings.Contains(err.Error(), "another server") || slices.Contains(b.typed, readLock) {
			t.Errorf("%v, %v: %q", q, err, b.typed)
		}
		b.other, b.refuses, b.deaf = false, -1, errors.New("gone")
		if q, err := (&Engine{}).Quiesce(t.Context(), b, m, 5*time.Second); q != nil || err == nil || !strings.Contains(err.Error(), "gone") || len(b.waited) != 1 {
			t.Errorf("%v, %v: %v", q, err, b.waited)
		}
	})
}

// What may take long is waited for before the lock is asked for.
func TestLull(t *testing.T) {
	each(t, func(t *testing.T, b *busy, m protect.Mode) {
		b.stirs = 4
		began := time.Now()
		_, err := (&Engine{}).Quiesce(t.Context(), b, m, 5*time.Second)
		if took := time.Since(began); err != nil || slices.Contains(m.Statements, unended) && took != 4*lullPause {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// A node of a cluster stays desynced from the first try to the last.
func TestDesyncedThroughout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judged{sv: protect.Server{Flavor: "mariadb", Version: "10.11.6"}, galera: true, v: map[string]string{"log_bin": "ON"}}
		b := &busy{refuses: 3}
		q, err := (&Engine{}).Quiesce(t.Context(), b, j.locked(), 5*time.Second)
		if err != nil || slices.Contains(b.typed, resync) {
			t.Fatalf("%v: %q", err, b.typed)
		}
		if _, err := q.Release(t.Context()); err != nil || b.typed[len(b.typed)-1] != resync {
			t.Errorf("%v: %q", err, b.typed)
		}
	})
}

// The logs are flushed before the lock, and then again under it.
func TestFlushedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &judged{sv: protect.Server{Flavor: "mariadb", Version: "10.11.6"}, v: map[string]string{"log_bin": "ON"}}
		b := &busy{refuses: 1}
		if _, err := (&Engine{}).Quiesce(t.Context(), b, j.locked(), 5*time.Second); err != nil {
			t.Fatal(err)
		}
		at := func(s string) (all []int) {
			for i, typed := range b.typed {
				if strings.HasSuffix(typed, s) {
					all = append(all, i)
				}
			}
			return all
		}
		if flushed, locked := at(flushLogs), at(stageCommit); len(flushed) != 2 || len(locked) != 2 || flushed[0] > locked[0] || flushed[1] < locked[1] {
			t.Errorf("%q", b.typed)
		}
	})
}
