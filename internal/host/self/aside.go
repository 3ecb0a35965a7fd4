package self

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Aside makes a file beside its place, which gets its name when it is whole. It is locked until it is closed: by that the next run tells what a killed one
// left, which it removes, from what another is writing.
func Aside(name string) (f *os.File, err error) {
	dir, begins := filepath.Dir(name), "."+filepath.Base(name)+".plumb-"
	sweep(dir, begins)
	for range 10 { // another run may take it for left before it is locked
		if f, err = os.CreateTemp(dir, begins+"*"); err != nil {
			return nil, err
		}
		// Not every filesystem has locks. There nothing is taken for left either.
		if err = lock(f); err == nil && named(f) || err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			return f, nil
		}
		f.Close()
	}
	return nil, errors.New("others remove it again and again")
}

// sweep removes what killed runs left of one file: it has a name that only Aside makes, belongs to this account, and nobody has it
// locked.
func sweep(dir, begins string) {
	all, _ := os.ReadDir(dir) // what cannot be read stays
	for _, e := range all {
		number, is := strings.CutPrefix(e.Name(), begins)
		if !is || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if own(f) && lock(f) == nil && named(f) {
			os.Remove(f.Name())
		}
		f.Close()
	}
}

func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// named tells whether a file is still the one of its name.
func named(f *os.File) bool {
	is, err := f.Stat()
	at, bad := os.Lstat(f.Name())
	return err == nil && bad == nil && os.SameFile(is, at)
}

// own tells whether a file is one that this account made.
func own(f *os.File) bool {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && int(st.Uid) == os.Geteuid()
}
