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

// emptied is an error if this service has archived to a directory before and finds nothing of it now. This is what the mount point of a
// disk looks like that is not mounted: the log would go to the disk of the data, and the server would remove its own copy.
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
		return nil // nothing is known about it, so it may be new
	}
	if _, err := backup.Ours(ctx, d, state, s); !errors.Is(err, store.ErrNotFound) {
		return nil // the caller goes on, and finds out what is wrong with it
	}
	return hint.With(fmt.Errorf("%s had the archive of this host, but is empty now", dir),
		"mount the disk that belongs there; if it was emptied on purpose, remove "+archive.StatusFile(state, o.name))
}

// taken is an error if another service of this host archives a log of the same name to the same place: each would take the end of the
// other's log for the end of its own.
func (o asked) taken(ctx context.Context, d host.Doer, s store.Store, state string, now time.Time) error {
	all, err := archive.Statuses(ctx, d, state)
	if err != nil || o.index == "" {
		return nil // nothing is known if it cannot be read
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
