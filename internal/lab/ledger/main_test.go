package ledger

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"plumb/test/sandbox"
)

// shared is one PostgreSQL for all tests of the package, in which each has a
// database of its own.
type shared struct {
	box    *sandbox.Box
	server *sandbox.Server
	err    error
	made   atomic.Int64
}

var postgres shared

// TestMain also is the child that tests start and kill.
func TestMain(m *testing.M) {
	if work := os.Getenv("PLUMB_LEDGER_CHILD"); work != "" {
		os.Exit(child(work))
	}
	code := m.Run()
	if postgres.box != nil {
		if err := postgres.box.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// database makes an empty database and gives its address.
func database(t *testing.T, more ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a PostgreSQL")
	}
	if postgres.server == nil && postgres.err == nil {
		postgres.start()
	}
	sandbox.Need(t, postgres.err)
	name := fmt.Sprintf("ledger%d", postgres.made.Add(1))
	admin(t, address(postgres.server, "postgres"), "CREATE DATABASE "+name+" "+strings.Join(more, " "))
	return address(postgres.server, name)
}

func (p *shared) start() {
	if p.box, p.err = sandbox.New(""); p.err == nil {
		p.server, p.err = p.box.Postgres(sandbox.PostgresOptions{Settings: "fsync = off", Port: 5497})
	}
}

// admin does something in a database without a ledger.
func admin(t *testing.T, where string, statements ...string) {
	t.Helper()
	db, err := sql.Open("pgx", where)
	ok(t, err)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
