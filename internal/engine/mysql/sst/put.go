package sst

import (
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/dice"
	"plumb/internal/host"
)

// What is made in the data directory, for a time.
const (
	fresh = ".plumb-sst-new"
	old   = ".plumb-sst-old-"
	lock  = ".plumb-sst-lock"
)

// poison stands in place of the redo log while files are exchanged. InnoDB refuses to start with it, so
// that a machine that dies meanwhile leaves no server that starts on some of the old and some of the new.
const poison = "plumb: a state transfer was cut off while files were put into place. The next one repairs it.\n"

// tidy removes the files that a transfer left that was killed while they came. What it moved aside stays
// until another was put into place.
func (j Joiner) tidy(ctx context.Context) error {
	_, err := j.Do.Run(ctx, "rm", "-rf", "--", path.Join(j.Request.Datadir, fresh))
	return err
}

// put puts the files that came in the place of the server's own. All of them are on the disk by now.
func put(ctx context.Context, d host.Doer, dir string) error {
	ctx = context.WithoutCancel(ctx) // half of it is worse than either end
	if err := exchange(ctx, d, dir); err != nil {
		return fmt.Errorf("put the files into place: %w", err)
	}
	all, err := top(ctx, d, dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.dir && strings.HasPrefix(e.name, old) {
			if _, err := d.Run(ctx, "rm", "-rf", "--", path.Join(dir, e.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func exchange(ctx context.Context, d host.Doer, dir string) error {
	from, aside := path.Join(dir, fresh), path.Join(dir, old+dice.Hex(16))
	was, err := top(ctx, d, dir)
	if err != nil {
		return err
	}
	come, err := top(ctx, d, from)
	if err != nil {
		return err
	}
	if err := d.MakeDir(ctx, aside, 0o700, -1, -1); err != nil {
		return err
	}
	if err := d.Replace(ctx, path.Join(dir, redo), []byte(poison), 0o600); err != nil {
		return err
	}
	for _, e := range was {
		if e.stale() && e.name != redo {
			if err := d.Rename(ctx, path.Join(dir, e.name), path.Join(aside, e.name)); err != nil {
				return err
			}
		}
	}
	for _, e := range come {
		if e.data() && e.name != redo { // nothing else comes from a donor of ours
			if err := d.Rename(ctx, path.Join(from, e.name), path.Join(dir, e.name)); err != nil {
				return err
			}
		}
	}
	for _, argv := range [][]string{{"sync", "-f", dir}, {"mv", "-f", "-T", "--", path.Join(from, redo), path.Join(dir, redo)}, {"sync", "-f", dir}, {"rm", "-rf", "--", from}} {
		if _, err := d.Run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}
