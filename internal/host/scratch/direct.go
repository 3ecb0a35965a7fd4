package scratch

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrNoDirect says that a filesystem has no direct I/O.
var ErrNoDirect = errors.New("this filesystem has no direct I/O (O_DIRECT)")

// Alignment is what direct I/O asks of requests.
type Alignment struct {
	Memory int64 // of the buffer, bytes
	Offset int64 // of place and length, bytes
	Told   bool  // by the kernel (statx, Linux 6.1); otherwise assumed: the page
}

// Alignment asks the kernel what direct I/O on this file wants.
func (f *File) Alignment() (Alignment, error) {
	var st unix.Statx_t
	err := unix.Statx(f.fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st)
	if err != nil || st.Mask&unix.STATX_DIOALIGN == 0 {
		return Alignment{Memory: 4096, Offset: 4096}, nil
	}
	if st.Dio_offset_align == 0 {
		return Alignment{}, fmt.Errorf("open %s: %w", f.path, ErrNoDirect)
	}
	return Alignment{int64(st.Dio_mem_align), int64(st.Dio_offset_align), true}, nil
}

// CheckDirect says whether requests of a size, at multiples of it, can go
// past the page cache. The file is open with Flags.Direct.
func (f *File) CheckDirect(size int64) error {
	a, err := f.Alignment()
	if err != nil {
		return err
	}
	if a.Told && size%a.Offset != 0 {
		return fmt.Errorf("requests of %d bytes on %s: direct I/O here needs multiples of %d bytes", size, f.path, a.Offset)
	}
	if a.Told {
		return nil
	}
	return f.tryDirect(size)
}

// tryDirect reads once: old kernels do not tell, and some filesystems take
// O_DIRECT when opening and refuse the first request.
func (f *File) tryDirect(size int64) error {
	b, err := Buffer(int(size))
	if err != nil {
		return err
	}
	defer FreeBuffer(b)
	if _, err := unix.Pread(f.fd, b, 0); err == unix.EINVAL {
		return fmt.Errorf("requests of %d bytes on %s: %w for that size", size, f.path, ErrNoDirect)
	} else if err != nil {
		return f.fail("read", 0, err)
	}
	return nil
}
