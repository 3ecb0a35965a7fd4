package protect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Directory is where points are written down, one file for each.
const Directory = "/var/lib/plumb/points"

// ErrNoPoint says that there is no point of a name.
var ErrNoPoint = hint.With(errors.New("there is no such point"), "plumb protect list shows them")

// Store is the directory in which points are written down.
type Store struct {
	Dir string // Directory, except in tests
	// Guard is asked before the files are believed. Its error says that somebody other than the reader could have written them.
	// Without one all files are trusted.
	Guard func(dir, pattern string) error
}

// ErrBusy says that another process is making, changing or destroying points, or rolling back a server.
var ErrBusy = hint.With(errors.New("another Plumb is taking or removing points on this host, or rolling a server back"), "wait until it has ended")

const pointFiles = "*.json"

func (s Store) file(id string) string { return path.Join(s.Dir, id+".json") }

// Lock lets this process alone make, change or destroy points here until it calls unlock. When another process has the lock the
// error is ErrBusy; Lock does not wait for it.
func (s Store) Lock(ctx context.Context, d host.Doer) (unlock func(), err error) {
	return s.lockWithin(ctx, d, 0)
}

func (s Store) lockWithin(ctx context.Context, d host.Doer, most time.Duration) (unlock func(), err error) {
	unlock, err = host.LockWithin(ctx, d, path.Join(s.Dir, "lock"), most)
	if errors.Is(err, host.ErrLocked) {
		return nil, fmt.Errorf("%w: %w", ErrBusy, err) // which names the process
	}
	if err != nil {
		return nil, err
	}
	if err = s.Trusted(); err == nil {
		err = TidyKept(ctx, d, s.Dir)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// patience is longer than it takes to make or destroy a point.
const patience = 3 * time.Minute

// lockSoon is Lock, but waits up to patience for another process. It is for callers whose work must not be lost because somebody
// else happens to have the lock, such as the result of a drill that took an hour.
func (s Store) lockSoon(ctx context.Context, d host.Doer) (unlock func(), err error) {
	return s.lockWithin(ctx, d, patience)
}

// Trusted is an error if somebody other than the reader could have written the points. This matters because a point says which
// program a copy is started with, and as which user.
func (s Store) Trusted() error { return s.Guarded(s.Dir, pointFiles) }

// Guarded asks the same of the files in dir that match pattern.
func (s Store) Guarded(dir, pattern string) error {
	if s.Guard == nil {
		return nil
	}
	return s.Guard(dir, pattern)
}

// List returns all points, oldest first. The error names the files that could not be read; the points that could be are
// returned all the same.
func (s Store) List(ctx context.Context, h host.Reader) (all []Point, err error) {
	files, err := h.Glob(ctx, path.Join(host.Verbatim(s.Dir), pointFiles))
	if err != nil {
		return nil, closed(err)
	}
	var bad []error
	for _, file := range files {
		p, err := s.read(ctx, h, file)
		if errors.Is(err, fs.ErrNotExist) {
			if left, failed := h.Glob(ctx, host.Verbatim(file)); failed == nil && len(left) == 0 {
				continue // another Plumb destroyed it meanwhile
			}
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b Point) int { return strings.Compare(a.ID, b.ID) })
	return all, closed(errors.Join(bad...))
}

// closed adds the hint to run as root to an error that says files may not be read.
func closed(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return hint.With(err, "run as root")
	}
	return err
}

// Get returns the point with an ID, or the only point whose ID begins with id. Without one the error is ErrNoPoint.
func (s Store) Get(ctx context.Context, h host.Reader, id string) (Point, error) {
	all, bad := s.List(ctx, h)
	var found []Point
	for _, p := range all {
		if p.ID == id {
			return p, nil
		}
		if id != "" && strings.HasPrefix(p.ID, id) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Point{}, hint.With(fmt.Errorf("%q begins the names of %d points", id, len(found)), "give more of it")
	case bad != nil:
		return Point{}, fmt.Errorf("look for point %q: %w", id, bad)
	}
	return Point{}, fmt.Errorf("look for point %q: %w", id, ErrNoPoint)
}

func (s Store) read(ctx context.Context, h host.Reader, file string) (p Point, err error) {
	if err := ReadKept(ctx, h, file, "it is a point", Form, &p); err != nil {
		return p, fmt.Errorf("read %s: %w", file, hint.Cause(err))
	}
	if why := s.odd(p, file); why != "" {
		return p, hint.With(fmt.Errorf("read %s: %s", file, why), "repair the file, or move it away: the snapshots stay where they are")
	}
	return p, nil
}

// odd says what is in the file of a point that no Plumb would have written, as when somebody edited it; "" for nothing.
func (s Store) odd(p Point, file string) string {
	switch {
	case s.file(p.ID) != file || p.Form < 1:
		return "it is not a point of this name"
	case p.State != Taking && p.State != Taken && p.State != Destroying:
		return fmt.Sprintf("%q is not a state of a point", p.State)
	case p.State == Taken && len(p.Members) == 0:
		return "it has no snapshots"
	}
	return ""
}

// Put writes a point to its file, replacing what is there.
func (s Store) Put(ctx context.Context, d host.Doer, p Point) error {
	p.Form = Form
	if err := WriteKept(ctx, d, s.file(p.ID), p, 0o600); err != nil {
		return fmt.Errorf("record point %s: %w", p.ID, err)
	}
	return nil
}

// Remove removes the file of a point; that there is none is no error. The snapshots stay.
func (s Store) Remove(ctx context.Context, d host.Doer, id string) error {
	return d.Remove(ctx, s.file(id))
}
