package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Under is a doer whose files all lie below one directory, such as an
// unpacked image: links cannot lead out of it. Nothing runs there, so
// commands and queries are refused.
type Under struct {
	d   Doer
	dir string
}

var _ Doer = (*Under)(nil)

// NewUnder shows the directory dir of d as a machine of its own.
func NewUnder(d Doer, dir string) *Under { return &Under{d: d, dir: filepath.Clean(dir)} }

// at gives the real path of a name in there, with all links resolved inside.
func (u *Under) at(name string) (string, error) {
	if !strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("%s: %w: not an absolute path", name, ErrRefused)
	}
	there := existing(u.dir, name)
	real, err := walk(u.dir, u.dir, there, true)
	if err != nil {
		return "", fmt.Errorf("look up %s below %s: %w", name, u.dir, err)
	}
	missing, err := filepath.Rel(there, filepath.Clean(name))
	if err != nil || missing == "." {
		return real, err
	}
	first, _, _ := strings.Cut(missing, "/")
	if _, err := os.Lstat(filepath.Join(real, first)); err == nil {
		return "", fmt.Errorf("look up %s below %s: %w: a link there leads nowhere inside", name, u.dir, ErrRefused)
	}
	return filepath.Join(real, missing), nil
}

// inside gives the name in there of a real path.
func (u *Under) inside(real string) string {
	if u.dir == "/" {
		return real
	}
	return strings.TrimPrefix(real, u.dir)
}

// existing gives the part of a path that is there: what is to be made cannot
// be resolved.
func existing(dir, name string) string {
	for at := filepath.Clean(name); at != "/"; at = filepath.Dir(at) {
		if real, err := walk(dir, dir, at, true); err == nil && real != "" {
			return at
		}
	}
	return "/"
}

// About implements Reader.
func (u *Under) About() About { return u.d.About() }

// ReadFile implements Reader.
func (u *Under) ReadFile(ctx context.Context, name string) ([]byte, error) {
	at, err := u.at(name)
	if err != nil {
		return nil, err
	}
	return u.d.ReadFile(ctx, at)
}

// Raw implements Doer.
func (u *Under) Raw(ctx context.Context, name string) ([]byte, error) {
	at, err := u.at(name)
	if err != nil {
		return nil, err
	}
	return u.d.Raw(ctx, at)
}

// Glob implements Reader. Patterns of directories that are links find nothing.
func (u *Under) Glob(ctx context.Context, pattern string) ([]string, error) {
	found, err := u.d.Glob(ctx, u.dir+pattern)
	for i, f := range found {
		found[i] = u.inside(f)
	}
	return found, err
}

// Stat implements Reader.
func (u *Under) Stat(ctx context.Context, name string) (Stat, error) {
	at, err := u.at(name)
	if err != nil {
		return Stat{}, err
	}
	st, err := u.d.Stat(ctx, at)
	st.Resolved = u.inside(st.Resolved)
	return st, err
}

// Readlink implements Reader.
func (u *Under) Readlink(ctx context.Context, name string) (string, error) {
	parent, err := u.at(filepath.Dir(name))
	if err != nil {
		return "", err
	}
	return u.d.Readlink(ctx, filepath.Join(parent, filepath.Base(name)))
}

// Statfs implements Reader.
func (u *Under) Statfs(ctx context.Context, name string) (Statfs, error) {
	at, err := u.at(name)
	if err != nil {
		return Statfs{}, err
	}
	return u.d.Statfs(ctx, at)
}

// Output implements Reader: nothing runs in an image.
func (u *Under) Output(_ context.Context, argv ...string) ([]byte, error) {
	return nil, fmt.Errorf("run %s below %s: %w", strings.Join(argv, " "), u.dir, ErrNoCommand)
}

// Query implements Reader: nothing runs in an image.
func (u *Under) Query(_ context.Context, t Target, _ string) (Rows, error) {
	return Rows{}, fmt.Errorf("query %s below %s: %w", t.Name, u.dir, ErrDown)
}

// Replace implements Doer.
func (u *Under) Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	at, err := u.at(name)
	if err != nil {
		return err
	}
	return u.d.Replace(ctx, at, data, perm)
}

// Tidy implements Doer.
func (u *Under) Tidy(ctx context.Context, name string) error {
	at, err := u.at(name)
	if err != nil {
		return err
	}
	return u.d.Tidy(ctx, at)
}

// Remove implements Doer.
func (u *Under) Remove(ctx context.Context, name string) error {
	at, err := u.at(name)
	if err != nil {
		return err
	}
	return u.d.Remove(ctx, at)
}

// Append implements Doer.
func (u *Under) Append(ctx context.Context, name string, data []byte) error {
	at, err := u.at(name)
	if err != nil {
		return err
	}
	return u.d.Append(ctx, at, data)
}

// Write implements Doer.
func (u *Under) Write(ctx context.Context, name string, data []byte) error {
	at, err := u.at(name)
	if err != nil {
		return err
	}
	return u.d.Write(ctx, at, data)
}

// Run implements Doer: nothing runs in an image.
func (u *Under) Run(_ context.Context, argv ...string) ([]byte, error) {
	return nil, fmt.Errorf("run %s below %s: %w", strings.Join(argv, " "), u.dir, ErrNoCommand)
}

// Exec implements Doer: nothing runs in an image.
func (u *Under) Exec(_ context.Context, t Target, _ string) error {
	return fmt.Errorf("execute on %s below %s: %w", t.Name, u.dir, ErrDown)
}

// Writable implements Doer.
func (u *Under) Writable(ctx context.Context, name string) error {
	at, err := u.at(name)
	if err != nil {
		return err
	}
	return u.d.Writable(ctx, at)
}

// Lock implements Doer.
func (u *Under) Lock(ctx context.Context, name string) (func(), error) {
	at, err := u.at(name)
	if err != nil {
		return nil, err
	}
	return u.d.Lock(ctx, at)
}
