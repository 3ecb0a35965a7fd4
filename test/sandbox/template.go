package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// shapes tells of settings whether a data directory has to be made with them. The size of the redo log is none: a server
// that starts makes it as large as it shall be.
var shapes = regexp.MustCompile(`(?m)^\s*(innodb_(page_size|data_|undo_|log_group|encrypt|force)|aria_|lower_case_)`).MatchString

// fillMariaDB makes a data directory with the system tables, as a copy unless a setting shapes them.
func (b *Box) fillMariaDB(program, conf, data, settings string, install func(conf, data string) error) error {
	whole := func(data string) error { return install(conf, data) }
	if shapes(settings) {
		return whole(data)
	}
	err := b.fill(template{"mariadb-data", program, nil, func(data string) error {
		small := filepath.Join(filepath.Dir(data), "my.cnf")
		if err := os.WriteFile(small, []byte("[mysqld]\ninnodb_log_file_size = 4M\n"), 0o644); err != nil {
			return err
		}
		return install(small, data)
	}}, data, whole)
	if err != nil {
		return err
	}
	return flush(data)
}

// fillPostgres makes a data directory as initdb does with args. The first of a box is a copy; the others are not, since
// servers are told apart by the system identifier, which initdb draws. A file that is named is of one test alone.
func (b *Box) fillPostgres(initdb, data string, args []string, install func(data string) error) error {
	b.clusters++
	if b.clusters > 1 || slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "file=") }) {
		return install(data)
	}
	return b.fill(template{"postgres-data", initdb, args, install}, data, install)
}

// template is what a program makes of an empty directory. It takes seconds and always gives the same, so it is made once,
// kept in the tests' cache and copied.
type template struct {
	kind, program string
	args          []string
	install       func(data string) error
}

// fill makes a data directory as a copy of a template, or installs one: where the cache is another user's, and for the
// demo, which leaves nothing behind.
func (b *Box) fill(from template, data string, install func(data string) error) error {
	if !testing.Testing() {
		return install(data)
	}
	made, err := b.made(from)
	if errors.Is(err, os.ErrPermission) {
		return install(data)
	}
	if err != nil {
		return err
	}
	_, err = output(b.asServer(exec.Command("cp", "-r", "--preserve=mode", "--sparse=never", made+"/.", data)))
	return err
}

// made gives the data directory of a template, for the servers' user.
func (b *Box) made(from template) (string, error) {
	st, err := os.Stat(from.program)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %d%q", from.program, st.Size(), st.ModTime().UnixNano(), b.uid, from.args))
	dir, err := cacheDir(from.kind)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, fmt.Sprintf("%x", key[:8]))
	data, done := filepath.Join(dir, "data"), filepath.Join(dir, "made")
	return data, once(dir, done, func() error {
		err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.Mkdir(data, 0o750), os.Chown(data, b.uid, b.gid))
		if err == nil {
			err = from.install(data)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(done, nil, 0o755)
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
