package driven

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/moment"
	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/protect/replicate"
)

// Bring restores what a tool has.
type Bring struct {
	Restore backup.Restore // Do and Books of it
	Tool    Whole
}

// data is where a copy has the data of a backup.
const data = "/data"

// mine begins the names of the books of runs.
const mine = "driven-"

// begin opens a directory of the run's own, which goes with the book, and in it one of the server's user.
func (b Bring) begin(ctx context.Context, s Set, of Taken, dir string) (at string, book *inventory.Book, err error) {
	if of, err = b.Tool.Detail(ctx, b.Restore.Do, s, of); err != nil {
		return "", nil, err
	}
	if len(of.Elsewhere) > 0 {
		return "", nil, hint.With(fmt.Errorf("a part of the server lies in %s, and was backed up from there", strings.Join(of.Elsewhere, ", ")),
			"restore it by hand, with --tablespace-map of "+b.Tool.Name()+": Plumb writes nothing outside of the one new directory")
	}
	if book, err = b.Restore.Book(ctx, mine, mine+s.Name+"-"+strconv.FormatInt(time.Now().UnixNano(), 36)); err != nil {
		return "", nil, err
	}
	if err = backup.Fits(ctx, b.Restore.Do, path.Dir(dir), of.Bytes+of.Bytes/10); err == nil {
		err = book.Tree(ctx, inventory.Thing{Name: dir}, 0o711)
	}
	if err == nil {
		at = path.Join(dir, "d")
		uid, gid := Setup{Do: b.Restore.Do}.ids(s)
		err = b.Restore.Do.MakeDir(ctx, at, 0o700, uid, gid)
	}
	if err != nil {
		err = errors.Join(err, book.Close(context.WithoutCancel(ctx)))
	}
	return at, book, err
}

// Proof says how backups are proven.
type Proof struct {
	Bring
	Under string // a directory, in which one is made to restore to
	Lend  func(dir, mountpoint string) protect.Member
	Prove replicate.Prover
}

// Run restores a backup and has a copy of its server started, of which nothing is left. The notes say what of the archive could not
// be replayed.
func (p Proof) Run(ctx context.Context, s Set, f Found, of Taken) (d protect.Drill, notes []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prove backup %s: %w", of.Label, err)
		}
	}()
	dir, err := backup.NewDirectory(ctx, p.Restore.Do, path.Join(p.Under, "plumb-"+strconv.FormatInt(time.Now().Unix()%1e6, 36))) // a short name: sockets lie below it
	if err != nil {
		return d, nil, err
	}
	at, book, err := p.begin(ctx, s, of, dir)
	if err != nil {
		return d, nil, err
	}
	defer func() { err = errors.Join(err, book.Close(context.WithoutCancel(ctx))) }() // which takes it all away
	if err := p.Tool.Unpack(ctx, p.Restore.Do, s, of, at); err != nil {
		return d, nil, err
	}
	told, notes, err := p.Tool.Copied(ctx, p.Restore.Do, s, of, f, at)
	if err != nil {
		return d, nil, err
	}
	told.ID = of.Label[strings.LastIndexByte(of.Label, '-')+1:] // it becomes a part of a socket's path, which must be short
	told.State, told.Mode = protect.Taken, protect.ModeCrash
	told.Server.Dirs = []protect.Dir{{Role: "data", Path: data}}
	told.Members = []protect.Member{p.Lend(at, data)}
	d, err = p.Prove(ctx, told)
	return d, notes, err
}

// To restores a backup to a directory that is not there yet, ready for a start that goes on to a moment.
func (b Bring) To(ctx context.Context, s Set, of Taken, target string, a moment.Asked) (next, notes []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore backup %s to %s: %w", of.Label, target, err)
		}
	}()
	real, err := backup.NewDirectory(ctx, b.Restore.Do, target)
	if err != nil {
		return nil, nil, err
	}
	data, book, err := b.begin(ctx, s, of, real+".plumb-restore")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, book.Close(context.WithoutCancel(ctx))) }() // which takes away what is not whole
	if err := b.Tool.Unpack(ctx, b.Restore.Do, s, of, data); err != nil {
		return nil, nil, err
	}
	at := moment.At{Data: data, Dir: real, Aside: path.Dir(data), UID: s.Server.UID, GID: s.Server.GID, As: s.Server.As(b.Restore.Do.About().Root), Asked: a}
	if next, notes, err = b.Tool.Finish(ctx, b.Restore.Do, s, of, at); err != nil {
		return nil, nil, err
	}
	return next, notes, b.Restore.Do.Rename(ctx, data, real)
}
