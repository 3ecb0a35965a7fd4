package cli

import (
	"plumb/internal/backup"
	"plumb/internal/backup/moment"
	backupcli "plumb/internal/cli/backup"
	"plumb/internal/cli/backup/upkeep"
	mysqlpitr "plumb/internal/engine/mysql/pitr"
	postgrespitr "plumb/internal/engine/postgres/pitr"
	storagepoint "plumb/internal/storage/point"
)

// moments lists the products whose bases can be brought to a moment.
func moments() backupcli.Moments {
	return backupcli.Moments{Engines: []moment.Engine{mysqlpitr.Engine{}, postgrespitr.Engine{}}, Watch: func() []backup.Watcher {
		return []backup.Watcher{mysqlpitr.NewBase(), postgrespitr.NewBase()}
	}, Logs: upkeep.Logs{mysqlpitr.Engine{}, postgrespitr.Engine{}}, Scratch: storagepoint.Restored{}}
}
