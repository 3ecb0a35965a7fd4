package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plumb/test/sandbox"
)

// points takes a point of the MariaDB while clients write to it, proves that it starts,
// asks a clone of it for a table that was dropped meanwhile, and brings that back.
func (b *demoBox) points() (err error) {
	if b.maria == nil {
		fmt.Println("demo: there is no MariaDB on a pool")
		return nil
	}
	ctx, stop := context.WithCancel(b.ctx)
	written := make(chan int, 1)
	go func() { written <- b.write(ctx) }()
	defer func() {
		stop()
		fmt.Printf("\ndemo: clients added %d orders meanwhile\n", <-written)
	}()
	state := filepath.Join(b.ours, "points")
	if err := b.showAll([]string{"snapshot", "mysql:33306", "--state", state, "--drill"}, []string{"protect", "list", "--state", state}); err != nil {
		return err
	}
	id, err := b.newest(state)
	if err != nil {
		return err
	}
	if err := b.maria.Exec("DROP TABLE shop.prices"); err != nil {
		return err
	}
	fmt.Println("\ndemo: somebody dropped the table shop.prices; the point has it still")
	if err := b.show("clone", id, "--name", "demo", "--port", "33307", "--state", state); err != nil {
		return err
	}
	err = b.ask(&sandbox.Server{Engine: "mysql", Socket: state + "-copies/demo/run/mysqld.sock", User: "root"}, "the clone")
	if err = errors.Join(err, b.show("clone", "drop", "demo", "--yes", "--state", state)); err != nil {
		return err
	}
	return b.table(id, state)
}

// table brings the table back beside what was written since, and takes that back.
func (b *demoBox) table(id, state string) error {
	if _, err := exec.LookPath("mariadb-binlog"); err != nil {
		fmt.Println("\ndemo: the client programs of MariaDB are not here, with which one table is brought back")
		return nil
	}
	if err := b.show("rollback", id, "--table", "shop.prices", "--yes", "--state", state); err != nil {
		return err
	}
	if err := b.ask(b.maria, "the server"); err != nil {
		return err
	}
	return b.show("undo", "--yes", "--state", state)
}

// write adds orders until it is told to end, and says how many.
func (b *demoBox) write(ctx context.Context) (n int) {
	for ctx.Err() == nil {
		if b.maria.Exec("INSERT INTO shop.orders (item) VALUES ('while a point was taken')") == nil {
			n++
		}
		time.Sleep(5 * time.Millisecond)
	}
	return n
}

// newest gives the point that was just taken.
func (b *demoBox) newest(state string) (string, error) {
	out, err := b.command("protect", "list", "--json", "--state", state).Output()
	if err != nil {
		return "", fmt.Errorf("list the points: %w", err)
	}
	_, after, _ := strings.Cut(string(out), `"id": "`)
	id, _, ok := strings.Cut(after, `"`)
	if !ok {
		return "", fmt.Errorf("list the points: %s has none", out)
	}
	return id, nil
}

// ask asks a server for the table that was dropped.
func (b *demoBox) ask(server *sandbox.Server, who string) error {
	db, err := server.Open()
	if err != nil {
		return err
	}
	defer db.Close()
	var prices, orders int
	err = db.QueryRowContext(b.ctx, "SELECT (SELECT COUNT(*) FROM shop.prices), (SELECT COUNT(*) FROM shop.orders)").Scan(&prices, &orders)
	if err != nil {
		return fmt.Errorf("ask %s: %w", who, err)
	}
	fmt.Printf("\ndemo: %s answers: shop.prices has %d rows, shop.orders %d\n", who, prices, orders)
	return nil
}
