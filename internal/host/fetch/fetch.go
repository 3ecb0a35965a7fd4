// Package fetch gets server programs that are not installed from Maven Central
// and keeps them unpacked in a cache. It is bounded in bytes and time, compares
// checksums, shows a tree only when it is whole, and lets one process fetch a
// tree while others wait for it.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Limits of one fetch.
const (
	fetchTime   = 15 * time.Minute
	jarMost     = 400 << 20 // bytes; MariaDB's has 149 MB
	treeMost    = 3 << 30   // bytes unpacked
	membersMost = 50_000
)

// Store is a directory of unpacked servers.
type Store struct {
	Dir    string       // made when missing, for all to read: servers run as another user
	From   string       // address of the repository, with a slash at its end; "" for Maven Central
	Client *http.Client // nil for the usual one
}

// Directory is where servers are kept: $PLUMB_CACHE, or else /var/cache/plumb
// for root, whose own cache no server's user can read, and plumb in the user's
// cache directory. It is asked for here because the environment is the
// machine's.
func Directory() (string, error) {
	if dir := os.Getenv("PLUMB_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return "/var/cache/plumb", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", hint.With(fmt.Errorf("find the cache directory: %w", err), "set PLUMB_CACHE")
	}
	return filepath.Join(dir, "plumb"), nil
}

// Tree gives the directory of an unpacked server, and fetches it when it is
// not there yet. Errors have hints.
func (s Store) Tree(ctx context.Context, d host.Doer, r Release) (string, error) {
	dir := filepath.Join(s.Dir, r.Name)
	if s.whole(dir, r) {
		return dir, nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	if err := public(s.Dir); err != nil {
		return "", hint.With(fmt.Errorf("make the cache: %w", err), "set PLUMB_CACHE to a directory that can be written")
	}
	unlock, err := host.LockWithin(ctx, d, dir+".lock", fetchTime)
	if err != nil {
		return "", fmt.Errorf("wait for another process that fetches the same: %w", err)
	}
	defer unlock()
	if s.whole(dir, r) {
		return dir, nil
	}
	if err := s.fetch(ctx, d, r, dir); err != nil {
		return "", fmt.Errorf("fetch %s: %w", r.Name, err)
	}
	return dir, nil
}

// whole tells whether a tree is there. It is given its name when it is
// complete, so its program is enough of a proof.
func (s Store) whole(dir string, r Release) bool {
	found, err := filepath.Glob(filepath.Join(host.Verbatim(dir), r.Program))
	return err == nil && len(found) > 0
}

// fetch unpacks beside the tree's place and then renames.
func (s Store) fetch(ctx context.Context, d host.Doer, r Release, dir string) error {
	beside := filepath.Join(s.Dir, "."+r.Name+".new") // we have the lock: one that is there was left by a killed Plumb
	if err := os.RemoveAll(beside); err != nil {
		return err
	}
	defer os.RemoveAll(beside) // is gone when all went well
	if err := os.Mkdir(beside, 0o755); err != nil {
		return err
	}
	jar := filepath.Join(beside, "download.jar")
	if err := s.download(ctx, cmp.Or(s.From, mavenCentral)+r.Path, r.Sum, jar); err != nil {
		return err
	}
	if err := unpack(ctx, d, jar, beside, r.Wanted); err != nil {
		return err
	}
	if err := os.Remove(jar); err != nil {
		return err
	}
	if !s.whole(beside, r) {
		return fmt.Errorf("no %s in %s", r.Program, r.Path)
	}
	if err := open(beside); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // not whole
		return err
	}
	return os.Rename(beside, dir)
}

// open lets everybody read a tree and run its programs, whatever the umask was
// and the archive said.
func open(tree string) error {
	return filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode&^0o022)
	})
}

// public makes a directory that others can read, whatever the umask is. One
// that is there is left as it is.
func public(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if up := filepath.Dir(dir); up != dir {
		if err := public(up); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}
