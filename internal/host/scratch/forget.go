package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Forget writes the files below a directory out and asks the kernel to forget
// their pages. It changes nothing and follows no links. What a process has
// mapped stays, and the cache of ZFS does not listen to it.
func Forget(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("drop the cached pages below %s: %w", dir, err)
		}
		if !e.Type().IsRegular() {
			return nil
		}
		return forget(path)
	})
}

func forget(path string) error {
	fd, err := unix.Open(path, Flags{ReadOnly: true}.bits(), 0)
	if err != nil {
		return fmt.Errorf("drop the cached pages of %s: %w", path, err)
	}
	f := &File{fd: fd, path: path}
	return errors.Join(f.DropCache(), f.Close())
}
