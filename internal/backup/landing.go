package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/btrfs"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// Begin begins a restore to a directory that is not there yet: it gives the path of that without links, and the book of
// what is made for it.
func (r Restore) Begin(ctx context.Context, m manifest.Manifest, target string) (dir string, book *inventory.Book, err error) {
	if dir, err = NewDirectory(ctx, r.Do, target); err != nil {
		return "", nil, err
	}
	book, err = r.Landing(ctx, m)
	return dir, book, err
}

// Landing opens the book of what is made beside what is restored.
func (r Restore) Landing(ctx context.Context, m manifest.Manifest) (*inventory.Book, error) {
	return r.Book(ctx, restores, restores+strings.ToLower(m.ID)+"-"+strconv.FormatInt(time.Now().UnixNano(), 36))
}

// restores begins the names of the books of restores.
const restores = "restore-"

// Tidy takes away what killed restores left beside what they restored: another needs the room, and what a server of theirs has open.
func (r Restore) Tidy(ctx context.Context) { r.tidy(ctx, restores) }

// Book opens the book of a run, after it has taken away what killed ones of its kind left, whose names begin so.
func (r Restore) Book(ctx context.Context, kind, run string) (*inventory.Book, error) {
	r.tidy(ctx, kind)
	return kinds.Books(r.Do, r.Books).Open(ctx, run)
}

// tidy takes away what killed runs of a kind left. What stays of that is in nobody's way, or is refused when it is.
func (r Restore) tidy(ctx context.Context, kind string) {
	_, _ = kinds.Books(r.Do, r.Books).SweepThose(ctx, func(run string, _ []inventory.Entry) bool { return strings.HasPrefix(run, kind) })
}

// Subvolumes restores a backup, and what it needs, to a directory on btrfs that is not there yet. All is received beside it,
// where only root enters, and compared; the directory gets its name when it is whole. What a killed run left is taken
// away by the next.
func (r Restore) Subvolumes(ctx context.Context, m manifest.Manifest, target string) (all []Received, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore backup %s to %s: %w", m.ID, target, err)
		}
	}()
	dir, book, err := r.Begin(ctx, m, target)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, book.Close(context.WithoutCancel(ctx))) }() // which takes away what was only needed for it
	whole, all, err := r.Land(ctx, book, m, dir+".plumb-restore")
	if err != nil {
		return nil, err
	}
	if err := r.Do.Rename(ctx, whole, dir); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Dataset = path.Join(dir, path.Base(all[i].Dataset))
	}
	return all, nil
}

// NewDirectory gives the path without links of a directory that is to be made. It refuses one that is there, and one
// in which another user could put something else in its place.
func NewDirectory(ctx context.Context, h host.Reader, dir string) (string, error) {
	if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" || strings.ContainsAny(dir, "\n'\\*?[") {
		return "", hint.Usage(fmt.Sprintf("%q is not the path of a directory", dir), "give an absolute one without quotes, *, ? and [")
	}
	parent, err := host.OnlyOurs(path.Dir(dir))
	if err != nil {
		return "", err
	}
	real := path.Join(parent, path.Base(dir))
	if !inventory.Missing(ctx, h, real) {
		return "", hint.With(fmt.Errorf("%s is there", dir), "name a directory that does not exist yet: nothing is replaced")
	}
	return real, nil
}

// Land restores a backup, and what it needs, to a new directory, which is taken away with the book. It gives
// the directory in it that has the subvolumes, which can be written to, and nothing else.
func (r Restore) Land(ctx context.Context, book *inventory.Book, m manifest.Manifest, tree string) (whole string, all []Received, err error) {
	chain, err := r.Chain(ctx, m)
	if err == nil {
		err = linked(chain, manifest.Btrfs)
	}
	if err == nil {
		err = r.opens(ctx, chain)
	}
	if err != nil {
		return "", nil, err
	}
	l := landing{Restore: r.counted(chain), book: book, chain: chain, tree: tree}
	if err := l.ground(ctx); err != nil {
		return "", nil, err
	}
	if err := book.Tree(ctx, inventory.Thing{Name: tree, Proof: map[string]string{"filesystem": l.uuid}}, 0o700); err != nil {
		return "", nil, err
	}
	whole = path.Join(tree, "whole")
	if err := r.Do.MakeDir(ctx, whole, 0o700, -1, -1); err != nil {
		return "", nil, err
	}
	names := subvolumeNames(datasets(m))
	for i, s := range datasets(m) {
		if err := oddName(names[s.Name]); err != nil {
			return "", nil, err
		}
		got, err := l.one(ctx, i, s.Name, path.Join(whole, names[s.Name]))
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		all = append(all, got)
	}
	_, err = r.Do.Run(ctx, btrfs.Sync(tree)...)
	return whole, all, err
}

