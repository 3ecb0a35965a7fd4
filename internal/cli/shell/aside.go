package shell

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// aside makes the file that gets a name when it is whole. It is locked until it is closed: by that the next run tells what a killed one
// left, which it removes, from what another is writing.
func aside(name string) (f *os.File, err error) {
	dir, begins := filepath.Dir(name), "."+filepath.Base(name)+".plumb-"
	sweep(dir, begins)
	for range 10 { // another run may take it for left before it is locked
		if f, err = os.CreateTemp(dir, begins+"*"); err != nil {
			return nil, err
		}
		// Not every filesystem has locks. There nothing is taken for left either.
		if err = lock(f); err == nil && named(f) || err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return f, nil
		}
		f.Close()
	}
	return nil, errors.New("others remove it again and again")
}

// sweep removes what killed runs left of one file: it has a name that only aside makes, belongs to this account, and nobody has it
// locked.
func sweep(dir, begins string) {
	all, _ := os.ReadDir(dir) // what cannot be read stays
	for _, e := range all {
		number, is := strings.CutPrefix(e.Name(), begins)
		if !is || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if own(f) && lock(f) == nil && named(f) {
			os.Remove(f.Name())
		}
		f.Close()
	}
}

func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// named tells whether a file is still the one of its name.
func named(f *os.File) bool {
	is, err := f.Stat()
	at, bad := os.Lstat(f.Name())
	return err == nil && bad == nil && os.SameFile(is, at)
}

// own tells whether a file is one that this account made.
func own(f *os.File) bool {
	is, err := f.Stat()
	if err != nil || !is.Mode().IsRegular() {
		return false
	}
	st, known := is.Sys().(*syscall.Stat_t)
	return known && int(st.Uid) == os.Geteuid()
}
