package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/tree"
	"plumb/internal/units"
)

// ErrTwin says that another machine has the signing key of this one: it was made from a copy of its disk, or this was made from one of
// its. Nobody can tell their backups apart, and a prune keeps for one day only one of both.
var ErrTwin = errors.New("a copy of this machine, with its signing key, backs up here too")

const (
	mostBegun  = 10_000 // are written down
	mostLooked = 100    // are looked at in one run: others can put names there
)

// begunFile has the IDs of the backups that this machine began, all since the first of them, and of those that it has told of.
func (b *Backup) begunFile() string { return path.Join(b.Dir, "begun") }

// begun reads it; the oldest comes first.
func (b *Backup) begun(ctx context.Context) ([]string, error) {
	text, err := b.Do.Raw(ctx, b.begunFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

// begins writes down which backup this machine begins. It gives an ErrTwin when its key has signed one, since the first that was
// written down, that it did not begin. Each such backup is told once. there are those of all stores.
func (b *Backup) begins(ctx context.Context, id string, there map[string]store.Store) (twin, err error) {
	unlock, err := host.LockWithin(ctx, b.Do, b.begunFile()+".lock", lockTime)
	if err != nil {
		return nil, err
	}
	defer unlock()
	known, err := b.begun(ctx)
	if err != nil {
		return nil, fmt.Errorf("read which backups this machine began: %w", err)
	}
	others := b.others(ctx, known, there)
	known = append(known, id)
	for _, m := range others {
		known = append(known, m.ID)
	}
	slices.Sort(known)
	known = known[max(0, len(known)-mostBegun):]
	err = b.Do.Replace(ctx, b.begunFile(), []byte(strings.Join(known, "\n")+"\n"), 0o600)
	if tree.Full(err) { // without this one in it the next run would take it for another's
		b.warn("a copy of this machine that backs up here too is not noticed", err)
		err = b.Do.Remove(ctx, b.begunFile())
	}
	if len(others) == 0 {
		return nil, err
	}
	last, more := others[0], ""
	if len(others) > 1 {
		more = ", and " + units.Count(len(others)-1, "other")
	}
	twin = hint.With(fmt.Errorf("backup %s%s, signed as %s, is not of this machine: %w", last.ID, more, last.Host, ErrTwin),
		"on the copy move "+b.Dir+" away, so that it makes a key of its own, and give it a prefix of its own; if this machine was only reset to an earlier state, nothing needs to be done: each backup is reported once")
	return twin, err
}

// others gives the backups, newest first, that the key of this machine signed, and that it did not begin.
func (b *Backup) others(ctx context.Context, known []string, there map[string]store.Store) (all []manifest.Manifest) {
	if len(known) == 0 {
		return nil
	}
	looked := 0
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(there))) {
		if id < known[0] || looked == mostLooked { // from before anything was written down, it may be of this machine
			break
		}
		if _, is := slices.BinarySearch(known, id); is {
			continue
		}
		looked++
		if m, err := b.read(ctx, there[id], id); err == nil { // or it is nobody's whom we know, or gone
			all = append(all, m)
		}
	}
	return all
}
