package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
)

const (
	rootDir  = "root-bookworm" // in the cache
	rootDone = "bin/plumb-has-read-the-archive"
)

// DebianRoot gives the directory of Debian bookworm's least system, whose apt has
// read the archive. It belongs to all tests: mount something over it to write to.
func DebianRoot() (string, error) {
	if os.Getuid() != 0 {
		return "", Missing{"needs root to make a Debian of its own", "run as root"}
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", Missing{"needs debootstrap", "apt-get install debootstrap"}
	}
	dir, err := cacheDir(rootDir)
	if err != nil {
		return "", err
	}
	return dir, once(dir, filepath.Join(dir, rootDone), func() error { return debootstrap(dir) })
}

func debootstrap(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if _, err := output(exec.Command("debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", dir, debian)); err != nil {
		return Missing{"no Debian can be made: " + err.Error(), "run where Debian's packages can be reached"}
	}
	files := map[string]string{"etc/apt/sources.list": "deb " + debian + " bookworm main contrib\n", "etc/hosts": "127.0.0.1 localhost\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := output(exec.Command("chroot", dir, "apt-get", "-q", "update")); err != nil {
		return Missing{"the archive cannot be read: " + err.Error(), "run where Debian's packages can be reached"}
	}
	return os.WriteFile(filepath.Join(dir, rootDone), []byte("#!/bin/sh\n"), 0o755)
}
