package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"plumb/internal/host"
)

// RemoveOwned removes what was made to live for an owner, also what came about in part only: processes first, then
// the newest thing first. What stays is left, if that is given. It removes none that a run still uses, and none in
// which something else is that is meant to live.
func RemoveOwned(ctx context.Context, d host.Doer, kinds Kinds, directory, owner string, stays func(Thing) bool) error {
	files, err := d.Glob(ctx, path.Join(directory, "*"+ending))
	if err != nil {
		return err
	}
	goes := func(t Thing) bool { return t.Life != nil && t.Life.Owner == owner && (stays == nil || !stays(t)) }
	var others living
	for _, t := range livingIn(ctx, d, files) {
		if !goes(t) {
			others = append(others, t)
		}
	}
	for _, file := range files {
		err := inDead(ctx, d, directory, file, func(p *pages, note noting) error {
			for _, e := range p.open() {
				if !goes(e.Thing) {
					continue
				}
				err := error(nil)
				if at, ok := others.within(e.Thing); ok {
					err = inTheWay(e.Thing, at)
				} else {
					err = settle(ctx, kinds, p.holder(d, false), e, note)
				}
				if err != nil {
					return fmt.Errorf("remove %s %s: %w", e.Thing.Kind, e.Thing.Name, err)
				}
			}
			return nil
		})
		if errors.Is(err, host.ErrLocked) && !inUse(ctx, d, file, goes) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, host.ErrLocked) {
			err = fmt.Errorf("remove what was made for %s: %w", owner, ErrLive)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inUse tells whether the book of a run that lives holds such a thing.
func inUse(ctx context.Context, d host.Doer, file string, is func(Thing) bool) bool {
	p, err := read(ctx, d, file)
	if err != nil {
		return false
	}
	for _, e := range p.open() {
		if is(e.Thing) {
			return true
		}
	}
	return false
}
