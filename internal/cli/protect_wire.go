package cli

import (
	"plumb/internal/catalog"
	protectcli "plumb/internal/cli/protect"
	"plumb/internal/engine/dsn"
	mongopoint "plumb/internal/engine/mongo/point"
	mysqlpoint "plumb/internal/engine/mysql/point"
	postgrespoint "plumb/internal/engine/postgres/point"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/freeze"
	storage "plumb/internal/storage/point"
)

// keepers are the adapters of the commands about points in time: a new engine or
// storage is a line in one of these functions.
func keepers() protectcli.Adapters {
	return protectcli.Adapters{Dialers: dialers, Phases: phases, Engines: pointEngines, Storages: pointStorages, Freezer: freeze.Freezer{}, Grants: pointGrants}
}

// pointEngines lists the engines that have points.
func pointEngines(cat *catalog.Catalog, g dsn.Given) []protect.Engine {
	return []protect.Engine{mysqlpoint.New(cat, g.Target(product.MySQL)), postgrespoint.New(g.Target(product.Postgres)), mongopoint.New(g.Address(product.Mongo))}
}

// pointStorages lists the storages that have snapshots. One that is asked for takes all
// volumes, and the others are there for the points that exist.
func pointStorages(with string) []protect.Storage {
	command, ebs := storage.Command{Line: with}, storage.EBS{Asked: with == "ebs"}
	if ebs.Asked {
		command.Line = ""
	}
	return []protect.Storage{command, ebs, storage.ZFS{}, storage.ZFS{Fuse: true}, storage.Zvol{}, storage.Btrfs{}, storage.LVM{}, storage.RBD{}, storage.Reflink{}}
}

// pointGrants gives the least rights of all that is done with points.
func pointGrants() string {
	return "-- Look through these, and run those of your server and your storage.\n\n" +
		mysqlpoint.Grants(product.MariaDB, "") + "\n" + mysqlpoint.Grants(product.MySQL, "8.0") + "\n" + mysqlpoint.Grants(product.MySQL, "5.7") + "\n" +
		postgrespoint.Grants("") + "\n" + mongopoint.Grants() + "\n" + zfsGrants
}

const zfsGrants = `# OpenZFS, for a user that is not root: snapshots and their marks.
zfs allow -u plumb snapshot,userprop,mount tank/db
# prune: a snapshot is renamed, proven and destroyed
zfs allow -u plumb destroy,rename tank/db
# Drills, clones and rollback mount clones and start servers, which only root may.
`
