package mysql

import (
	"context"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/host"
)

var _ host.HoldDialer = Dialer{}

// DialToHold implements host.HoldDialer. The driver has no option to connect
// again, and database/sql does so for a pool but not for a connection taken out of it.
func (Dialer) DialToHold(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.HeldSession, error) {
	return logIn(t, secret, func(cfg *mysql.Config) (host.HeldSession, error) {
		cfg.ReadTimeout, cfg.ConnectionAttributes = 0, programAttribute+changesName // a statement may be silent for long
		s, err := begin(ctx, cfg, (*session).lasting)
		return heldSession{s}, err
	})
}

// lasting keeps the server from ending what waits: a short wait_timeout is
// meant for clients that were forgotten. lock_wait_timeout stays short: who is
// cut off while waiting for a global lock holds up all writers that long.
func (s *session) lasting(ctx context.Context) error {
	if err := s.free(ctx); err != nil {
		return err
	}
	for _, set := range []string{"wait_timeout = 28800", "max_statement_time = 0", "max_execution_time = 0", "idle_transaction_timeout = 0"} {
		if _, err := s.conn.ExecContext(ctx, "SET SESSION "+set); err != nil && code(err) != unknownVariable {
			return err
		}
	}
	return nil
}

// heldSession is one connection that may change the server.
type heldSession struct{ *session }

// Exec implements host.HeldSession.
func (s heldSession) Exec(ctx context.Context, statement string) error {
	return s.exec(ctx, statement)
}

// ID implements host.HeldSession.
func (s heldSession) ID(ctx context.Context) (id int64, err error) {
	if err := s.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return 0, fmt.Errorf("ask for CONNECTION_ID(): %w", meaning("", err))
	}
	return id, nil
}
