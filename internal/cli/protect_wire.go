package cli

import (
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/cli/protect/machine"
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
func keepers() machine.Adapters {
	return machine.Adapters{Dialers: dialers, Phases: phases, Engines: pointEngines, Storages: pointStorages, Scratch: storage.Restored{}, Freezer: freeze.Freezer{}, Grants: pointGrants, Backup: pointBackup, Driven: drivenBackup}
}

// pointEngines lists the engines that have points.
func pointEngines(cat *catalog.Catalog, g dsn.Given) []protect.Engine {
	return []protect.Engine{mysqlpoint.New(cat, g.Target(product.MySQL)), postgrespoint.New(g.Target(product.Postgres)), mongopoint.New(g.Address(product.Mongo))}
}

// pointStorages lists the storages that have snapshots. One that is asked for takes all
// volumes, and the others are there for the points that exist.
func pointStorages(with, removes string) []protect.Storage {
	command, ebs := storage.Command{Line: with, Removes: removes}, storage.EBS{Asked: with == "ebs"}
	if ebs.Asked {
		command.Line = ""
	}
	return []protect.Storage{command, ebs, storage.ZFS{}, storage.ZFS{Fuse: true}, storage.Zvol{}, storage.Btrfs{}, storage.LVM{}, storage.RBD{}, storage.Reflink{}}
}

// pointGrants returns the least rights that a verb needs in each server and on the storage.
func pointGrants(verb string) string {
	if verb == "protect list" || verb == "protect status" {
		return "-- plumb " + verb + " reads what a check reads: plumb check --grants. It needs no more.\n"
	}
	parts := []string{"-- Look through these, and run those of your server and your storage.\n",
		mysqlpoint.Grants(product.MariaDB, "", verb), mysqlpoint.Grants(product.MySQL, "8.0", verb), mysqlpoint.Grants(product.MySQL, "5.7", verb), postgrespoint.Grants("", verb)}
	if verb == "snapshot" || verb == "protect run" {
		parts = append(parts, mongopoint.Grants())
	}
	return strings.Join(append(parts, storage.Allowed(verb)), "\n")
}
