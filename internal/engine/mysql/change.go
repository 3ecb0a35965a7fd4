package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/await"
	"plumb/internal/host"
)

// changeTime ends a statement that changes the server: one that waits longer
// for a lock waits for somebody who must be asked first.
const changeTime = 90 * time.Second

// DialToChange implements host.Changer: it tries the same logins as Dial, and
// the session may change the server.
func (Dialer) DialToChange(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.ChangeSession, error) {
	return logIn(t, secret, func(cfg *mysql.Config) (host.ChangeSession, error) {
		cfg.ReadTimeout, cfg.ConnectionAttributes = changeTime, programAttribute+changesName
		s, err := begin(ctx, cfg, (*session).free)
		return changeSession{s}, err
	})
}

// free makes the session one that changes. Strict, because a server that is not
// bends a value out of its range and says so only in a warning. No other mode: a
// backslash in a string is one.
func (s *session) free(ctx context.Context) error {
	_, err := s.conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = 10, sql_mode = 'STRICT_ALL_TABLES'")
	return err
}

// changeSession is one connection that may change the server.
type changeSession struct{ *session }

// Exec implements host.ChangeSession.
func (s changeSession) Exec(ctx context.Context, statement string) error {
	if strings.HasPrefix(statement, "SET GLOBAL innodb_buffer_pool_size ") {
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	return s.exec(ctx, statement)
}

// exec runs a statement that may change the server.
func (s *session) exec(ctx context.Context, statement string) error {
	if _, err := s.conn.ExecContext(ctx, statement); err != nil {
		return meaning("", err)
	}
	return nil
}

// settle waits for a resizing of the buffer pool that is under way. MySQL
// refuses another one meanwhile, and forgets one that is asked for just as the
// one before ends: its thread says that it is done and only then clears the
// request, so a little more is waited.
func (s changeSession) settle(ctx context.Context) error {
	end := time.Now().Add(changeTime)
	for calm := 0; calm < 2 && time.Now().Before(end); {
		var name, status string
		err := s.conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'").Scan(&name, &status)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return meaning("", err)
		}
		calm++
		if status != "" && !strings.Contains(status, "ompleted") && !strings.Contains(status, "did not change") {
			calm = 0
		}
		if err := await.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
