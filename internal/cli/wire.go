package cli

import (
	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/engine/dsn"
	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/engine/proxysql"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
)

// This file is the one list of adapters: a new engine or storage is a line
// in each of these functions.

// programs tells the process probe which program serves what. The names are
// the kernel's (/proc/PID/comm), at most 15 bytes.
func programs() map[string]string {
	return map[string]string{
		"mysqld": "mysql", "mariadbd": "mysql", "postgres": "postgres", "postmaster": "postgres",
		"mongod": "mongo", "mongos": "mongo", "proxysql": "proxysql",
	}
}

// phases lists the probes. Those of one phase run at the same time and see
// what the earlier phases saw.
func phases(cat *catalog.Catalog, g dsn.Given) [][]observe.Probe {
	return [][]observe.Probe{
		{kernel.New(cat), process.New(programs()), block.Probe{}, filesystem.Probe{}, zfs.NewProbe(cat)},
		{mysql.NewProbe(cat, g.Target("mysql")), postgres.NewProbe(cat, g.Target("postgres")),
			mongo.Probe{Remote: g.Address("mongo")}, proxysql.Probe{}},
	}
}

// dialers lists who opens sessions to which engine.
func dialers(g dsn.Given) map[string]host.Dialer {
	return map[string]host.Dialer{
		"mysql":    mysql.Dialer{},
		"postgres": postgres.Dialer{},
		"mongo":    mongo.NewDialer(g.NameFor("mongo")),
		"proxysql": proxysql.Dialer{},
	}
}

// setters lists who sets the knobs of which kinds.
func setters(cat *catalog.Catalog, g dsn.Given) []change.Setter {
	return []change.Setter{kernel.Setter{}, process.Setter{}, block.Setter{}, filesystem.Setter{}, zfs.Setter{}, mongo.NewSetter(mongo.Probe{Remote: g.Address("mongo")}),
		mysql.NewSetter(cat, g.Target("mysql")), postgres.NewSetter(cat, g.Target("postgres"))}
}
