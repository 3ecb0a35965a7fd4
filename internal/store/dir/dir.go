// Package dir keeps the objects of backups as files below a directory: of a mounted disk, or of a
// file server. It opens what the command line names, and nothing outside: links
// that lead elsewhere are refused by the kernel's own rules.
package dir

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"plumb/internal/await"
	"plumb/internal/backup/store"
	"plumb/internal/dice"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// Dir is a directory.
type Dir struct {
	root *os.Root
	name string
	turn sync.Mutex // of those who compare before they replace

	growing sync.Mutex             // of those who make directories
	lasting func(dir string) error // told of each directory that is synced; nil but for tests
}

var _ store.Store = (*Dir)(nil)

// Open opens a directory, which must be there: one that is not may be a disk that is not mounted.
func Open(name string) (*Dir, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		err = fmt.Errorf("open the place for backups: %w", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = hint.With(err, "mount its disk, or correct the path; a new place has to be made with mkdir, as Plumb takes a missing directory for a disk that is not mounted")
	}
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, name: name}, nil
}

// Close gives it back.
func (d *Dir) Close() error { return d.root.Close() }

// URL implements store.Store.
func (d *Dir) URL() string { return "file://" + d.name }

// aside is what files are called before they are whole. No object's name has a part that begins so.
const aside = ".plumb-"

// Put implements store.Store: a file is written aside, and gets its name when it is whole and on
// the disk.
func (d *Dir) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if err := store.Check(name); err != nil {
		return "", err
	}
	if !o.Until.IsZero() {
		return "", fmt.Errorf("keep %s: a directory cannot lock an object until %s", name, o.Until.UTC().Format(time.DateOnly))
	}
	made, err := d.write(ctx, path.Dir(name), data)
	if err == nil {
		err = d.publish(ctx, made, name, o)
	}
	if err != nil {
		if made != "" {
			_ = d.root.Remove(made) // what stays has a name that nobody reads
		}
		return "", said("keep", name, err)
	}
	return tag(data), nil
}

