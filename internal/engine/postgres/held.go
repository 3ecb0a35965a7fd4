package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/internal/host"
)

var _ host.HoldDialer = Dialer{}

// DialToHold implements host.HoldDialer. A connection of the driver's is one
// connection: it knows no reconnecting.
func (Dialer) DialToHold(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.HeldSession, error) {
	s, err := logIn(ctx, t, secret, (*session).lasting)
	if err != nil {
		return nil, err
	}
	held := &heldSession{changeSession: changeSession{s}}
	if held.id, err = held.ask(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return held, nil
}

// lasting makes the session free, and keeps the server from ending it or what
// it waits for. Which of the limits there are depends on the version.
func (s *session) lasting(ctx context.Context) error {
	if err := s.free(ctx); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN "+
		"('statement_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')").ReadAll()
	return err
}

// heldSession is one connection that may change the server.
type heldSession struct {
	changeSession
	id int64
}

// Exec implements host.HeldSession: what a change session does to a statement
// of its own kind is not wanted here.
func (s *heldSession) Exec(ctx context.Context, statement string) error {
	if _, err := s.conn.Exec(ctx, statement).ReadAll(); err != nil {
		return meaning(err)
	}
	return nil
}

// aborted is the SQLSTATE of a transaction that refuses all but its end.
const aborted = "25P02"

// ID implements host.HeldSession. A transaction that has failed answers no
// question, and that it still stands says that the backend is the same.
func (s *heldSession) ID(ctx context.Context) (int64, error) {
	id, err := s.ask(ctx)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == aborted {
		return s.id, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask for pg_backend_pid(): %w", meaning(err))
	}
	return id, nil
}

func (s *heldSession) ask(ctx context.Context) (int64, error) {
	results, err := s.conn.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return 0, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, errors.New("the server did not answer")
	}
	return strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
}
