package backup

import (
	"context"
	"path/filepath"

	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Regular is a backup that a policy asks for at intervals.
type Regular struct {
	To         []string // URLs
	Recipients string   // file of those who can open it
	LimitRate  int64    // bytes a second; 0: as fast as it goes
	LockDays   int      // 0: nothing is locked
}

// Point backs up a point for a policy.
func Point(ctx context.Context, s *shell.Shell, m *machine.Machine, point string, r Regular) error {
	v := &verbs{Opener: machine.Opener{Shell: s, Adapters: machine.Adapters{Storages: func(string, string) []protect.Storage { return m.Keeper.Storages }}}}
	o := asked{recipientsFile: r.Recipients, points: m.Keeper.Store.Dir, rate: value.Size(r.LimitRate), lockDays: r.LockDays}
	o.urls, o.parallel, o.state = r.To, stream.Workers, filepath.Join(m.Base(), "backups")
	return v.onAll(o.place, o.urls, func(d *host.LiveDoer, all []store.Store) error {
		return v.make(ctx, d, all, o, point)
	})
}
