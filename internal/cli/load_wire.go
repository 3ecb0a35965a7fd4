package cli

import (
	"io"

	"plumb/internal/engine/dsn"
	mysql "plumb/internal/engine/mysql/client"
	postgres "plumb/internal/engine/postgres/client"
	"plumb/internal/load"
	"plumb/internal/product"
)

// This file is the list of servers that load knows: a new engine is a line in
// each of these functions.

// fakeTargets are what calibrate measures without a server.
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

// named reports whether the command line names a server at all.
func (l *login) named(changed func(string) bool) bool {
	if l.dsn != "" {
		return true
	}
	for _, f := range []string{"db-driver", "mysql-host", "mysql-port", "mysql-socket", "mysql-user", "pgsql-host", "pgsql-port", "pgsql-user"} {
		if changed(f) {
			return true
		}
	}
	return false
}

// server makes the server that the options name. It does not connect.
func (l *login) server(changed func(string) bool) (load.Server, error) {
	at, err := l.resolve(changed)
	if err != nil {
		return nil, err
	}
	secure, err := at.Secure()
	if err != nil {
		return nil, err
	}
	level, err := dsn.Isolation(l.isolate)
	if err != nil {
		return nil, err
	}
	c := load.Login{Network: at.Network, Address: at.Address, User: at.User, Password: at.Password, Database: at.Database,
		TLS: secure, Text: l.text == "disable", RetryCodes: l.ignore, Timeout: l.timeout, Isolation: level, Secret: at.Secret}
	if at.Engine == product.Postgres {
		return postgres.New(c), nil
	}
	return mysql.New(c), nil
}
