package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/units"
)

// reload makes the server read its files again. The server answers before it
// has done so; a change session waits until it has.
const reload = "SELECT pg_reload_conf()"

// The time limits of a session that changes the server.
const (
	changeTime = 30 * time.Second // of one statement
	reloadTime = 10 * time.Second // for the files to be read again
)

var _ host.Changer = Dialer{}

// DialToChange implements host.Changer.
func (Dialer) DialToChange(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.ChangeSession, error) {
	s, err := logIn(ctx, t, secret, (*session).free)
	if err != nil {
		return nil, err
	}
	return &changeSession{s}, nil
}

// changeSession is one connection that may change the server.
type changeSession struct{ *session }

// free makes the session one that can write, even where a role's default is
// to only read, and one in which '\' is a plain byte of a string.
func (s *session) free(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, fmt.Sprintf("SET default_transaction_read_only = off; SET statement_timeout = %d; "+
		"SET lock_timeout = 5000; SET search_path = pg_catalog; SET standard_conforming_strings = on", changeTime.Milliseconds())).ReadAll()
	return err
}

// Exec implements host.ChangeSession. A statement runs by itself: ALTER
// SYSTEM is refused inside a transaction.
func (s *changeSession) Exec(ctx context.Context, statement string) error {
	if statement == reload {
		return s.reload(ctx)
	}
	_, err := s.conn.Exec(ctx, statement).ReadAll()
	if err != nil {
		return meaning(err)
	}
	return nil
}

// reload waits until the time at which the files were last read has moved. It
// does not move when a file has a mistake: the server then keeps everything as it is.
func (s *changeSession) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	before, err := s.one(ctx, "SELECT pg_conf_load_time()")
	if err != nil {
		return err
	}
	sent, err := s.one(ctx, reload)
	if err == nil && sent != "t" {
		err = errors.New("the server could not be told to read its files again: its log says why")
	}
	if err != nil {
		return err
	}
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		now, err := s.one(ctx, "SELECT pg_conf_load_time()")
		if err == nil && now != before {
			return nil
		}
		if err == nil {
			err = await.Pause(ctx, wait)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the server has not read its files again within %s: its log says why", units.Span(reloadTime))
		}
		if err != nil {
			return err
		}
	}
}

// one gives the one cell of an answer.
func (s *changeSession) one(ctx context.Context, query string) (string, error) {
	row, err := host.One(s.Query(ctx, query, host.QueryLimits{Rows: 1, Bytes: 1 << 10}))
	return host.Text(row, 0), err
}
