package cli

import (
	"plumb/internal/catalog"
	"plumb/internal/change"
	provisioncli "plumb/internal/cli/provision"
	"plumb/internal/engine/dsn"
	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mysql"
	mysqlbulk "plumb/internal/engine/mysql/bulk"
	"plumb/internal/engine/postgres"
	postgresbulk "plumb/internal/engine/postgres/bulk"
	"plumb/internal/engine/proxysql"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/provision/boost"
	"plumb/internal/storage/block"
	"plumb/internal/storage/ceph"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/archives"
	"plumb/internal/system/backups"
	"plumb/internal/system/kernel"
	"plumb/internal/system/points"
	"plumb/internal/system/process"
)

// This file is the one list of adapters: a new engine or storage is a line
// in each of these functions.

// phases lists the probes. Those of one phase run at the same time and see
// what the earlier phases saw.
func phases(cat *catalog.Catalog, g dsn.Given) [][]observe.Probe {
	return [][]observe.Probe{
		{kernel.New(cat), process.Probe{}, block.NewProbe(cat), filesystem.Probe{}, zfs.NewProbe(cat)},
		{mysql.NewProbe(cat, g.Target(product.MySQL)), postgres.NewProbe(cat, g.Target(product.Postgres)),
			mongo.Probe{Remote: g.Address(product.Mongo)}, proxysql.Probe{}, ceph.Probe{}},
		{points.Probe{Storages: pointStorages("", "")}, backups.Probe{}, archives.Probe{}}, // they see which servers run
	}
}

// dialers lists who opens sessions to which engine.
func dialers(g dsn.Given) map[string]host.Dialer {
	return map[string]host.Dialer{
		product.MySQL:    mysql.Dialer{},
		product.Postgres: postgres.Dialer{},
		product.Mongo:    mongo.NewDialer(g.NameFor(product.Mongo)),
		product.ProxySQL: proxysql.Dialer{},
	}
}

// lending is what the commands need that set something for a while.
func lending() provisioncli.Lending {
	return provisioncli.Lending{Dialers: dialers, Phases: phases, Setters: setters, Loaders: []boost.Loader{mysqlbulk.Loader{}, postgresbulk.Loader{}}}
}

// setters lists who sets the knobs of which kinds.
func setters(cat *catalog.Catalog, g dsn.Given) []change.Setter {
	return []change.Setter{kernel.Setter{}, process.Setter{}, block.Setter{}, filesystem.Setter{}, zfs.Setter{}, mongo.NewSetter(mongo.Probe{Remote: g.Address(product.Mongo)}),
		mysql.NewSetter(cat, g.Target(product.MySQL)), postgres.NewSetter(cat, g.Target(product.Postgres))}
}
