package main

import (
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"plumb/test/sandbox"
)

// load is a steady one: so many small transactions a second, in four sessions.
type load struct {
	end  chan struct{}
	all  sync.WaitGroup
	done atomic.Int64 // transactions
	busy atomic.Int64 // nanoseconds in them, all sessions together
	mu   sync.Mutex
	err  error
}

const sessions = 4

func fill(s *sandbox.Server) error {
	return s.Exec("CREATE DATABASE cost", "CREATE TABLE cost.t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
		"INSERT INTO cost.t SELECT seq, 0 FROM cost.seq_1_to_10000")
}

// startLoad loads a server that was filled. With rate 0 each transaction follows the one before without a pause.
func startLoad(s *sandbox.Server, rate int) (*load, error) {
	db, err := s.Open()
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(sessions)
	l := &load{end: make(chan struct{})}
	for i := range sessions {
		l.all.Go(func() { l.run(db, i, rate) })
	}
	return l, nil
}

func (l *load) run(db *sql.DB, session, rate int) {
	next := func() <-chan time.Time { return now }
	if rate > 0 {
		tick := time.NewTicker(sessions * time.Second / time.Duration(rate))
		defer tick.Stop()
		next = func() <-chan time.Time { return tick.C }
	}
	for n := session; ; n += 7919 {
		select {
		case <-l.end:
			return
		case <-next():
		}
		began := time.Now()
		if err := transaction(db, n%10000+1); err != nil {
			l.mu.Lock()
			l.err = errors.Join(l.err, err)
			l.mu.Unlock()
			return
		}
		l.done.Add(1)
		l.busy.Add(int64(time.Since(began)))
	}
}

// now never lets anybody wait.
var now = func() chan time.Time { c := make(chan time.Time); close(c); return c }()

func transaction(db *sql.DB, id int) error {
	var got int
	if err := db.QueryRow("SELECT n FROM cost.t WHERE id = ?", id).Scan(&got); err != nil {
		return err
	}
	_, err := db.Exec("UPDATE cost.t SET n = n + 1 WHERE id = ?", id)
	return err
}

func (l *load) stop() { close(l.end); l.all.Wait() }

func (l *load) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
