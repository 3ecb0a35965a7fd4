// Package private sets up MariaDB, MySQL and Percona Server as private servers
// of the lab: which program, which files, which commands. It only decides; the
// lab runs what it says.
//
// What an experiment does not name stays at the product's own default, so that
// an arm called "default" is one. The exceptions are the paths, the network,
// which is off, and plugins that would listen.
package private

import (
	"context"
	"path/filepath"

	"plumb/internal/engine/mysql/client"
	"plumb/internal/host/fetch"
	"plumb/internal/lab"
	"plumb/internal/load"
)

// The engines of experiment files.
const (
	mariadb = "mariadb"
	mysql   = "mysql"
	percona = "percona"
)

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
func (Engine) Names() []string { return []string{mariadb, mysql, percona} }

// socketOf is the path of the server's socket.
func socketOf(run string) string { return filepath.Join(run, "mysqld.sock") }

// Dial implements lab.Engine. The login is root's without a password, which is
// why run must be a directory that only the server's user and root can enter.
func (Engine) Dial(run string) load.Server { return dial(run, database) }

func dial(run, database string) load.Server {
	return client.New(client.Config{Network: "unix", Address: socketOf(run), User: "root", Database: database})
}

// Ready implements lab.Engine.
func (Engine) Ready(ctx context.Context, run string) error {
	a, err := dial(run, "").Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	_, err = a.Query(ctx, "SELECT 1")
	return err
}

// ReservedLogs implements lab.Engine: InnoDB's redo log, under the names it has
// before and since MySQL 8.0.30.
func (Engine) ReservedLogs() []string { return []string{"ib_logfile*", "#ib_redo*"} }

// Prepare implements lab.Engine.
func (Engine) Prepare(ctx context.Context, run string) error {
	a, err := dial(run, "").Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+database)
}
