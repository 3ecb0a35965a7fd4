package backup

import (
	"context"
	"path/filepath"

	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Point backs a point up to all of some URLs, as a policy asks for, for the recipients of a file.
func Point(ctx context.Context, s *shell.Shell, m *machine.Machine, point string, to []string, recipients string) error {
	v := &verbs{Opener: machine.Opener{Shell: s, Adapters: machine.Adapters{Storages: func(string, string) []protect.Storage { return m.Keeper.Storages }}}}
	o := asked{recipientsFile: recipients, points: m.Keeper.Store.Dir}
	o.urls, o.parallel, o.state = to, stream.Workers, filepath.Join(m.Base(), "backups")
	return v.onAll(o.place, o.urls, func(d *host.LiveDoer, all []store.Store) error {
		return v.make(ctx, d, all, o, point)
	})
}
