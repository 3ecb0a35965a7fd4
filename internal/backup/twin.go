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
// its. Nobody can tell their backups apart, and rules would keep for one day only one of both, so that a prune is stopped by it.
var ErrTwin = errors.New("a copy of this machine, with its signing key, backs up here too")

const (
	mostBegun  = 10_000 // are written down
	mostLooked = 100    // are looked at in one run: others can put names there
)

// Begun says which backups this machine began: their IDs, all since the first of them, the oldest first. Among them are those of a twin
// that were told of.
type Begun []string

// ofTwin ends what is written down of a backup that a twin began.
const ofTwin = "+twin"

// Foreign tells of a backup that the key of this machine signed whether another machine began it. What is older than all that was
// written down may be of this one.
func (b Begun) Foreign(id string) bool {
	if len(b) == 0 || id < strings.TrimSuffix(b[0], ofTwin) {
		return false
	}
	_, is := slices.BinarySearch(b, id)
	return !is
}

// told tells whether a backup was told of before.
func (b Begun) told(id string) bool {
	_, is := slices.BinarySearch(b, id+ofTwin)
	return is
}

func begunFile(dir string) string { return path.Join(dir, "begun") }

// ReadBegun reads which backups a machine began; nothing where nothing was written down.
func ReadBegun(ctx context.Context, d host.Doer, dir string) (Begun, error) {
	text, err := d.Raw(ctx, begunFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which backups this machine began: %w", err)
	}
	return strings.Fields(string(text)), nil
}

func (b Begun) write(ctx context.Context, d host.Doer, dir string) error {
	slices.Sort(b)
	b = b[max(0, len(b)-mostBegun):]
	return d.Replace(ctx, begunFile(dir), []byte(strings.Join(b, "\n")+"\n"), 0o600)
}

func lockBegun(ctx context.Context, d host.Doer, dir string) (unlock func(), err error) {
	unlock, err = host.LockWithin(ctx, d, begunFile(dir)+".lock", lockTime)
	return unlock, host.HeldBy(err, "another Plumb is writing down which backups it began", "try it again")
}

// Adopt has this machine take backups for its own that its key signed, and that it does not know to have begun.
func Adopt(ctx context.Context, d host.Doer, dir string, ids []string) error {
	unlock, err := lockBegun(ctx, d, dir)
	if err != nil {
		return err
	}
	defer unlock()
	known, err := ReadBegun(ctx, d, dir)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !known.Foreign(id) {
			continue
		}
		known = append(slices.DeleteFunc(known, func(one string) bool { return one == id+ofTwin }), id)
		slices.Sort(known)
	}
	return known.write(ctx, d, dir)
}

// begins writes down which backup this machine begins. It gives an ErrTwin when its key has signed one, since the first that was
// written down, that it did not begin. Each such backup is told once. there are those of all stores.
func (b *Backup) begins(ctx context.Context, id string, there map[string]store.Store) (twin, err error) {
	unlock, err := lockBegun(ctx, b.Do, b.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	known, err := ReadBegun(ctx, b.Do, b.Dir)
	if err != nil {
		return nil, err
	}
	others := b.others(ctx, known, there)
	known = append(known, id)
	for _, m := range others {
		known = append(known, m.ID+ofTwin)
	}
	err = known.write(ctx, b.Do, b.Dir)
	if tree.Full(err) { // without this one in it the next run would take it for another's
		b.warn("a copy of this machine that backs up here too is not noticed", err)
		err = b.Do.Remove(ctx, begunFile(b.Dir))
	}
	if len(others) == 0 {
		return nil, err
	}
	return hint.With(Twin(others[0], len(others)), OnTheCopy(b.Dir)+"; if this machine was only reset to an earlier state, each backup is reported once, and plumb backup prune asks for --adopt"), err
}

// Twin is the ErrTwin of some backups, of which it names the newest.
func Twin(newest manifest.Manifest, n int) error {
	more := ""
	if n > 1 {
		more = ", and " + units.Count(n-1, "other")
	}
	return fmt.Errorf("backup %s%s, signed as %s, is not of this machine: %w", newest.ID, more, newest.Host, ErrTwin)
}

// OnTheCopy is what to do where the copy of a machine has its key.
func OnTheCopy(dir string) string {
	return "on the copy move " + dir + " away, so that it makes a key of its own, and give it a prefix of its own"
}

// others gives the backups, newest first, that the key of this machine signed, that it did not begin, and that were not told of.
func (b *Backup) others(ctx context.Context, known Begun, there map[string]store.Store) (all []manifest.Manifest) {
	looked := 0
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(there))) {
		if !known.Foreign(id) || known.told(id) {
			continue
		}
		if looked++; looked > mostLooked {
			break
		}
		if m, err := b.read(ctx, there[id], id); err == nil { // or it is nobody's whom we know, or gone
			all = append(all, m)
		}
	}
	return all
}
