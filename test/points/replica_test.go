package points

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/test/sandbox"
)

// TestReplicas makes replicas of one point, while the source goes on, and waits until
// each has what the source had when all were asked for. PLUMB_REAL makes it five of 2 GB.
func TestReplicas(t *testing.T) {
	b := onPool(t, families[0])
	replicas, megabytes := 2, 20
	if os.Getenv("PLUMB_REAL") != "" {
		replicas, megabytes = 5, 2048
	}
	must(t, b.server.Exec("CREATE TABLE plumbtest.big (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)",
		"CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'secret'", "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'"))
	db, err := b.server.Open()
	must(t, err)
	defer db.Close()
	for range megabytes {
		_, err := db.Exec("INSERT INTO plumbtest.big (b) VALUES (CONCAT(" + strings.TrimSuffix(strings.Repeat("RANDOM_BYTES(1024),", 1024), ",") + "))")
		must(t, err)
	}
	before := sourceSays(t, db)
	w := writing(t, db, b.insert)
	defer w.stop()
	p, err := b.Take(t.Context(), b.plan(t), protect.TakeOptions{Mode: protect.ModeLocked})
	must(t, err)
	began := time.Now()
	m := clone.Maker{Maker: b.maker, Dir: filepath.Join(b.Books, "clones")}
	var made []clone.Clone
	for i := range replicas {
		c, err := m.Make(t.Context(), p, clone.Options{Name: fmt.Sprintf("replica%d", i), Purpose: protect.ForReplica, Port: sandbox.FreePort(t), Memory: 256 << 20,
			Source: &protect.Source{Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", b.server.Port), User: "repl", Password: "secret"}})
		must(t, err)
		defer func() { must(t, m.Drop(t.Context(), c.Name)) }()
		made = append(made, c)
	}
	want, _ := w.acknowledged()
	for _, c := range made {
		caughtUp(t, c, want)
	}
	took := time.Since(began)
	fmt.Printf("%s on %s: %d replicas of %d MB caught up after %s\n", p.Server.Product, p.Members[0].Storage, replicas, megabytes, took.Round(100*time.Millisecond))
	if after := sourceSays(t, db); after != before {
		t.Errorf("the source was %s, and is %s", before, after)
	}
}

// sourceSays gives what no copy may change of its source: its number, and the first of its logs.
func sourceSays(t *testing.T, db *sql.DB) (text string) {
	t.Helper()
	var id, first, size string
	must(t, db.QueryRow("SELECT @@server_id").Scan(&id))
	must(t, db.QueryRow("SHOW BINARY LOGS").Scan(&first, &size))
	return id + " " + first
}

// caughtUp waits until a replica has rows of the source.
func caughtUp(t *testing.T, c clone.Clone, want [4]int) {
	t.Helper()
	at := &sandbox.Server{Engine: "mysql", Socket: filepath.Join(c.Run, "mysqld.sock"), User: "root"}
	db, err := at.Open()
	must(t, err)
	defer db.Close()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		behind := -1
		for who, n := range want {
			var most sql.NullInt64
			must(t, db.QueryRow("SELECT MAX(n) FROM plumbtest.t WHERE who = ?", who).Scan(&most))
			if int(most.Int64) < n {
				behind = who
			}
		}
		if behind < 0 {
			return
		}
		if time.Since(began) > time.Minute {
			text, _ := os.ReadFile(filepath.Join(c.Run, "error.log"))
			t.Fatalf("%s has not caught up: %s", c.Name, text[max(0, len(text)-3000):])
		}
	}
}
