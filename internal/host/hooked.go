package host

import (
	"context"
	"io/fs"
)

// Hooked is a doer that passes calls on to another, and lets somebody watch, change or withhold each of them.
type Hooked struct {
	Behind Doer
	// At maps the name of a file to the one that is passed on; nil for the same name. The names for Glob and Readlink are not mapped.
	At func(name string) (string, error)
	// Around is called in place of each call, and makes it with do, or does not; nil to make all of them.
	Around func(ctx context.Context, c Call, do func() error) error
}

func hooked[T any](ctx context.Context, h *Hooked, op string, of []string, do func() (T, error)) (v T, err error) {
	if h.Around == nil {
		return do()
	}
	err = h.Around(ctx, Call{op, of}, func() (err error) { v, err = do(); return err })
	return v, err
}

// hookedFile makes a call on a file, under the name that At maps it to.
func hookedFile[T any](ctx context.Context, h *Hooked, op, name string, do func(at string) (T, error)) (v T, err error) {
	if h.At != nil {
		if name, err = h.At(name); err != nil {
			return v, err
		}
	}
	return hooked(ctx, h, op, []string{name}, func() (T, error) { return do(name) })
}

func (h *Hooked) file(ctx context.Context, op, name string, do func(at string) error) error {
	_, err := hookedFile(ctx, h, op, name, func(at string) (struct{}, error) { return struct{}{}, do(at) })
	return err
}

// About implements Reader.
func (h *Hooked) About() About { return h.Behind.About() }

// ReadFile implements Reader.
func (h *Hooked) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return hookedFile(ctx, h, OpFile, name, func(at string) ([]byte, error) { return h.Behind.ReadFile(ctx, at) })
}

// Glob implements Reader.
func (h *Hooked) Glob(ctx context.Context, pattern string) ([]string, error) {
	return hooked(ctx, h, OpGlob, []string{pattern}, func() ([]string, error) { return h.Behind.Glob(ctx, pattern) })
}

// Stat implements Reader.
func (h *Hooked) Stat(ctx context.Context, name string) (Stat, error) {
	return hookedFile(ctx, h, OpStat, name, func(at string) (Stat, error) { return h.Behind.Stat(ctx, at) })
}

// Readlink implements Reader.
func (h *Hooked) Readlink(ctx context.Context, name string) (string, error) {
	return hooked(ctx, h, OpLink, []string{name}, func() (string, error) { return h.Behind.Readlink(ctx, name) })
}

// Statfs implements Reader.
func (h *Hooked) Statfs(ctx context.Context, name string) (Statfs, error) {
	return hookedFile(ctx, h, OpStatfs, name, func(at string) (Statfs, error) { return h.Behind.Statfs(ctx, at) })
}

// Output implements Reader.
func (h *Hooked) Output(ctx context.Context, argv ...string) ([]byte, error) {
	return hooked(ctx, h, OpRun, argv, func() ([]byte, error) { return h.Behind.Output(ctx, argv...) })
}

// Query implements Reader.
func (h *Hooked) Query(ctx context.Context, t Target, query string) (Rows, error) {
	return hooked(ctx, h, OpQuery, []string{t.Name, query}, func() (Rows, error) { return h.Behind.Query(ctx, t, query) })
}

// Raw implements Doer.
func (h *Hooked) Raw(ctx context.Context, name string) ([]byte, error) {
	return hookedFile(ctx, h, "raw", name, func(at string) ([]byte, error) { return h.Behind.Raw(ctx, at) })
}

// Replace implements Doer.
func (h *Hooked) Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return h.file(ctx, "replace", name, func(at string) error { return h.Behind.Replace(ctx, at, data, perm) })
}

// Tidy implements Doer.
func (h *Hooked) Tidy(ctx context.Context, name string) error {
	return h.file(ctx, "tidy", name, func(at string) error { return h.Behind.Tidy(ctx, at) })
}

// Remove implements Doer.
func (h *Hooked) Remove(ctx context.Context, name string) error {
	return h.file(ctx, "remove", name, func(at string) error { return h.Behind.Remove(ctx, at) })
}

// MakeDir implements Doer.
func (h *Hooked) MakeDir(ctx context.Context, name string, perm fs.FileMode, uid, gid int) error {
	return h.file(ctx, "make directory", name, func(at string) error { return h.Behind.MakeDir(ctx, at, perm, uid, gid) })
}

// Rename implements Doer.
func (h *Hooked) Rename(ctx context.Context, from, to string) (err error) {
	if h.At != nil {
		if to, err = h.At(to); err != nil {
			return err
		}
	}
	return h.file(ctx, "rename", from, func(at string) error { return h.Behind.Rename(ctx, at, to) })
}

// Append implements Doer.
func (h *Hooked) Append(ctx context.Context, name string, data []byte) error {
	return h.file(ctx, "append", name, func(at string) error { return h.Behind.Append(ctx, at, data) })
}

// Write implements Doer.
func (h *Hooked) Write(ctx context.Context, name string, data []byte) error {
	return h.file(ctx, "write", name, func(at string) error { return h.Behind.Write(ctx, at, data) })
}

// Run implements Doer.
func (h *Hooked) Run(ctx context.Context, argv ...string) ([]byte, error) {
	return hooked(ctx, h, "do", argv, func() ([]byte, error) { return h.Behind.Run(ctx, argv...) })
}

// Exec implements Doer.
func (h *Hooked) Exec(ctx context.Context, t Target, statement string) error {
	_, err := hooked(ctx, h, "exec", []string{t.Name, statement}, func() (any, error) { return nil, h.Behind.Exec(ctx, t, statement) })
	return err
}

// Writable implements Doer.
func (h *Hooked) Writable(ctx context.Context, name string) error {
	return h.file(ctx, "writable", name, func(at string) error { return h.Behind.Writable(ctx, at) })
}

// Lock implements Doer.
func (h *Hooked) Lock(ctx context.Context, name string) (func(), error) {
	return hookedFile(ctx, h, "lock", name, func(at string) (func(), error) { return h.Behind.Lock(ctx, at) })
}

// Step makes a change of files that is no method of Doer, such as those of package tree, and lets Around see it.
func (h *Hooked) Step(ctx context.Context, op, name string, do func() error) error {
	return h.file(ctx, op, name, func(string) error { return do() })
}

// Step makes a change of files that is no method of Doer, such as those of package tree. If d is a Hooked its Around sees it.
func Step(ctx context.Context, d Doer, op, name string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s, ok := d.(interface {
		Step(ctx context.Context, op, name string, do func() error) error
	}); ok {
		return s.Step(ctx, op, name, do)
	}
	return do()
}
