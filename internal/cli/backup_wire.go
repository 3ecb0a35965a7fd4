package cli

import (
	"plumb/internal/backup"
	"plumb/internal/backup/moment"
	backupcli "plumb/internal/cli/backup"
	postgrespitr "plumb/internal/engine/postgres/pitr"
)

// moments lists the products whose bases can be brought to a moment.
func moments() backupcli.Moments {
	return backupcli.Moments{Engines: []moment.Engine{postgrespitr.Engine{}}, Watch: func() []backup.Watcher { return []backup.Watcher{postgrespitr.NewBase()} }}
}
