package hosttest

import (
	"context"
	"fmt"
	"io/fs"

	"plumb/internal/host"
)

// doer gives the doer behind, after the fault of the call.
func (f *Faulty) doer(ctx context.Context, op string, of ...string) (host.Doer, Fault, error) {
	fault, err := f.fault(ctx, op, of...)
	if err != nil {
		return nil, fault, err
	}
	d, ok := f.r.(host.Doer)
	if !ok {
		return nil, fault, fmt.Errorf("%s %v: %w", op, of, host.ErrRefused)
	}
	return d, fault, nil
}

// Raw implements host.Doer.
func (f *Faulty) Raw(ctx context.Context, name string) ([]byte, error) {
	d, fault, err := f.doer(ctx, "file", name)
	if err != nil {
		return nil, err
	}
	data, err := d.Raw(ctx, name)
	return cut(fault, data, err)
}

// Replace implements host.Doer.
func (f *Faulty) Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	d, _, err := f.doer(ctx, "replace", name)
	if err != nil {
		return err
	}
	return d.Replace(ctx, name, data, perm)
}

// Tidy implements host.Doer.
func (f *Faulty) Tidy(ctx context.Context, name string) error {
	d, _, err := f.doer(ctx, "tidy", name)
	if err != nil {
		return err
	}
	return d.Tidy(ctx, name)
}

// Remove implements host.Doer.
func (f *Faulty) Remove(ctx context.Context, name string) error {
	d, _, err := f.doer(ctx, "remove", name)
	if err != nil {
		return err
	}
	return d.Remove(ctx, name)
}

// MakeDir implements host.Doer.
func (f *Faulty) MakeDir(ctx context.Context, name string, perm fs.FileMode, uid, gid int) error {
	d, _, err := f.doer(ctx, "make directory", name)
	if err != nil {
		return err
	}
	return d.MakeDir(ctx, name, perm, uid, gid)
}

// Rename implements host.Doer.
func (f *Faulty) Rename(ctx context.Context, from, to string) error {
	d, _, err := f.doer(ctx, "rename", from, to)
	if err != nil {
		return err
	}
	return d.Rename(ctx, from, to)
}

// Append implements host.Doer.
func (f *Faulty) Append(ctx context.Context, name string, data []byte) error {
	d, _, err := f.doer(ctx, "append", name)
	if err != nil {
		return err
	}
	return d.Append(ctx, name, data)
}

// Write implements host.Doer.
func (f *Faulty) Write(ctx context.Context, name string, data []byte) error {
	d, _, err := f.doer(ctx, "write", name)
	if err != nil {
		return err
	}
	return d.Write(ctx, name, data)
}

// Run implements host.Doer.
func (f *Faulty) Run(ctx context.Context, argv ...string) ([]byte, error) {
	d, fault, err := f.doer(ctx, "do", argv...)
	if err != nil {
		return nil, err
	}
	out, err := d.Run(ctx, argv...)
	return cut(fault, out, err)
}

// Exec implements host.Doer.
func (f *Faulty) Exec(ctx context.Context, t host.Target, statement string) error {
	d, _, err := f.doer(ctx, "exec", t.Name, statement)
	if err != nil {
		return err
	}
	return d.Exec(ctx, t, statement)
}

// Writable implements host.Doer.
func (f *Faulty) Writable(ctx context.Context, name string) error {
	d, _, err := f.doer(ctx, "writable", name)
	if err != nil {
		return err
	}
	return d.Writable(ctx, name)
}

// Lock implements host.Doer.
func (f *Faulty) Lock(ctx context.Context, name string) (func(), error) {
	d, _, err := f.doer(ctx, "lock", name)
	if err != nil {
		return nil, err
	}
	return d.Lock(ctx, name)
}
