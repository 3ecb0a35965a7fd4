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
// each has what the source had when all were asked for.
func TestReplicas(t *testing.T) { replicas(t, onPool(t, families[0]), 2, 20) }

// TestFiveReplicas makes five of 2 GB, and says after what time they had all caught up.
// PLUMB_MEGABYTES asks for another size.
func TestFiveReplicas(t *testing.T) {
	sandbox.NeedTime(t, "2 GB on each storage take minutes: make test-real")
	megabytes := count(t, "PLUMB_MEGABYTES", 2048, 200)
	// The source keeps its log until the last replica has come, and each keeps what it was sent: how much that is, depends on how
	// long they take.
	everywhere(t, families, 4*megabytes+6144, func(t *testing.T, b *bench) { replicas(t, b, 5, megabytes) })
}

// asSource is what these tests must know of a server that is followed.
type asSource struct {
	prepare []string // statements
	fill    string   // writes sixteen megabytes
	after   string   // what no copy may change: who the server is, and what it keeps for others; a row for each
	source  func(s *sandbox.Server, replica int) *protect.Source
}

var sources = map[string]asSource{
	"mysql": {
		[]string{"CREATE TABLE plumbtest.big (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)",
			"CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'secret'", "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'"},
		strings.Repeat("SET sql_log_bin = 0; INSERT INTO plumbtest.big (b) VALUES (REPEAT(RANDOM_BYTES(1024), 1024));", 16),
		"SHOW BINARY LOGS",
		func(s *sandbox.Server, _ int) *protect.Source {
			return &protect.Source{Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", s.Port), User: "repl", Password: "secret"}
		},
	},
	"postgres": {
		[]string{"CREATE TABLE plumbtest.big (id SERIAL PRIMARY KEY, b BYTEA)", "ALTER TABLE plumbtest.big ALTER b SET STORAGE EXTERNAL",
			"SELECT pg_create_physical_replication_slot('plumb_replica' || n, true) FROM generate_series(0, 4) n"},
		"INSERT INTO plumbtest.big (b) SELECT decode(repeat(md5(random()::text), 65536), 'hex') FROM generate_series(1, 16)",
		"SELECT slot_name, slot_type FROM pg_replication_slots ORDER BY 1",
		func(s *sandbox.Server, replica int) *protect.Source {
			return &protect.Source{Network: "unix", Address: fmt.Sprintf("%s/.s.PGSQL.%d", s.Socket, s.Port), User: "postgres", Slot: fmt.Sprint("plumb_replica", replica)}
		},
	},
}

func replicas(t *testing.T, b *bench, many, megabytes int) {
	as := sources[b.server.Engine]
	must(t, b.server.Exec(as.prepare...))
	db, err := b.server.Open()
	must(t, err)
	defer db.Close()
	for done := 0; done < megabytes; done += 16 {
		must(t, b.server.Exec(as.fill)) // in a session of its own, which may be set to write no log
	}
	before := b.says(t, db)
	w := writing(t, db, b.insert)
	defer w.stop()
	p, err := b.Take(t.Context(), b.plan(t), protect.TakeOptions{})
	must(t, err)
	began := time.Now()
	m := clone.Maker{Maker: b.maker, Dir: filepath.Join(b.Books, "clones")}
	var made []clone.Clone
	for i := range many {
		c, err := m.Make(t.Context(), p, clone.Options{Name: fmt.Sprintf("replica%d", i), Purpose: protect.ForReplica, Port: sandbox.FreePort(t), Memory: 256 << 20, Source: as.source(b.server, i)})
		must(t, err)
		defer func() { must(t, m.Drop(t.Context(), c.Name)) }()
		made = append(made, c)
	}
	want, _ := w.acknowledged()
	for _, c := range made {
		b.caughtUp(t, c, want)
	}
	took := time.Since(began)
	fmt.Printf("%s on %s: %d replicas of %d MB caught up after %s\n", p.Server.Product, b.under, many, megabytes, took.Round(100*time.Millisecond))
	if after := b.says(t, db); !strings.HasPrefix(after, before) { // the server goes on writing new logs
		t.Errorf("the source was %s, and is %s", before, after)
	}
}

// says gives what no copy may change of its source.
func (b *bench) says(t *testing.T, db *sql.DB) (text string) {
	t.Helper()
	for _, q := range []string{map[string]string{"mysql": "SELECT @@server_id, ''", "postgres": "SELECT system_identifier, (SELECT timeline_id FROM pg_control_checkpoint()) FROM pg_control_system()"}[b.server.Engine],
		sources[b.server.Engine].after} {
		rows, err := db.Query(q)
		must(t, err)
		for rows.Next() {
			var name, more string
			must(t, rows.Scan(&name, &more))
			if b.server.Engine == "mysql" {
				more = "" // the size of a log
			}
			text += name + " " + more + "\n"
		}
		must(t, rows.Err())
	}
	return text
}

// caughtUp waits until a replica has rows of the source.
func (b *bench) caughtUp(t *testing.T, c clone.Clone, want [4]int) {
	t.Helper()
	db, err := b.socket(c.Run, c.Port).Open()
	must(t, err)
	defer db.Close()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		behind := -1
		for who, n := range want {
			var most sql.NullInt64
			must(t, db.QueryRow(fmt.Sprintf("SELECT MAX(n) FROM plumbtest.t WHERE who = %d", who)).Scan(&most))
			if int(most.Int64) < n {
				behind = who
			}
		}
		if behind < 0 {
			return
		}
		if time.Since(began) > 5*time.Minute { // the time that is promised is for a machine without other work
			log := map[string]string{"mysql": "error.log", "postgres": "server.log"}[b.server.Engine]
			text, _ := os.ReadFile(filepath.Join(c.Run, log))
			t.Fatalf("%s has not caught up: %s", c.Name, text[max(0, len(text)-3000):])
		}
	}
}

// TestReplicaThatCannotFollow: a replica whose source does not let it in is said not to follow, and refreshed only when it is said whom.
func TestReplicaThatCannotFollow(t *testing.T) {
	sandbox.NeedTime(t, "starts a server and copies of it: make test-real")
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) {
			b, v := onBtrfsOf(t, of, "db/data", "db/log")
			id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
			source := fmt.Sprintf("%s://nobody:wr0ng@127.0.0.1:%d/", b.server.Engine, b.server.Port)
			file := filepath.Join(t.TempDir(), "source.dsn")
			must(t, os.WriteFile(file, []byte(source+"\n"), 0o600))
			out := v.typed(1, "clone", id, "--name", "r", "--replica", "--source", "@"+file)
			says(t, out, "replica it does not follow its source")
			if strings.Contains(out, "wr0ng") {
				t.Error("it says the password")
			}
			says(t, v.typed(0, "clone", "list"), "it does not follow its source")
			says(t, v.typed(2, "clone", "refresh", "r", id, "--yes"), "its source was not recorded")
			says(t, v.typed(0, "clone", "drop", "r", "--yes"), "Dropped r.")
		})
	}
}
