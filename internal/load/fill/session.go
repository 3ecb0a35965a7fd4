package fill

import (
	"context"
	"sync"
	"time"

	"plumb/internal/host"
	"plumb/internal/load"
)

// session is a connection that is ended from outside when the load is: a
// server does not notice by itself that nobody waits for an index any more.
type session struct {
	load.Admin
	release func() bool
	killing *sync.WaitGroup
}

// settings of a session. With both checks off, MariaDB loads the first rows
// into an empty table in a way that locks the others out and, measured, costs
// more; so keys stay checked.
func (l *loader) settings() []string {
	if l.s.Engine() != "mysql" {
		return []string{"SET datestyle = 'ISO, YMD'", "SELECT pg_advisory_lock_shared(" + l.shared() + ")"}
	}
	all := []string{"SET SESSION foreign_key_checks = 0", "SET SESSION unique_checks = 1"}
	if l.o.NoLog {
		all = append(all, "SET SESSION sql_log_bin = 0")
	}
	return all
}

func (l *loader) session(ctx context.Context) (*session, error) {
	a, err := l.s.Admin(ctx)
	if err != nil {
		return nil, err
	}
	id := "SELECT pg_backend_pid()"
	if l.s.Engine() == "mysql" {
		id = "SELECT CONNECTION_ID()"
	}
	rows, err := a.Query(ctx, id)
	if err == nil {
		err = a.Exec(ctx, l.settings()...)
	}
	if err != nil {
		_ = a.Close() // err says more
		return nil, err
	}
	s := &session{Admin: a, killing: &sync.WaitGroup{}}
	var number string
	if len(rows.Values) == 1 {
		number = host.Text(rows.Values[0], 0)
	}
	s.killing.Add(1)
	kill := context.AfterFunc(ctx, func() {
		defer s.killing.Done()
		l.kill(ctx, number)
	})
	s.release = func() bool {
		if kill() {
			s.killing.Done()
		}
		return true
	}
	return s, nil
}

// kill ends a session of ours from another one.
func (l *loader) kill(ctx context.Context, id string) {
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a, err := l.s.Admin(ctx)
	if err != nil {
		return // the server is gone, and the session with it
	}
	defer a.Close()
	query := "SELECT pg_terminate_backend(" + id + ")"
	if l.s.Engine() == "mysql" {
		query = "KILL " + id
	}
	_, _ = a.Query(ctx, query) // it may have ended by itself
}

func (s *session) close() {
	s.release()
	s.killing.Wait()
	_ = s.Close() // what mattered was committed
}
