package dir

import (
	"errors"
	"io/fs"
	"path"
)

// grow makes a directory, and those above it that are not there, with names that last: when a directory's name goes with the power, so
// does what was kept in it. Nobody finds one there of this process before its name is on the disk.
func (d *Dir) grow(dir string) error {
	d.growing.Lock()
	defer d.growing.Unlock()
	return d.under(dir)
}

func (d *Dir) under(dir string) error {
	if _, err := d.root.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := path.Dir(dir)
	if err := d.under(above); err != nil {
		return err
	}
	if err := d.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err := d.sync(above)
	if err != nil {
		err = errors.Join(err, d.root.Remove(dir)) // or it would be taken for one that lasts
	}
	return err
}
