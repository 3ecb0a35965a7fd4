package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// shapes tells of settings whether a data directory has to be made with them. The size of the redo log is none: a server
// that starts makes it as large as it shall be.
var shapes = regexp.MustCompile(`(?m)^\s*(innodb_(page_size|data_|undo_|log_group|encrypt|force)|aria_|lower_case_)`).MatchString

// fillMariaDB makes a data directory with the system tables. Making them takes seconds and always gives the same, so they
// are made once, kept in the tests' cache and copied, unless a setting shapes them. The demo leaves nothing behind.
func (b *Box) fillMariaDB(program, conf, data, settings string, install func(conf, data string) error) error {
	if shapes(settings) || !testing.Testing() {
		return install(conf, data)
	}
	from, err := b.template(program, install)
	if errors.Is(err, os.ErrPermission) { // the cache is another user's
		return install(conf, data)
	}
	if err != nil {
		return err
	}
	if _, err := output(b.asServer(exec.Command("cp", "-r", "--preserve=mode", "--sparse=never", from+"/.", data))); err != nil {
		return err
	}
	return flush(data)
}

// template gives a data directory that a program of MariaDB made, for the servers' user.
func (b *Box) template(program string, install func(conf, data string) error) (string, error) {
	st, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %d", program, st.Size(), st.ModTime().UnixNano(), b.uid))
	dir, err := cacheDir("mariadb-data")
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, fmt.Sprintf("%x", key[:8]))
	data, made := filepath.Join(dir, "data"), filepath.Join(dir, "made")
	return data, once(dir, made, func() error {
		conf := filepath.Join(dir, "my.cnf")
		err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.Mkdir(data, 0o750), os.Chown(data, b.uid, b.gid),
			os.WriteFile(conf, []byte("[mysqld]\ninnodb_log_file_size = 4M\n"), 0o644))
		if err == nil {
			err = install(conf, data)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(made, nil, 0o755)
	})
}

// flush writes what a filesystem has in memory, once and not file by file.
func flush(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
