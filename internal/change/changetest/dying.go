// Package changetest is the conformance suite that every setter passes, and
// the machine that dies at every single operation.
package changetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

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
	dead bool
}

// step counts one changing operation.
func (d *dying) step(do func() error) error {
	if d.dead {
		return errDead
	}
	d.n++
	if d.n != d.at {
		return do()
	}
	d.dead = true
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

func (d *dying) Append(ctx context.Context, name string, data []byte) error {
	if !d.dead && d.n+1 == d.at && d.when == torn {
		d.n, d.dead = d.n+1, true
		_ = d.Doer.Append(ctx, name, data[:len(data)/2]) // a test's own disk
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
	if d.dead {
		return host.Rows{}, errDead
	}
	return d.Doer.Query(ctx, t, query)
}

func (d *dying) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if d.dead {
		return nil, errDead
	}
	return d.Doer.Output(ctx, argv...)
}

func (d *dying) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if d.dead {
		return nil, errDead
	}
	return d.Doer.ReadFile(ctx, name)
}

func (d *dying) Raw(ctx context.Context, name string) ([]byte, error) {
	if d.dead {
		return nil, errDead
	}
	return d.Doer.Raw(ctx, name)
}

func (d *dying) Lock(ctx context.Context, name string) (func(), error) {
	if d.dead {
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
