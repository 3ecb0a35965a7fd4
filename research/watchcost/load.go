package main

import (
	"database/sql"
	"errors"
	"sync"
	"time"

	"plumb/test/sandbox"
)

// load is a steady one: so many small transactions a second, in four sessions.
type load struct {
	end chan struct{}
	all sync.WaitGroup
	mu  sync.Mutex
	err error
}

const sessions = 4

func startLoad(s *sandbox.Server, rate int) (*load, error) {
	if err := s.Exec("CREATE DATABASE cost", "CREATE TABLE cost.t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
		"INSERT INTO cost.t SELECT seq, 0 FROM cost.seq_1_to_10000"); err != nil {
		return nil, err
	}
	db, err := s.Open()
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(sessions)
	l := &load{end: make(chan struct{})}
	for i := range sessions {
		l.all.Go(func() { l.run(db, i, rate/sessions) })
	}
	return l, nil
}

func (l *load) run(db *sql.DB, session, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for n := session; ; n += 7919 {
		select {
		case <-tick.C:
		case <-l.end:
			return
		}
		var got int
		err := db.QueryRow("SELECT n FROM cost.t WHERE id = ?", n%10000+1).Scan(&got)
		if _, e := db.Exec("UPDATE cost.t SET n = n + 1 WHERE id = ?", n%10000+1); err == nil {
			err = e
		}
		if err != nil {
			l.mu.Lock()
			l.err = errors.Join(l.err, err)
			l.mu.Unlock()
			return
		}
	}
}

func (l *load) stop() { close(l.end); l.all.Wait() }

func (l *load) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
