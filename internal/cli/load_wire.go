package cli

import (
	"io"

	loadcli "plumb/internal/cli/load"
	mysql "plumb/internal/engine/mysql/client"
	postgres "plumb/internal/engine/postgres/client"
	"plumb/internal/load"
	"plumb/internal/product"
)

// loads lists the servers that plumb load knows: a new engine is a line in each of these functions.
func loads() loadcli.Adapters { return loadcli.Adapters{Server: loadServer, Fakes: fakeTargets()} }

// loadServer makes a server that is put under load.
func loadServer(engine string, l load.Login) load.Server {
	if engine == product.Postgres {
		return postgres.New(l)
	}
	return mysql.New(l)
}

// fakeTargets lists what calibrate measures without a server.
func fakeTargets() []load.Target {
	return []load.Target{
		{Name: "nothing", Open: func() (load.Workload, io.Closer, error) { return load.Nothing(), nil, nil }},
		{Name: "fake MySQL, SELECT 1", Open: func() (load.Workload, io.Closer, error) {
			f, err := mysql.Fake(mysql.FakeOptions{})
			if err != nil {
				return nil, nil, err
			}
			return load.Ask(mysql.New(f.Config()), "SELECT 1"), f, nil
		}},
		{Name: "fake PostgreSQL, SELECT 1", Open: func() (load.Workload, io.Closer, error) {
			f, err := postgres.Fake(postgres.FakeOptions{})
			if err != nil {
				return nil, nil, err
			}
			return load.Ask(postgres.New(f.Config()), "SELECT 1"), f, nil
		}},
	}
}
