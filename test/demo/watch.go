package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

const (
	shoppers = 8                     // each wants a thing of its own
	thinking = 50 * time.Millisecond // between two of them
	planted  = 3 * time.Second       // in which they come to stand in line
)

// watch plants an incident: somebody opens a transaction, changes the whole stock,
// and goes to lunch, while shoppers buy. It shows what watch says of it, ends it,
// and shows that it is over.
func (b *demoBox) watch() (err error) {
	server := b.maria
	if server == nil {
		fmt.Println("demo: there is no MariaDB to watch")
		return nil
	}
	db, err := server.Open()
	if err != nil {
		return err
	}
	defer db.Close()
	if err := stock(b.ctx, db); err != nil {
		return fmt.Errorf("prepare the incident: %w", err)
	}
	lunch, err := db.Conn(b.ctx)
	if err != nil {
		return err
	}
	defer lunch.Close()
	if _, err := lunch.ExecContext(b.ctx, "BEGIN; UPDATE shop.stock SET pieces = pieces + 1"); err != nil {
		return fmt.Errorf("plant the incident: %w", err)
	}
	ctx, stop := context.WithCancel(b.ctx)
	var all sync.WaitGroup
	defer func() { stop(); all.Wait() }()
	for i := range shoppers {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = db.ExecContext(ctx, "UPDATE shop.stock SET pieces = pieces - 1 WHERE id = ?", i) // one that gave up waiting comes again
				time.Sleep(thinking)
			}
		})
	}
	time.Sleep(planted)
	fmt.Println("\ndemo: somebody changed the whole stock in a transaction and left it open; shoppers wait")
	if err := b.show("watch", "--once", "--for", "20s"); err != nil {
		return err
	}
	if _, err := lunch.ExecContext(b.ctx, "ROLLBACK"); err != nil {
		return fmt.Errorf("end the incident: %w", err)
	}
	fmt.Println("\ndemo: that transaction was ended")
	return b.show("watch", "--once", "--for", "20s")
}

// stock lays in what shoppers buy.
func stock(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS shop.stock (id INT PRIMARY KEY, pieces INT)"); err != nil {
		return err
	}
	for i := range shoppers {
		if _, err := db.ExecContext(ctx, "REPLACE INTO shop.stock VALUES (?, 1000000)", i); err != nil {
			return err
		}
	}
	return nil
}