// landing is a restore to btrfs that goes on.
type landing struct {
	Restore
	book  *inventory.Book
	chain []manifest.Manifest
	tree  string
	uuid  string // of the filesystem
}

// ground refuses, before anything is made, what is no btrfs and has not enough room.
func (l *landing) ground(ctx context.Context) error {
	dir := path.Dir(l.tree)
	uuid, m, err := kinds.BtrfsOf(ctx, l.Do, dir)
	if err != nil {
		return err
	}
	if uuid == "" {
		return hint.With(fmt.Errorf("%s is on %s, and this backup is of btrfs", dir, m.Type), "name a directory on a btrfs: mkfs.btrfs makes one, and mount shows those that are there")
	}
	l.uuid = uuid
	return Fits(ctx, l.Do, dir, room(l.chain))
}

// one receives the streams of one subvolume, one after the other, and makes of the last what can be written to.
func (l *landing) one(ctx context.Context, number int, name, to string) (Received, error) {
	got := Received{Dataset: to, From: name}
	var last btrfs.Shown
	at := ""
	for n, m := range l.chain {
		dir := path.Join(l.tree, fmt.Sprintf("%d.%d", number, n))
		if err := l.Do.MakeDir(ctx, dir, 0o700, -1, -1); err != nil {
			return got, err
		}
		at = path.Join(dir, "received")
		var err error
		if last, err = l.receive(ctx, m, name, dir, at, last); err != nil {
			return got, fmt.Errorf("backup %s: %w", m.ID, err)
		}
		got.Bytes += streamOf(m, name).Bytes
	}
	got.GUID = last.Received
	return got, l.thing(ctx, to, func(*inventory.Thing) error {
		_, err := l.Do.Run(ctx, btrfs.Clone(at, to)...)
		return err
	})
}

// thing makes a subvolume that goes with the book.
func (l *landing) thing(ctx context.Context, name string, make func(*inventory.Thing) error) error {
	_, err := l.book.Make(ctx, inventory.Thing{Kind: inventory.Received, Name: name, Proof: map[string]string{"filesystem": l.uuid}}, make)
	return err
}

// receive gives btrfs one stream, and looks at what came of it. before is what the stream begins at.
func (l *landing) receive(ctx context.Context, m manifest.Manifest, name, dir, at string, before btrfs.Shown) (is btrfs.Shown, err error) {
	number := slices.IndexFunc(m.Streams, func(s manifest.Stream) bool { return s.Name == name })
	s := m.Streams[number]
	sieve := &btrfs.Sieve{Name: path.Base(at)}
	if sieve.Of, err = btrfs.ParseOrigin(s.GUID); err != nil {
		return is, err
	}
	if s.Base != nil {
		if sieve.From, err = btrfs.ParseOrigin(s.Base.GUID); err != nil {
			return is, err
		}
	}
	write := func(ctx context.Context, to io.Writer) error {
		sieve.Out = to
		if err := l.Stream(ctx, m, number, sieve); err != nil {
			return err
		}
		return sieve.Close()
	}
	err = l.thing(ctx, at, func(*inventory.Thing) error { return l.feed(ctx, btrfs.Receive(dir), write) })
	if err != nil {
		return is, err
	}
	out, err := l.Do.Output(ctx, btrfs.Show(at)...)
	if err != nil {
		return is, err
	}
	is = btrfs.ParseShow(out)
	beside, err := l.Do.Glob(ctx, path.Join(host.Verbatim(dir), "*"))
	if err == nil && len(beside) != 1 { // a link led there
		err = fmt.Errorf("the stream made something outside its subvolume: %q", beside)
	}
	if err != nil {
		return is, err
	}
	return is, isReceived(is, sieve.Of, before)
}

// isReceived is nil when what was received is what was meant. btrfs looks for the snapshot that a stream begins at in all of
// the filesystem, and every user can give a subvolume of his the UUID of another.
func isReceived(is btrfs.Shown, of btrfs.Origin, before btrfs.Shown) error {
	switch {
	case is.Received != of.UUID || is.Sent != 0 && is.Sent != of.Generation || !is.ReadOnly || is.UUID == "":
		return fmt.Errorf("btrfs received it, and does not say that it is the snapshot %s", of)
	case is.Parent != before.UUID:
		return hint.With(fmt.Errorf("btrfs received it onto another subvolume (%s) than the one that was received for it", is.Parent),
			"another of this filesystem says that it was received from the same snapshot: restore to another filesystem, or delete that one when it is yours (btrfs subvolume list -R shows them)")
	}
	return nil
}
