package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/fetch"
	"plumb/test/locked"
)

// PostgresTree gives the bin directory of an unpacked PostgreSQL of a major
// version, fetched from Maven Central once and kept in the tests' cache.
func PostgresTree(major string) (string, error) {
	r, ok := fetch.PostgreSQL(major)
	if !ok {
		return "", fmt.Errorf("no PostgreSQL %s among the known builds", major)
	}
	dir, err := tree(r)
	return filepath.Join(dir, "bin"), err
}

// MariaDBTree gives the base directory of an unpacked MariaDB 11.4 from Maven
// Central, kept in the tests' cache.
func MariaDBTree() (string, error) {
	r, ok := fetch.MariaDB("11.4")
	if !ok {
		return "", Missing{"no MariaDB 11.4 for this processor", "run on x86-64"}
	}
	dir, err := tree(r)
	if err != nil {
		return "", err
	}
	bases, err := filepath.Glob(filepath.Join(dir, r.Base))
	if err != nil || len(bases) == 0 {
		return "", errors.Join(fmt.Errorf("no %s in %s", r.Base, dir), err)
	}
	return bases[0], nil
}

func tree(r fetch.Release) (string, error) {
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	defer doer.Close()
	dir, err := fetch.Store{Dir: Cache()}.Tree(context.Background(), doer, r)
	if err != nil {
		return "", Missing{err.Error(), "run where Maven Central can be reached, with tar and xz-utils"}
	}
	return dir, nil
}

// Cache is where the tests keep servers: outside the project, so that a clean
// clone need not fetch again, and for another user to read, who runs them.
func Cache() string {
	if root := os.Getenv("PLUMB_TEST_CACHE"); root != "" {
		return root
	}
	return "/var/tmp/plumb-test-cache"
}

func cacheDir(name string) (string, error) {
	dir := filepath.Join(Cache(), name)
	return dir, os.MkdirAll(dir, 0o755)
}

// once fetches what is not in the cache yet: without a program, or a directory, that is there when all is. The tests of
// several packages run at the same time, and want the same server.
func once(dir, program string, fetch func() error) error {
	lock, err := locked.File(dir + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	if executable(program) {
		return nil
	}
	return fetch()
}

func download(url, path string) error {
	client := http.Client{Timeout: 5 * time.Minute}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return writeAll(path, resp.Body, 0o644)
}

func writeAll(path string, r io.Reader, perm os.FileMode) error {
	w, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
