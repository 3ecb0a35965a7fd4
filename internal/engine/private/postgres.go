package private

import (
	"context"
	"path"
	"regexp"
	"strings"

	"plumb/internal/engine/postgres/client"
	"plumb/internal/host"
	"plumb/internal/host/fetch"
	"plumb/internal/lab"
	"plumb/internal/load"
	"plumb/internal/product"
)

// postgresEngine implements [lab.Engine].
type postgresEngine struct{ family }

func postgresFamily(cache func() (string, error)) family {
	return family{
		programs: programs{
			Server:   product.Of(product.Postgres),
			sources:  map[string]source{product.Postgres: {"install postgresql, or name an unpacked one with basedir", fetch.PostgreSQL}},
			below:    []string{"bin"},
			lacks:    "no postgres and initdb in %s/bin",
			example:  "bin/postgres",
			complete: completePostgres,
			cache:    cache,
		},
		rules:  postgresRules(),
		socket: ".s.PGSQL.5432", // the port is part of its name even where nothing listens on it
		config: "postgresql.conf",
		first:  postgres,
		dial: func(socket, database string) load.Server {
			return client.New(client.Config{Network: "unix", Address: socket, User: postgres, Database: database})
		},
		prepare: preparePostgres,
		write:   writePostgres,
	}
}

// Logs implements lab.Engine.
func (postgresEngine) Logs(lab.Program) lab.Logs { return lab.Logs{Dir: "pg_wal"} }

// ReservedLogs implements lab.Engine: the WAL is filled with zeros when it is made.
func (postgresEngine) ReservedLogs() []string { return nil }

// fresh sets counters of WAL and checkpoints back: a copy of the data brings
// those of its making along, which say nothing of the load.
const fresh = `SELECT pg_stat_reset_shared('bgwriter'), CASE WHEN v >= 140000 THEN pg_stat_reset_shared('wal') END,
	CASE WHEN v >= 170000 THEN pg_stat_reset_shared('checkpointer') END FROM (SELECT current_setting('server_version_num')::int AS v) AS s`

func preparePostgres(ctx context.Context, a load.Admin) error {
	if _, err := a.Query(ctx, fresh); err != nil {
		return err
	}
	rows, err := a.Query(ctx, "SELECT 1 FROM pg_database WHERE datname = '"+database+"'")
	if err != nil || len(rows.Values) > 0 {
		return err
	}
	return a.Exec(ctx, "CREATE DATABASE "+database)
}

// completePostgres asks the server, and finds initdb beside it.
func completePostgres(ctx context.Context, d host.Doer, f *found) bool {
	dir := path.Dir(f.Paths[server])
	f.Paths[install] = path.Join(dir, "initdb")
	if st, err := d.Stat(ctx, f.Paths[install]); err != nil || !st.Mode.IsRegular() {
		return false
	}
	out, err := d.Run(ctx, f.Paths[server], "--version")
	if err != nil {
		return false
	}
	lib := path.Join(path.Dir(dir), "lib")
	if _, err := d.Stat(ctx, path.Join(lib, "libpq.so.5")); err == nil && !strings.HasPrefix(lib, "/usr/") {
		f.Env = []string{"LD_LIBRARY_PATH=" + lib} // an unpacked tree brings its libraries along
	}
	version, ok := versionOf(out)
	f.engine, f.version, f.Product = product.Postgres, version, "PostgreSQL "+version
	return ok
}

// postgresVersion is what --version prints: "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)".
var postgresVersion = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+(?:\.\d+)*)`)

// versionOf reads what a server says of itself with --version.
func versionOf(out []byte) (string, bool) {
	m := postgresVersion.FindSubmatch(out)
	if m == nil {
		return "", false
	}
	return string(m[1]), true
}