// write makes a file under a name of its own.
func (d *Dir) write(ctx context.Context, dir string, data []byte) (name string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name = path.Join(dir, aside+dice.Hex(8))
	var f *os.File
	for range 10 { // who removes the last object of a directory removes that too
		if err = d.grow(dir); err == nil {
			f, err = d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return name, errors.Join(err, f.Sync(), f.Close())
}

// publish gives a file its name, under the condition.
func (d *Dir) publish(ctx context.Context, made, name string, o store.Put) error {
	if o.New {
		if err := d.root.Link(made, name); err != nil {
			return unlinked(err)
		}
		return errors.Join(d.root.Remove(made), d.sync(path.Dir(name)))
	}
	if o.Was != "" {
		unlock, err := d.lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		now, err := d.tagOf(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if now != o.Was {
			return store.ErrChanged
		}
	}
	if err := d.root.Rename(made, name); err != nil {
		return err
	}
	return d.sync(path.Dir(name))
}

// unlinked says of a filesystem that it has no links: FAT has none, and exFAT, and some that are reached over a network.
func unlinked(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return hint.With(errors.New("its filesystem has no hard links, which Plumb needs to keep two writers apart"), "use ext4, XFS, btrfs, ZFS or NFS; FAT and exFAT have no hard links")
	}
	return err
}

// lockTime is how long another may compare and replace, which takes no time: one that has the lock for longer stands still, or
// is somebody who keeps us from it.
var lockTime = 30 * time.Second // but for tests

// lock lets one at a time compare and replace: of this process, and of all on this machine.
func (d *Dir) lock(ctx context.Context) (unlock func(), err error) {
	d.turn.Lock()
	f, err := d.root.OpenFile(aside+"lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		if err = alone(ctx, f); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		d.turn.Unlock()
		return nil, err
	}
	return func() {
		_ = f.Close() // which gives the lock back
		d.turn.Unlock()
	}, nil
}

// alone waits until nobody else has a lock.
func alone(ctx context.Context, f *os.File) error {
	for late := time.Now().Add(lockTime); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if time.Now().After(late) {
			return &store.Trouble{Err: fmt.Errorf("another process has held the lock %s for %s", aside+"lock", units.Span(lockTime))}
		}
		if err := await.Pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// open opens an object to read it: what is no file is refused, and a pipe that somebody put there is not waited for.
func (d *Dir) open(name string) (*os.File, fs.FileInfo, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, st, nil
}

func (d *Dir) tagOf(name string) (string, error) {
	f, _, err := d.open(name)
	if err != nil {
		return "", err
	}
	var h maphash.Hash
	h.SetSeed(seed)
	_, err = io.Copy(&h, f)
	return strconv.FormatUint(h.Sum64(), 16), errors.Join(err, f.Close())
}

// seed is of this process, which alone compares its tags. They tell honest writers apart, and what is damaged or forged
// is found by who reads: so they are made of a fast hash, for they are made of every byte.
var seed = maphash.MakeSeed()

func tag(data []byte) string { return strconv.FormatUint(maphash.Bytes(seed, data), 16) }

// sync makes names in a directory durable.
func (d *Dir) sync(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	err = errors.Join(f.Sync(), f.Close())
	if d.lasting != nil && err == nil {
		err = d.lasting(dir)
	}
	return err
}

// Get implements store.Store.
func (d *Dir) Get(_ context.Context, name string, into []byte) (data []byte, t string, err error) {
	if err := store.Check(name); err != nil {
		return nil, "", err
	}
	f, st, err := d.open(name)
	if err != nil {
		return nil, "", said("read", name, err)
	}
	defer f.Close()
	if st.Size() > int64(cap(into)) {
		return nil, "", said("read", name, store.ErrTooLarge)
	}
	into = into[:st.Size()]
	if _, err := io.ReadFull(f, into); err != nil {
		return nil, "", said("read", name, err)
	}
	return into, tag(into), nil
}

// List implements store.Store.
func (d *Dir) List(ctx context.Context, prefix string, each func(store.Info) error) error {
	var all []store.Info
	err := fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(e.Name(), "."):
			return skip(e)
		case e.IsDir():
			if name != "." && !strings.HasPrefix(name+"/", prefix) && !strings.HasPrefix(prefix, name+"/") {
				return fs.SkipDir
			}
			return ctx.Err()
		case !strings.HasPrefix(name, prefix) || !e.Type().IsRegular():
			return nil
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			all = append(all, store.Info{Name: name, Size: st.Size(), Modified: st.ModTime()})
		}
		return err
	})
	if err != nil {
		return said("list", prefix, err)
	}
	slices.SortFunc(all, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
	for _, one := range all {
		if err := each(one); err != nil {
			return err
		}
	}
	return nil
}

func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// Delete implements store.Store. Directories that it leaves empty go too, as they came.
func (d *Dir) Delete(_ context.Context, name string) error {
	if err := store.Check(name); err != nil {
		return err
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return said("remove", name, err)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if d.root.Remove(dir) == nil {
			continue
		}
		if d.sweep(dir); d.root.Remove(dir) != nil {
			break // something is in it
		}
	}
	return nil
}

// abandoned is how old a file is that nobody writes to any more: one object is written at once.
const abandoned = 24 * time.Hour

// sweep removes what writers that were killed left in a directory that has nothing else.
func (d *Dir) sweep(dir string) {
	f, err := d.root.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	const most = 100 // a few at most are written at once
	all, err := f.ReadDir(most)
	if err != nil || slices.ContainsFunc(all, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), aside) }) {
		return
	}
	for _, e := range all {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > abandoned {
			_ = d.root.Remove(path.Join(dir, e.Name()))
		}
	}
}

// said words an error, and says what it means to who keeps objects.
func said(did, name string, err error) error {
	means := err
	switch {
	case errors.Is(err, fs.ErrNotExist):
		means = store.ErrNotFound
	case errors.Is(err, fs.ErrExist):
		means = store.ErrExists
	case errors.Is(err, fs.ErrPermission):
		means = errors.Join(store.ErrDenied, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		means = store.ErrFull
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ESTALE), errors.Is(err, syscall.ETIMEDOUT):
		means = &store.Trouble{Err: err}
	}
	return fmt.Errorf("%s %s: %w", did, name, means)
}
