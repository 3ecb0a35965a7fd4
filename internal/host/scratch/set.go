package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Names of the files that list what Plumb made in a directory, by purpose.
const (
	Load  = "plumb-load.json"
	Fsync = "plumb-fsync.json"
)

// ErrForeign says that something in the way was not made by Plumb. It is left
// as it is.
var ErrForeign = errors.New("not made by plumb load, so it is left alone")

// ErrNoSet says that a directory holds no test files of Plumb's.
var ErrNoSet = errors.New("no test files of plumb load here")

// Set is the test files of one directory and purpose.
type Set struct {
	Dir      string
	List     string // the name of the list
	Manifest Manifest
}

// Make makes empty files of the given names and the list of them. None of
// the names may exist.
func Make(dir, list string, m Manifest, names []string) (*Set, error) {
	s := &Set{dir, list, m}
	s.Manifest.Files = nil
	if err := s.absent(append(slices.Clone(names), list)); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := s.create(name); err != nil {
			s.undo()
			return nil, err
		}
	}
	if err := s.Save(); err != nil {
		s.undo()
		return nil, err
	}
	return s, nil
}

func (s *Set) absent(names []string) error {
	for _, name := range names {
		if !plainName(name) {
			return fmt.Errorf("make %q: not the name of a test file", name)
		}
		path := filepath.Join(s.Dir, name)
		var st unix.Stat_t
		switch err := unix.Lstat(path, &st); {
		case err == nil:
			return fmt.Errorf("make %s: it exists and was %w", path, ErrForeign)
		case err != unix.ENOENT:
			return fmt.Errorf("make %s: %w", path, err)
		}
	}
	return nil
}

func (s *Set) create(name string) error {
	path := filepath.Join(s.Dir, name)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	s.Manifest.Files = append(s.Manifest.Files, Entry{Name: name, Inode: st.Ino})
	return nil
}

// undo removes what Make just made; the first error is what is told.
func (s *Set) undo() {
	for _, e := range s.Manifest.Files {
		_ = s.unlink(e)
	}
}

// Open finds the files that Plumb made in a directory. The error is
// [ErrNoSet] when there are none.
func Open(dir, list string) (*Set, error) {
	path := filepath.Join(dir, list)
	data, err := listAt(path)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &Set{dir, list, m}, nil
}

// listAt reads a small plain file, not through a link.
func listAt(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == unix.ENOENT {
		return nil, fmt.Errorf("read %s: %w", path, ErrNoSet)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f := &File{fd, path}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, f.fail("stat", 0, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > longestManifest {
		return nil, fmt.Errorf("read %s: it is not a list of test files: %w", path, ErrForeign)
	}
	data := make([]byte, st.Size)
	return data, f.ReadAt(data, 0)
}

// Save writes the list down, in one step. What a Plumb that was killed in the
// middle left under the new name is no list of anybody's.
func (s *Set) Save() error {
	path := filepath.Join(s.Dir, s.List)
	if err := unix.Unlink(path + ".new"); err != nil && err != unix.ENOENT {
		return fmt.Errorf("write %s.new: %w", path, err)
	}
	fd, err := unix.Open(path+".new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s.new: %w", path, err)
	}
	f := &File{fd, path + ".new"}
	err = errors.Join(f.WriteAt(s.Manifest.encode(), 0), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = unix.Unlink(path + ".new")
	}
	return err
}

// File opens the i-th file of the set.
func (s *Set) File(i int, flags Flags) (*File, error) {
	e := s.Manifest.Files[i]
	path := filepath.Join(s.Dir, e.Name)
	fd, err := unix.Open(path, flags.bits(), 0)
	switch {
	case err == unix.ELOOP:
		return nil, fmt.Errorf("open %s: it is a symbolic link, %w", path, ErrForeign)
	case err == unix.EINVAL && flags.Direct:
		return nil, fmt.Errorf("open %s: %w", path, ErrNoDirect)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = e.owns(&st)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &File{fd, path}, nil
}

// owns says whether a file is the one that was made.
func (e Entry) owns(st *unix.Stat_t) error {
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("it is not a plain file: %w", ErrForeign)
	case st.Ino != e.Inode:
		return fmt.Errorf("its inode is %d, the test file's was %d: %w", st.Ino, e.Inode, ErrForeign)
	case st.Nlink != 1:
		return fmt.Errorf("it has %d names: %w", st.Nlink, ErrForeign)
	}
	return nil
}

// Adopt makes a set of the files in a directory that was copied as a whole:
// the copies have other inodes than the list says. Only who made the copy may
// say so.
func (s *Set) Adopt() error {
	for i, e := range s.Manifest.Files {
		path := filepath.Join(s.Dir, e.Name)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return fmt.Errorf("adopt %s: %w", path, err)
		}
		e.Inode = st.Ino
		if err := e.owns(&st); err != nil {
			return fmt.Errorf("adopt %s: %w", path, err)
		}
		if s.Manifest.Filled && st.Size != s.Manifest.Size {
			return fmt.Errorf("adopt %s: it has %d bytes and should have %d", path, st.Size, s.Manifest.Size)
		}
		s.Manifest.Files[i] = e
	}
	return s.Save()
}

// Remove removes the files of the set and then the list, and nothing else. A
// file that is gone already is none to remove. When one is refused, it and
// the list stay.
func (s *Set) Remove() error {
	var refused []error
	for _, e := range s.Manifest.Files {
		if err := s.unlink(e); err != nil {
			refused = append(refused, err)
		}
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	for _, ending := range []string{".new", ""} {
		path := filepath.Join(s.Dir, s.List) + ending
		if err := unix.Unlink(path); err != nil && err != unix.ENOENT {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	return nil
}

func (s *Set) unlink(e Entry) error {
	path := filepath.Join(s.Dir, e.Name)
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if err == unix.ENOENT {
		return nil
	}
	if err == nil {
		err = e.owns(&st)
	}
	if err == nil {
		err = unix.Unlink(path)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
