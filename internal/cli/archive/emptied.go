package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// emptied refuses a directory to which this service has archived before, and of which nothing is there now: so looks the mount
// point of a disk that is not mounted, and the server would give its log to the disk of its data, and remove it.
func (o asked) emptied(ctx context.Context, d host.Doer, s store.Store, state string) error {
	dir, is := strings.CutPrefix(s.URL(), "file://")
	if !is {
		return nil
	}
	if err := o.Emptied(ctx, d, s); err != nil {
		return err
	}
	all, err := archive.Statuses(ctx, d, state)
	if err != nil || !slices.ContainsFunc(all, func(one archive.Status) bool { return one.Name == o.name && one.To == s.URL() }) {
		return nil // nothing is known of it: it may be new
	}
	if _, err := backup.Ours(ctx, d, state, s); !errors.Is(err, store.ErrNotFound) {
		return nil // who goes on says what is wrong with it
	}
	return hint.With(fmt.Errorf("%s had the archive of this host, and has nothing of it now", dir),
		"mount the disk that belongs there; if it was emptied on purpose, remove "+archive.StatusFile(state, o.name))
}

// taken refuses the name of a log that another service of this host follows and archives to the same place: each would take what the
// other archived for the end of its own.
func (o asked) taken(ctx context.Context, d host.Doer, s store.Store, state string, now time.Time) error {
	all, err := archive.Statuses(ctx, d, state)
	if err != nil || o.index == "" {
		return nil // what cannot be read says nothing
	}
	for _, one := range all {
		if one.Name == o.name || one.To != s.URL() || now.Sub(one.Alive) > archive.Old {
			continue
		}
		if slices.ContainsFunc(one.Sources, func(of archive.Source) bool { return of.Follows && of.Name == o.logOf }) {
			return hint.With(fmt.Errorf("the service %s archives a log called %s to the same place", one.Name, o.logOf), "--binlog-name gives this one another name")
		}
	}
	return nil
}
