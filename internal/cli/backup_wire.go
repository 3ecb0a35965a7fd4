package cli

import (
	"context"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/driven"
	"plumb/internal/backup/moment"
	backupcli "plumb/internal/cli/backup"
	"plumb/internal/cli/backup/upkeep"
	drivencli "plumb/internal/cli/driven"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/mongo/pbm"
	mysqlpitr "plumb/internal/engine/mysql/pitr"
	"plumb/internal/engine/postgres/pgbackrest"
	postgrespitr "plumb/internal/engine/postgres/pitr"
	"plumb/internal/protect/policy"
	"plumb/internal/stack"
)

// moments lists the products whose bases can be brought to a moment.
func moments() backupcli.Moments {
	return backupcli.Moments{Engines: []moment.Engine{mysqlpitr.Engine{}, postgrespitr.Engine{}}, Watch: func() []backup.Watcher {
		return []backup.Watcher{mysqlpitr.NewBase(), postgrespitr.NewBase()}
	}, Logs: upkeep.Logs{mysqlpitr.Engine{}, postgrespitr.Engine{}}}
}

// tools lists the programs that plumb backup --with can run.
func tools() drivencli.Adapters {
	return drivencli.Adapters{Adapters: keepers(), Tools: []driven.Tool{pgbackrest.Tool{}, pbm.Tool{}}, Setters: setters, Found: pgbackrest.Found}
}

// pointBackup backs up a point for a policy.
func pointBackup(ctx context.Context, s *shell.Shell, m *machine.Machine, point string, to policy.Store) error {
	return backupcli.Point(ctx, s, m, point, backupcli.Regular{To: to.To, Recipients: to.Recipients, LimitRate: to.LimitRate, LockDays: to.LockDays})
}

// drivenBackup runs a tool that backs up a server for a policy.
func drivenBackup(ctx context.Context, s *shell.Shell, m *machine.Machine, server stack.Ref, with string) error {
	return drivencli.Backup(ctx, s, tools(), m, server, with)
}

// backups makes the commands about backups, of Plumb's own and those that another tool makes.
func (a *app) backups() []*cobra.Command {
	all := backupcli.Commands(&a.Shell, keepers(), moments())
	drivencli.Extend(&a.Shell, tools(), all)
	return all
}
