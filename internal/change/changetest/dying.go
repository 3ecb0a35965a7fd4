// Package changetest is the conformance suite that every setter passes, and
// the machine that dies at every single operation.
package changetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"plumb/internal/host"
)

// errDead is what a machine answers that has lost its power.
var errDead = errors.New("the machine is dead")

// death is the moment at which a machine dies.
type death struct {
	at   int  // the changing operation, from 1; 0: never
	when when // before it, after it, or amid the writing of the journal
}

type when int

const (
	before when = iota
	after
	torn // half of what is appended reaches the disk; for other operations like before
)

// dying passes on to a doer until its time comes: from then on nothing works,
// as when the power is gone. What was done stays done.
type dying struct {
	host.Doer
	death
	n    int
	dead atomic.Bool // a copy reads and writes at the same time
}

var _ host.Streamer = (*dying)(nil)

// step counts one changing operation.
func (d *dying) step(do func() error) error {
	if d.dead.Load() {
		return errDead
	}
	d.n++
	if d.n != d.at {
		return do()
	}
	d.dead.Store(true)
	if d.when == after {
		_ = do() // nobody is left to hear of an error
	}
	return errDead
}

func (d *dying) Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return d.step(func() error { return d.Doer.Replace(ctx, name, data, perm) })
}

func (d *dying) Remove(ctx context.Context, name string) error {
	return d.step(func() error { return d.Doer.Remove(ctx, name) })
}

// torn tells whether the machine dies now, amid an operation that does its half before.
func (d *dying) torn(half func() error) bool {
	if d.dead.Load() || d.n+1 != d.at || d.when != torn {
		return false
	}
	d.n++
	_ = half() // nobody is left to hear of an error
	d.dead.Store(true)
	return true
}

func (d *dying) MakeDir(ctx context.Context, name string, perm fs.FileMode, uid, gid int) error {
	if d.torn(func() error { return d.Doer.MakeDir(ctx, name, 0o700, -1, -1) }) {
		return errDead
	}
	return d.step(func() error { return d.Doer.MakeDir(ctx, name, perm, uid, gid) })
}

func (d *dying) Rename(ctx context.Context, from, to string) error {
	return d.step(func() error { return d.Doer.Rename(ctx, from, to) })
}

// Pipe implements host.Streamer. What dies amid one has passed on a part of what
// it was given, or removed a part of what was to be removed. A reading command is
// no operation, and can be run at the same time as another.
func (d *dying) Pipe(ctx context.Context, p host.Pipe) (flow host.Flow, err error) {
	s, ok := d.Doer.(host.Streamer)
	if !ok {
		return flow, host.ErrNoCommand
	}
	if p.In == nil && p.Argv[0] != "rm" {
		if d.dead.Load() {
			return flow, errDead
		}
		return s.Pipe(ctx, p)
	}
	half := p
	if p.In != nil {
		half.In = io.LimitReader(p.In, 3<<19)
	} else {
		half.Argv = []string{"find", p.Argv[len(p.Argv)-1], "-type", "f", "-delete"}
	}
	if d.torn(func() error { _, err := s.Pipe(ctx, half); return err }) {
		return flow, errDead
	}
	err = d.step(func() error { flow, err = s.Pipe(ctx, p); return err })
	return flow, err
}

func (d *dying) Append(ctx context.Context, name string, data []byte) error {
	if d.torn(func() error { return d.Doer.Append(ctx, name, data[:len(data)/2]) }) {
		return errDead
	}
	return d.step(func() error { return d.Doer.Append(ctx, name, data) })
}

func (d *dying) Write(ctx context.Context, name string, data []byte) error {
	return d.step(func() error { return d.Doer.Write(ctx, name, data) })
}

func (d *dying) Run(ctx context.Context, argv ...string) (out []byte, err error) {
	err = d.step(func() error { out, err = d.Doer.Run(ctx, argv...); return err })
	return out, err
}

func (d *dying) Exec(ctx context.Context, t host.Target, statement string) error {
	return d.step(func() error { return d.Doer.Exec(ctx, t, statement) })
}

func (d *dying) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	if d.dead.Load() {
		return host.Rows{}, errDead
	}
	return d.Doer.Query(ctx, t, query)
}

func (d *dying) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Doer.Output(ctx, argv...)
}

func (d *dying) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Doer.ReadFile(ctx, name)
}

func (d *dying) Stat(ctx context.Context, name string) (host.Stat, error) {
	if d.dead.Load() {
		return host.Stat{}, errDead
	}
	return d.Doer.Stat(ctx, name)
}

func (d *dying) Readlink(ctx context.Context, name string) (string, error) {
	if d.dead.Load() {
		return "", errDead
	}
	return d.Doer.Readlink(ctx, name)
}

func (d *dying) Glob(ctx context.Context, pattern string) ([]string, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Doer.Glob(ctx, pattern)
}

func (d *dying) Raw(ctx context.Context, name string) ([]byte, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Doer.Raw(ctx, name)
}

func (d *dying) Lock(ctx context.Context, name string) (func(), error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Doer.Lock(ctx, name)
}

// late is a broken Executor's doer: what it intends reaches the disk only
// after it is done. The suite must find that.
type late struct {
	host.Doer
	kept []func() error
}

func (l *late) Append(ctx context.Context, name string, data []byte) error {
	if !bytes.Contains(data, []byte(`"kind":"intent"`)) {
		return l.flush(l.Doer.Append(ctx, name, data))
	}
	l.kept = append(l.kept, func() error { return l.Doer.Append(ctx, name, data) })
	return nil
}

// flush writes down what was kept back, after an effect.
func (l *late) flush(err error) error {
	if err != nil {
		return err
	}
	for _, write := range l.kept {
		err = errors.Join(err, write())
	}
	l.kept = nil
	return err
}

func (l *late) Replace(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return l.flush(l.Doer.Replace(ctx, name, data, perm))
}

func (l *late) Write(ctx context.Context, name string, data []byte) error {
	return l.flush(l.Doer.Write(ctx, name, data))
}

func (l *late) Exec(ctx context.Context, t host.Target, statement string) error {
	return l.flush(l.Doer.Exec(ctx, t, statement))
}

func (l *late) Run(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := l.Doer.Run(ctx, argv...)
	return out, l.flush(err)
}
