// Package changetest is the conformance suite that every setter passes, and
// the machine that dies at every single operation.
package changetest

import (
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
	host.Hooked
	death
	n    int
	dead atomic.Bool // a copy reads and writes at the same time
}

var _ host.Streamer = (*dying)(nil)

func newDying(of host.Doer, at death) *dying {
	d := &dying{death: at}
	d.Behind = of
	d.Around = func(_ context.Context, c host.Call, do func() error) error {
		if !c.Reads() && c.Op != "lock" {
			return d.step(do)
		}
		if d.dead.Load() {
			return errDead
		}
		return do()
	}
	return d
}

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
	if d.torn(func() error { return d.Behind.MakeDir(ctx, name, 0o700, -1, -1) }) {
		return errDead
	}
	return d.Hooked.MakeDir(ctx, name, perm, uid, gid)
}

// Pipe implements host.Streamer. What dies amid one has passed on a part of what
// it was given, or removed a part of what was to be removed. A reading command is
// no operation, and can be run at the same time as another.
func (d *dying) Pipe(ctx context.Context, p host.Pipe) (flow host.Flow, err error) {
	s, ok := d.Behind.(host.Streamer)
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
	if d.torn(func() error { return d.Behind.Append(ctx, name, data[:len(data)/2]) }) {
		return errDead
	}
	return d.Hooked.Append(ctx, name, data)
}
