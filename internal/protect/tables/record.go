package tables

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// form is that of the records.
const form = 1

// record is a table that is being filled under a name of its own. It is written before that is made.
type record struct {
	Form     int       `json:"form"`
	Server   string    `json:"server"`
	Identity string    `json:"identity,omitempty"`
	Table    Name      `json:"table"`
	Since    time.Time `json:"since"`
}

// note writes down that a table will be made. forget takes that back.
func (b Bringer) note(ctx context.Context, sv protect.Server, aside Name) (forget func(context.Context) error, err error) {
	do, file := b.Keeper.Do, path.Join(b.Dir, aside.Own()+".json")
	err = protect.WriteKept(ctx, do, file, record{Form: form, Server: sv.Ref.String(), Identity: sv.Identity, Table: aside, Since: b.Keeper.Now().UTC()}, 0o600)
	return func(ctx context.Context) error { return do.Remove(ctx, file) }, err
}

// sweep removes the tables that killed runs left in a server.
func (b Bringer) sweep(ctx context.Context, e Engine, sv protect.Server, t host.Target) error {
	const pattern = "plumb_*.json"
	do := b.Keeper.Do
	files, err := do.Glob(ctx, path.Join(host.Verbatim(b.Dir), pattern))
	if err == nil && len(files) > 0 {
		err = b.Keeper.Store.Guarded(b.Dir, pattern)
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		var r record
		if err := protect.ReadKept(ctx, do, file, file, form, &r); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if r.Server != sv.Ref.String() || r.Identity != sv.Identity {
			continue
		}
		if len(r.Table) < 2 || path.Base(file) != r.Table.Own()+".json" {
			return fmt.Errorf("%s is of a table %q", file, r.Table)
		}
		if err := b.drop(ctx, e, e.Place(t, r.Table), r.Table); err != nil {
			return err
		}
		if err := do.Remove(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a table of a random name, on a session of its own: the one before may be lost.
func (b Bringer) drop(ctx context.Context, e Engine, t host.Target, aside Name) error {
	h, err := b.Keeper.Do.Hold(ctx, t)
	if err != nil {
		return err
	}
	return errors.Join(h.Exec(ctx, e.Drop(aside)), h.Close())
}
