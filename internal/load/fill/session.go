package fill

import (
	"context"
	"fmt"
	"slices"
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

// settings makes a session ready.
func (l *loader) settings() []string {
	all := slices.Clone(l.sql.LoadSession)
	if l.o.NoLog && l.sql.NoLog != "" {
		all = append(all, l.sql.NoLog)
	}
	if l.sql.Share != nil {
		all = append(all, l.sql.Share(noteTable, l.p.Workload))
	}
	return all
}

func (l *loader) session(ctx context.Context) (*session, error) {
	a, err := l.s.Admin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.Query(ctx, l.sql.Session)
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
	_, _ = a.Query(ctx, fmt.Sprintf(l.sql.Kill, id)) // it may have ended by itself
}

func (s *session) close() {
	s.release()
	s.killing.Wait()
	_ = s.Close() // what mattered was committed
}
