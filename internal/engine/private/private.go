// Package private sets up private servers of the lab: which program, which
// files, which commands. It only decides; the lab runs what it says.
//
// What an experiment does not name stays at the product's own default, or as
// initdb leaves it, so that an arm called "default" is one. The exceptions are
// the paths and sockets, the network, which is off, and plugins that would
// listen.
package private

import (
	"context"
	"path/filepath"

	"plumb/internal/host/fetch"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
)

// postgres is the superuser of PostgreSQL, and a database that every server has.
const postgres = "postgres"

// database is the one that loads use.
const database = "plumb"

// Engines lists them all.
func Engines() []lab.Engine { return []lab.Engine{MySQL(), PostgreSQL()} }

// MySQL makes the engine of MariaDB, MySQL and Percona Server.
func MySQL() lab.Engine { return mysqlEngine{mysqlFamily(fetch.Directory)} }

// PostgreSQL makes its engine.
func PostgreSQL() lab.Engine { return postgresEngine{postgresFamily(fetch.Directory)} }

// family is what engines share, and in what they differ only by a value.
type family struct {
	programs
	rules
	socket  string                                          // the file's name
	config  string                                          // likewise
	first   string                                          // a database that every server has; "" where none is needed
	dial    func(socket, database string) load.Server       // logs in as the superuser, who has no password
	prepare func(ctx context.Context, a load.Admin) error   // makes the database that loads use
	write   func(in box, s experiment.Server) (text string) // of the configuration file
}

// box is where a server runs, and with which program.
type box struct {
	program           lab.Program
	data, run, socket string
}

func (f family) socketOf(run string) string { return filepath.Join(run, f.socket) }
func (f family) configOf(run string) string { return filepath.Join(run, f.config) }

// Dial implements lab.Engine. The login needs no password, which is why run
// must be a directory that only the server's user and root can enter.
func (f family) Dial(run string) load.Server { return f.dial(f.socketOf(run), database) }

// Ready implements lab.Engine.
func (f family) Ready(ctx context.Context, run string) error {
	return f.ask(ctx, run, func(ctx context.Context, a load.Admin) error {
		_, err := a.Query(ctx, "SELECT 1")
		return err
	})
}

// Prepare implements lab.Engine.
func (f family) Prepare(ctx context.Context, run string) error { return f.ask(ctx, run, f.prepare) }

// ask does something before the database of loads is there.
func (f family) ask(ctx context.Context, run string, do func(context.Context, load.Admin) error) error {
	a, err := f.dial(f.socketOf(run), f.first).Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	return do(ctx, a)
}

// Files implements lab.Engine: one configuration file.
func (f family) Files(p lab.Program, s experiment.Server, data, run string) (map[string][]byte, error) {
	if err := f.validate(s); err != nil {
		return nil, err
	}
	if err := lab.SocketFits(f.socketOf(run)); err != nil {
		return nil, err
	}
	text := f.write(box{p, data, run, f.socketOf(run)}, s)
	return map[string][]byte{f.configOf(run): []byte(text)}, nil
}

// sums are counters by name.
type sums map[string]float64

// add sums the parts of a counter up. Where one is not known, the sum is not.
func (s sums) add(name string, parts ...*float64) {
	sum := 0.0
	for _, p := range parts {
		if p == nil {
			return
		}
		sum += *p
	}
	s[name] = sum
}
