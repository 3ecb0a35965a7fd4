package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plumb/internal/host/statement"
)

// fakeDialer opens sessions that answer by the words of the query.
type fakeDialer struct{ dials atomic.Int32 }

func (d *fakeDialer) Dial(ctx context.Context, t Target, secret func(string) ([]byte, error)) (Session, error) {
	d.dials.Add(1)
	switch {
	case strings.HasSuffix(t.Name, "down"):
		return nil, fmt.Errorf("%w: dial a:s3cret@tcp(x)", ErrDown)
	case strings.HasSuffix(t.Name, "slow"):
		time.Sleep(time.Minute)
	}
	for _, login := range t.Logins {
		data, err := secret(login.File)
		if err != nil || !strings.Contains(string(data), "s3cret") {
			return nil, fmt.Errorf("%w: %s, %v", ErrLogin, data, err)
		}
	}
	return &fakeSession{}, nil
}

func (d *fakeDialer) Reads(query string) bool { return statement.Reads(query) }

type fakeSession struct{ busy atomic.Bool }

func (s *fakeSession) Query(ctx context.Context, query string, limits QueryLimits) (Rows, error) {
	if s.busy.Swap(true) {
		return Rows{}, errors.New("two queries at once in one session")
	}
	defer s.busy.Store(false)
	cell := "1"
	rows := Rows{Columns: []string{"name", "value"}, Values: [][]*string{{&cell, nil}}}
	switch {
	case strings.Contains(query, "many"):
		for range 10 {
			rows.Values = append(rows.Values, rows.Values[0])
		}
	case strings.Contains(query, "slow"):
		<-ctx.Done()
		return Rows{}, ctx.Err()
	case strings.Contains(query, "hangs"):
		time.Sleep(time.Minute)
	case strings.Contains(query, "denied"):
		return Rows{}, fmt.Errorf("%w: no", ErrDenied)
	case strings.Contains(query, "lost"):
		return Rows{}, fmt.Errorf("%w: no more", ErrDown)
	case strings.Contains(query, "password"):
		name, value := "report_password", "s3cret"
		rows.Values = [][]*string{{&name, &value}}
	}
	return rows, nil
}

// Close fails as that of a connection does which the server has closed.
func (s *fakeSession) Close() error { return errors.New("bad connection") }

// A server that ended a session which has read all it was to read takes nothing back of that.
func TestCloseOfALostSessionIsNoFailure(t *testing.T) {
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": &fakeDialer{}}, DSN: "a:s3cret@tcp(x)"})
	if _, err := l.Query(t.Context(), Target{Engine: "fake", Name: "a", Logins: []Login{{File: SecretDSN}}}, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestQueryKeepsOneSessionAndOneQueryAtATime(t *testing.T) {
	d := &fakeDialer{}
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": d}})
	db := Target{Engine: "fake", Name: "a", Logins: []Login{{File: write(t, t.TempDir()+"/.my.cnf", "password=s3cret")}}}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := l.Query(context.Background(), db, "SELECT 1"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := d.dials.Load(); n != 1 {
		t.Errorf("%d sessions were opened", n)
	}
}

func TestQueryLogsInWithTheDSN(t *testing.T) {
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": &fakeDialer{}}, DSN: "a:s3cret@tcp(x)"})
	if _, err := l.Query(context.Background(), Target{Engine: "fake", Name: "a", Logins: []Login{{File: SecretDSN}}}, "SELECT 1"); err != nil {
		t.Error(err)
	}
}

func TestQueryRemembersAFailedLogin(t *testing.T) {
	d := &fakeDialer{}
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": d}})
	for range 3 {
		_, err := l.Query(context.Background(), Target{Engine: "fake", Name: "down"}, "SELECT 1")
		if !errors.Is(err, ErrDown) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	}
	if d.dials.Load() != 1 {
		t.Errorf("%d dials", d.dials.Load())
	}
}

func TestQueryOpensALostSessionAgainButNotForEver(t *testing.T) {
	d := &fakeDialer{}
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": d}})
	for range 10 {
		if _, err := l.Query(context.Background(), Target{Engine: "fake", Name: "a"}, "SELECT lost"); !errors.Is(err, ErrDown) {
			t.Errorf("%v", err)
		}
	}
	if d.dials.Load() != maxDials {
		t.Errorf("%d dials, want %d", d.dials.Load(), maxDials)
	}
}

func TestQueryIsBounded(t *testing.T) {
	l := newTestLive(t, LiveOptions{
		Dialers:  map[string]Dialer{"fake": &fakeDialer{}},
		DialTime: time.Second, Query: QueryLimits{Rows: 5, Time: time.Second}, Sessions: 2,
	})
	ctx := context.Background()
	started := time.Now()
	rows, err := l.Query(ctx, Target{Engine: "fake", Name: "a"}, "SELECT many")
	if !errors.Is(err, ErrTooLarge) || len(rows.Values) != 5 || !rows.Cut {
		t.Errorf("11 rows with a limit of 5: %d, %v", len(rows.Values), err)
	}
	for _, query := range []string{"SELECT slow", "SELECT hangs"} {
		if _, err := l.Query(ctx, Target{Engine: "fake", Name: "a"}, query); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := l.Query(ctx, Target{Engine: "fake", Name: "slow"}, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a login that hangs: %v", err)
	}
	if _, err := l.Query(ctx, Target{Engine: "fake", Name: "third"}, "SELECT 1"); !errors.Is(err, ErrDown) {
		t.Errorf("a third session with a limit of 2: %v", err)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
}

// A server whose socket is gone is down, and not a file that is missing.
func TestAServerWithoutASocketIsDown(t *testing.T) {
	err := Answered(fmt.Errorf("%w: dial: %w", ErrDown, fs.ErrNotExist))
	if !errors.Is(err, ErrDown) || errors.Is(Answered(fs.ErrNotExist), ErrDown) {
		t.Error(err)
	}
}
