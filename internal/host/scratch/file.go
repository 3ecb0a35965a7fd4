package scratch

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Flags say how a file is opened.
type Flags struct {
	ReadOnly bool
	Direct   bool // O_DIRECT: past the page cache
	Sync     bool // O_SYNC: a write returns when it and all that describes it is on stable storage
	Dsync    bool // O_DSYNC: the same without what is not needed to read it back
}

func (f Flags) bits() int {
	bits := unix.O_RDWR | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	if f.ReadOnly {
		bits = bits&^unix.O_RDWR | unix.O_RDONLY
	}
	for _, add := range []struct {
		on  bool
		bit int
	}{{f.Direct, unix.O_DIRECT}, {f.Sync, unix.O_SYNC}, {f.Dsync, unix.O_DSYNC}} {
		if add.on {
			bits |= add.bit
		}
	}
	return bits
}

// File is an open test file. Its calls go straight to the kernel and allocate
// nothing. They may run at the same time; none may run when Close is called,
// because the kernel gives the number away again.
type File struct {
	fd   int
	path string
}

// ErrFull says that the filesystem has no room left.
var ErrFull = errors.New("the filesystem is full")

// Path is where the file is.
func (f *File) Path() string { return f.path }

// ReadAt reads all of p. It is an error when the file ends before.
func (f *File) ReadAt(p []byte, at int64) error {
	for {
		n, err := unix.Pread(f.fd, p, at)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return f.fail("read", at, err)
		case n == len(p):
			return nil
		case n <= 0:
			return f.fail("read", at, io.ErrUnexpectedEOF)
		}
		p, at = p[n:], at+int64(n)
	}
}

// WriteAt writes all of p.
func (f *File) WriteAt(p []byte, at int64) error {
	for {
		n, err := unix.Pwrite(f.fd, p, at)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return f.fail("write", at, err)
		case n == len(p):
			return nil
		case n <= 0:
			return f.fail("write", at, io.ErrShortWrite)
		}
		p, at = p[n:], at+int64(n)
	}
}

// Sync is fsync. After an error the file must not be relied on: the kernel
// may have dropped what it could not write.
func (f *File) Sync() error {
	if err := unix.Fsync(f.fd); err != nil {
		return f.fail("fsync", 0, err)
	}
	return nil
}

// Datasync is fdatasync.
func (f *File) Datasync() error {
	if err := unix.Fdatasync(f.fd); err != nil {
		return f.fail("fdatasync", 0, err)
	}
	return nil
}

// Size is the file's size now.
func (f *File) Size() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return 0, f.fail("stat", 0, err)
	}
	return st.Size, nil
}

// Preallocate makes room for the first size bytes, so that writing them needs
// no new space. Filesystems that copy on write may take space all the same.
func (f *File) Preallocate(size int64) error {
	err := unix.Fallocate(f.fd, 0, 0, size)
	if err != nil && err != unix.EOPNOTSUPP {
		return f.fail("preallocate", size, err)
	}
	return nil
}

// Truncate sets the file's size.
func (f *File) Truncate(size int64) error {
	if err := unix.Ftruncate(f.fd, size); err != nil {
		return f.fail("truncate", size, err)
	}
	return nil
}

// DropCache writes the file out and asks the kernel to forget its pages. The
// cache of ZFS does not listen to it.
func (f *File) DropCache() error {
	if err := f.Datasync(); err != nil {
		return err
	}
	if err := unix.Fadvise(f.fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return f.fail("drop the cached pages", 0, err)
	}
	return nil
}

// Close closes the file; nothing else may run.
func (f *File) Close() error {
	if err := unix.Close(f.fd); err != nil {
		return f.fail("close", 0, err)
	}
	return nil
}

func (f *File) fail(doing string, at int64, err error) error {
	if err == unix.ENOSPC || err == unix.EDQUOT {
		err = fmt.Errorf("%w (%w)", ErrFull, err)
	}
	if at != 0 {
		return fmt.Errorf("%s %s at %d: %w", doing, f.path, at, err)
	}
	return fmt.Errorf("%s %s: %w", doing, f.path, err)
}

// Buffer gives memory that starts at a page, as direct I/O wants it. It is
// given back by FreeBuffer.
func Buffer(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, max(size, 1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return b[:size], nil
}

// FreeBuffer gives memory back that Buffer gave.
func FreeBuffer(b []byte) {
	_ = unix.Munmap(b[:cap(b)]) // what Buffer gave is always mapped
}
