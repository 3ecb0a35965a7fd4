// Package private sets up PostgreSQL as a private server of the lab: which
// program, which files, which commands. It only decides; the lab runs what it
// says.
//
// What an experiment does not name stays as initdb leaves it, so that an arm
// called "default" is one. The exceptions are the sockets and the network,
// which is off.
package private

import (
	"context"
	"path/filepath"

	"plumb/internal/engine/postgres/client"
	"plumb/internal/host"
	"plumb/internal/host/fetch"
	"plumb/internal/lab"
	"plumb/internal/load"
)

// postgres is the engine's name in experiment files, and the superuser's.
const postgres = "postgres"

// database is the one that loads use.
const database = "plumb"

// Engine implements [lab.Engine].
type Engine struct {
	cache func() (string, error) // where fetched servers are kept
}

var _ lab.Engine = Engine{}

// New makes the engine.
func New() lab.Engine { return Engine{fetch.Directory} }

// Names implements lab.Engine.
func (Engine) Names() []string { return []string{postgres} }

// socketOf is the path of the server's socket: the port is part of its name
// even where nothing listens on it.
func socketOf(run string) string { return filepath.Join(run, ".s.PGSQL.5432") }

// Dial implements lab.Engine. Local logins need no password, and the socket
// lets in only the server's user and root.
func (Engine) Dial(run string) load.Server { return dial(run, database) }

func dial(run, database string) load.Server {
	return client.New(client.Config{Network: "unix", Address: socketOf(run), User: postgres, Database: database})
}

// Ready implements lab.Engine.
func (Engine) Ready(ctx context.Context, run string) error {
	a, err := dial(run, postgres).Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	_, err = a.Query(ctx, "SELECT 1")
	return err
}

// fresh sets counters of WAL and checkpoints back: a copy of the data brings
// those of its making along, which say nothing of the load.
const fresh = `SELECT pg_stat_reset_shared('bgwriter'), CASE WHEN v >= 140000 THEN pg_stat_reset_shared('wal') END,
	CASE WHEN v >= 170000 THEN pg_stat_reset_shared('checkpointer') END FROM (SELECT current_setting('server_version_num')::int AS v) AS s`

// ReservedLogs implements lab.Engine: the WAL is filled with zeros when it is made.
func (Engine) ReservedLogs() []string { return nil }

// Prepare implements lab.Engine.
func (Engine) Prepare(ctx context.Context, run string) error {
	a, err := dial(run, postgres).Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	if _, err := a.Query(ctx, fresh); err != nil {
		return err
	}
	rows, err := a.Query(ctx, "SELECT 1 FROM pg_database WHERE datname = '"+database+"'")
	if err != nil || len(rows.Values) > 0 {
		return err
	}
	return a.Exec(ctx, "CREATE DATABASE "+database)
}

func cell(row []*string, i int) string {
	if v := host.Cell(row, i); v != nil {
		return *v
	}
	return ""
}
