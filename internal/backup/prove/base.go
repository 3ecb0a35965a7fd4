package prove

import (
	"context"
	"errors"
	"fmt"
	"path"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/protect/replicate"
)

// Base says how bases are proven: what pg_basebackup and mariadb-backup gave, with what the archive has behind it.
type Base struct {
	Restore  moment.Restore
	Under    string // a directory, in which one is made to restore to
	UID, GID int    // of the user as whom all is unpacked, and the server runs
	Lend     func(dir, mountpoint string) protect.Member
	Prove    replicate.Prover
}

// data is where a copy has the data of a base.
const data = "/data"

// Run restores a base and has a copy started, of which nothing is left. The notes say what of the archive could not be replayed.
func (b Base) Run(ctx context.Context, m manifest.Manifest) (d protect.Drill, notes []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prove backup %s: %w", m.ID, err)
		}
	}()
	book, err := b.Restore.Book(ctx, proofs, runOf(m))
	if err != nil {
		return d, nil, err
	}
	defer func() { err = errors.Join(err, book.Close(context.WithoutCancel(ctx))) }() // which takes it all away
	at, err := b.scratch(ctx, book, m)
	if err != nil {
		return d, nil, err
	}
	told, w, err := b.Restore.Copied(ctx, m, moment.Place{Dir: path.Join(at, "d"), UID: b.UID, GID: b.GID})
	if err != nil {
		return d, nil, err
	}
	told.ID, told.State, told.Mode = m.ID, protect.Taken, protect.ModeCrash
	told.Server.Dirs = []protect.Dir{{Role: "data", Path: data}}
	told.Members = []protect.Member{b.Lend(path.Join(at, "d"), data)}
	d, err = b.Prove(ctx, told)
	return d, w.Notes, err
}

// scratch makes the directory to restore to, where nobody else may put another in its place. What a killed run left in it is gone by
// now.
func (b Base) scratch(ctx context.Context, book *inventory.Book, m manifest.Manifest) (string, error) {
	at, err := backup.NewDirectory(ctx, b.Restore.Do, path.Join(b.Under, "plumb-"+m.ID[max(0, len(m.ID)-8):])) // a short name: sockets lie below it
	if err != nil {
		return "", err
	}
	return at, book.Tree(ctx, inventory.Thing{Name: at}, 0o711)
}
