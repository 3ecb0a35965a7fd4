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
	small := func(data string) error {
		conf := filepath.Join(filepath.Dir(data), "my.cnf")
		if err := os.WriteFile(conf, []byte("[mysqld]\ninnodb_log_file_size = 4M\n"), 0o644); err != nil {
			return err
		}
		return install(conf, data)
	}
	return b.fill(template{kind: "mariadb-data", program: program, install: small, finish: flush}, data, whole)
}

// fillPostgres makes a data directory as initdb does with args, as a copy unless they name a file, which one test has.
func (b *Box) fillPostgres(initdb, data string, args []string, install func(data string) error) error {
	if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "file=") }) {
		return install(data)
	}
	return b.fill(template{kind: "postgres-data", program: initdb, args: args, install: install, finish: identify}, data, install)
}

// template is what a program makes of an empty directory. It takes seconds and always gives the same, so it is made once,
// kept in the tests' cache and copied.
type template struct {
	kind, program string
	args          []string
	install       func(data string) error // makes it
	finish        func(data string) error // what is left to do with a copy
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
	if _, err := output(b.asServer(exec.Command("cp", "-r", "--preserve=mode", "--sparse=never", made+"/.", data))); err != nil {
		return err
	}
	return from.finish(data)
}

// made gives the data directory of a template, for the servers' user.
func (b *Box) made(from template) (string, error) {
	dir, err := b.templateDir(from)
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	return data, once(dir, data, func() error { return b.makeTemplate(from, dir) })
}

// templateDir says where a template belongs. That of another program, as after an upgrade, belongs elsewhere.
func (b *Box) templateDir(from template) (string, error) {
	st, err := os.Stat(from.program)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %d %q", from.program, st.Size(), st.ModTime().UnixNano(), b.uid, from.args))
	dir, err := cacheDir(from.kind)
	return filepath.Join(dir, fmt.Sprintf("%x", key[:8])), err
}

// makeTemplate makes a template under a name that is used once, and gives it its own when it is whole: the program that a
// killed test started may still be writing. The caller holds the lock, so what has such a name is of killed tests.
func (b *Box) makeTemplate(from template, dir string) error {
	left, _ := filepath.Glob(dir + ".begun-*")
	for _, l := range left {
		_ = os.RemoveAll(l) // else by the next
	}
	begun, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".begun-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(begun)
	data := filepath.Join(begun, "data")
	if err := errors.Join(os.Chmod(begun, 0o755), os.Mkdir(data, 0o750), os.Chown(data, b.uid, b.gid)); err != nil {
		return err
	}
	if err := errors.Join(from.install(data), flush(begun)); err != nil {
		return err
	}
	return os.Rename(begun, dir)
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
