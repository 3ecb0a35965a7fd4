// Package chroot shows a directory as a machine of its own.
package chroot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/walk"
)

// Doer is a doer whose files all lie below one directory, such as an
// unpacked image: links cannot lead out of it. Nothing runs there, so
// commands and queries are refused.
type Doer struct {
	host.Hooked
	dir string
}

var _ host.Doer = (*Doer)(nil)

// New shows the directory dir of d as a machine of its own.
func New(d host.Doer, dir string) *Doer {
	u := &Doer{host.Hooked{Behind: d}, filepath.Clean(dir)}
	u.At = u.at
	return u
}

// at gives the real path of a name in there, with all links resolved inside.
func (u *Doer) at(name string) (string, error) {
	if !strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("%s: %w: not an absolute path", name, host.ErrRefused)
	}
	there := existing(u.dir, name)
	real, err := walk.Resolve(u.dir, u.dir, there, true)
	if err != nil {
		return "", fmt.Errorf("look up %s below %s: %w", name, u.dir, err)
	}
	missing, err := filepath.Rel(there, filepath.Clean(name))
	if err != nil || missing == "." {
		return real, err
	}
	first, _, _ := strings.Cut(missing, "/")
	if _, err := os.Lstat(filepath.Join(real, first)); err == nil {
		return "", fmt.Errorf("look up %s below %s: %w: a link there leads nowhere inside", name, u.dir, host.ErrRefused)
	}
	return filepath.Join(real, missing), nil
}

// inside gives the name in there of a real path.
func (u *Doer) inside(real string) string {
	if u.dir == "/" {
		return real
	}
	return strings.TrimPrefix(real, u.dir)
}

// existing gives the part of a path that is there: what is to be made cannot
// be resolved.
func existing(dir, name string) string {
	for at := filepath.Clean(name); at != "/"; at = filepath.Dir(at) {
		if real, err := walk.Resolve(dir, dir, at, true); err == nil && real != "" {
			return at
		}
	}
	return "/"
}

// Glob implements host.Reader. Patterns of directories that are links find nothing.
func (u *Doer) Glob(ctx context.Context, pattern string) ([]string, error) {
	found, err := u.Behind.Glob(ctx, host.Verbatim(u.dir)+pattern)
	for i, f := range found {
		found[i] = u.inside(f)
	}
	return found, err
}

// Stat implements host.Reader.
func (u *Doer) Stat(ctx context.Context, name string) (host.Stat, error) {
	at, err := u.at(name)
	if err != nil {
		return host.Stat{}, err
	}
	st, err := u.Behind.Stat(ctx, at)
	st.Resolved = u.inside(st.Resolved)
	return st, err
}

// Readlink implements host.Reader.
func (u *Doer) Readlink(ctx context.Context, name string) (string, error) {
	parent, err := u.at(filepath.Dir(name))
	if err != nil {
		return "", err
	}
	return u.Behind.Readlink(ctx, filepath.Join(parent, filepath.Base(name)))
}

// Output implements host.Reader: nothing runs in an image.
func (u *Doer) Output(_ context.Context, argv ...string) ([]byte, error) {
	return nil, fmt.Errorf("run %s below %s: %w", strings.Join(argv, " "), u.dir, host.ErrNoCommand)
}

// Query implements host.Reader: nothing runs in an image.
func (u *Doer) Query(_ context.Context, t host.Target, _ string) (host.Rows, error) {
	return host.Rows{}, fmt.Errorf("query %s below %s: %w", t.Name, u.dir, host.ErrDown)
}

// Run implements host.Doer: nothing runs in an image.
func (u *Doer) Run(_ context.Context, argv ...string) ([]byte, error) {
	return nil, fmt.Errorf("run %s below %s: %w", strings.Join(argv, " "), u.dir, host.ErrNoCommand)
}

// Exec implements host.Doer: nothing runs in an image.
func (u *Doer) Exec(_ context.Context, t host.Target, _ string) error {
	return fmt.Errorf("execute on %s below %s: %w", t.Name, u.dir, host.ErrDown)
}
