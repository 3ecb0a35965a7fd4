package cli

import (
	"io"
	"strings"

	mysql "plumb/internal/engine/mysql/client"
	postgres "plumb/internal/engine/postgres/client"
	"plumb/internal/hint"
	"plumb/internal/load"
)

// This file is the list of servers that load knows: a new engine is a line in
// each of these functions.

// fakeTargets are what calibrate measures without a server.
func fakeTargets() []target {
	return []target{
		{"nothing", func() (load.Workload, io.Closer, error) { return load.Nothing(), nil, nil }},
		{"fake MySQL, SELECT 1", func() (load.Workload, io.Closer, error) {
			f, err := mysql.Fake(mysql.FakeOptions{})
			if err != nil {
				return nil, nil, err
			}
			return load.Ask(mysql.New(f.Config()), "SELECT 1"), f, nil
		}},
		{"fake PostgreSQL, SELECT 1", func() (load.Workload, io.Closer, error) {
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
	secure, err := at.secure()
	if err != nil {
		return nil, err
	}
	level, err := isolation(l.isolate)
	if err != nil {
		return nil, err
	}
	if at.engine == "postgres" {
		return postgres.New(postgres.Config{Network: at.network, Address: at.address, User: at.user, Password: at.password, Database: at.database,
			TLS: secure, Text: l.text == "disable", RetryCodes: l.ignore, Timeout: l.timeout, Isolation: level, Secret: at.secret}), nil
	}
	return mysql.New(mysql.Config{Network: at.network, Address: at.address, User: at.user, Password: at.password, Database: at.database,
		TLS: secure, Text: l.text == "disable", RetryCodes: l.ignore, Timeout: l.timeout, Isolation: level, Secret: at.secret}), nil
}

// isolation gives a level's full name.
func isolation(word string) (string, error) {
	switch strings.ToUpper(strings.NewReplacer("-", "", " ", "", "_", "").Replace(word)) {
	case "":
		return "", nil
	case "RC", "READCOMMITTED":
		return "read committed", nil
	case "RR", "REPEATABLEREAD":
		return "repeatable read", nil
	case "SER", "SERIALIZABLE", "SERIALISABLE":
		return "serializable", nil
	case "RU", "READUNCOMMITTED":
		return "read uncommitted", nil
	}
	return "", hint.Usage("--isolation "+word+" is no level", "want RC, RR or SER")
}
