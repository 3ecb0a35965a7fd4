package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plumb/internal/host/walk"
)

// Root is a directory that is held open.
type Root struct {
	Path string
	fd   int
	dev  uint64
}

func openAt(dir int, name string, flags int, perm uint32) (fd int, err error) {
	err = walk.Retry(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, perm)
		return err
	})
	return fd, err
}

func said(what, root, name string, err error) error {
	if name != "." {
		root += "/" + name
	}
	return &fs.PathError{Op: what, Path: root, Err: err}
}

// Open opens a directory by its absolute path, on which no link may be.
func Open(dir string) (*Root, error) {
	fd, err := openAt(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, said("open", dir, ".", err)
	}
	for _, part := range strings.Split(strings.Trim(dir, "/"), "/") {
		next, err := openAt(fd, part, unix.O_PATH|unix.O_DIRECTORY, 0)
		unix.Close(fd)
		if err != nil {
			return nil, said("open", dir, ".", err)
		}
		fd = next
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, said("open", dir, ".", err)
	}
	return &Root{Path: dir, fd: fd, dev: st.Dev}, nil
}

// Close lets it go.
func (r *Root) Close() error { return unix.Close(r.fd) }

// Identity tells the directory from others, also when it is mounted elsewhere or renamed; and whether something is
// mounted there.
func (r *Root) Identity() (string, error) {
	var st unix.Statx_t
	var up unix.Stat_t
	err := unix.Statx(r.fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err == nil {
		err = unix.Fstatat(r.fd, "..", &up, 0)
	}
	if err != nil {
		return "", said("look at", r.Path, ".", err)
	}
	id := fmt.Sprintf("inode %d", st.Ino)
	if st.Mask&unix.STATX_BTIME != 0 {
		id += fmt.Sprintf(" born %d.%09d", st.Btime.Sec, st.Btime.Nsec)
	}
	if up.Dev != r.dev {
		id += Mounted
	}
	return id, nil
}

// Mounted ends the identity of a directory on which a filesystem is mounted.
const Mounted = " mounted"

// Sync has all of the filesystem written.
func (r *Root) Sync() error {
	fd, err := openAt(r.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == nil {
		defer unix.Close(fd)
		err = unix.Syncfs(fd)
	}
	if err != nil {
		return said("sync", r.Path, ".", err)
	}
	return nil
}

// parent opens the directory that a name lies in, and gives its last part.
func (r *Root) parent(name string) (fd int, base string, err error) {
	parts := strings.Split(name, "/")
	fd, err = openAt(r.fd, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	for _, part := range parts[:len(parts)-1] {
		if err != nil {
			break
		}
		next := -1
		next, err = openAt(fd, part, unix.O_PATH|unix.O_DIRECTORY, 0)
		unix.Close(fd)
		if fd = next; err == nil {
			if err = r.same(fd); err != nil {
				unix.Close(fd)
			}
		}
	}
	if err != nil {
		return -1, "", said("open the directory of", r.Path, name, err)
	}
	return fd, parts[len(parts)-1], nil
}

// errMounted is the error of a directory on which something else is mounted.
var errMounted = errors.New("another filesystem is mounted there")

func (r *Root) same(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Dev != r.dev {
		return errMounted
	}
	return nil
}

// at does something to a name: with the directory that it lies in, and its last part.
func (r *Root) at(what, name string, do func(dir int, base string) error) error {
	dir, base, err := r.parent(name)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := do(dir, base); err != nil {
		return said(what, r.Path, name, err)
	}
	return nil
}

// look opens a name without opening what it is, and says what that is.
func (r *Root) look(name string) (fd int, st unix.Stat_t, err error) {
	err = r.at("look at", name, func(dir int, base string) error {
		if fd, err = openAt(dir, base, unix.O_PATH, 0); err != nil {
			return err
		}
		if err = unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
		}
		return err
	})
	return fd, st, err
}

// path names what is held open, whatever it is called now.
func path(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// errKind is the error of what is neither a file, a directory nor a link.
var errKind = errors.New("it is neither a plain file, a directory nor a link")

// file opens a plain file for reading.
func (r *Root) file(name string) (*os.File, unix.Stat_t, error) {
	fd, st, err := r.look(name)
	if err != nil {
		return nil, st, err
	}
	defer unix.Close(fd)
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, said("open", r.Path, name, errKind)
	}
	f, err := os.Open(path(fd))
	return f, st, err
}
