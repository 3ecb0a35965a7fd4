package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// bring fills the table aside, proves that it is what the copy has, and gives it its name.
func (t *bringing) bring(ctx context.Context, h host.Held, begin change.Begin) (number int, err error) {
	forget, err := t.b.note(ctx, t.plan.Server, t.aside)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err == nil {
			err = forget(context.WithoutCancel(ctx))
			return
		}
		if gone := t.b.drop(context.WithoutCancel(ctx), t.engine, t.target, t.aside); gone != nil {
			err = hint.With(errors.Join(err, fmt.Errorf("remove %s: %w", t.aside, gone)), "the next rollback of a table of this server removes it")
			return
		}
		err = errors.Join(err, forget(context.WithoutCancel(ctx)))
	}()
	if err := t.fill(ctx, h); err != nil {
		return 0, err
	}
	t.b.say("comparing")
	rows, err := h.Query(ctx, t.how.Content(t.aside))
	if err != nil {
		return 0, err
	}
	if got := only(rows); got != t.plan.Content {
		return 0, fmt.Errorf("the table that arrived differs from the one in the point, which has %s: it has %s", t.plan.Content, got)
	}
	return t.put(ctx, begin)
}

// put is the change of the journal.
func (t *bringing) put(ctx context.Context, begin change.Begin) (int, error) {
	ops := func(all []string) (o []change.Op) {
		for _, s := range all {
			o = append(o, change.Op{Target: &t.target, Statement: s})
		}
		return o
	}
	read := func(query string) *change.Inspection {
		return &change.Inspection{Target: &t.target, Query: query, Long: true}
	}
	act := change.Make{Thing: change.Thing{Inspect: read(t.how.There), Name: "table " + t.plan.As.String() + " of " + t.plan.Server.Ref.String()}, Do: ops(t.how.Put), Undo: ops(t.how.Undo),
		Unchanged: read(t.how.Content(t.plan.As)), Moved: &change.Moved{Identity: t.how.Is, State: t.plan.Content}}
	step := change.Step{Knob: stack.Knob{Of: t.plan.Server.Ref, Name: "table"}, To: stack.Text(t.plan.As.String()), Because: "table of point " + t.plan.Point.ID}
	out, err := t.b.Executor.Apply(ctx, change.Draft{Steps: []change.Prepared{{Step: step, Recipe: change.Recipe{Acts: []change.Act{{Make: &act}}, Effect: "now", Lasts: "the database"}}}}, change.ApplyOptions{Begin: begin})
	return out.Number, err
}

// fill makes the table aside, and types the rows.
func (t *bringing) fill(ctx context.Context, h host.Held) error {
	exec := func(all []string) error {
		for _, s := range all {
			if err := h.Exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	if err := exec(slices.Concat(t.how.Session, t.how.Make)); err != nil {
		return err
	}
	f := &filler{ctx: ctx, h: h, how: t.how, say: t.b.say}
	pipe := t.how.Rows
	pipe.Out = f
	flow, err := t.b.Keeper.Do.Pipe(ctx, pipe)
	if err == nil && flow.Unread {
		err = errors.New("the client did not accept all of it")
	}
	if err == nil {
		err = f.close()
	}
	if err == nil {
		t.b.say("finishing")
		err = exec(t.how.Finish)
	}
	return err
}

// batch is how many bytes of rows are typed at once: each statement is written to the disk and to
// the log by itself.
const batch = 512 << 10

// filler types rows as they come.
type filler struct {
	ctx  context.Context
	h    host.Held
	how  Carried
	say  func(string)
	rest []byte // what has no end yet
	rows []byte // that wait
	n    int
}

// Write takes some of what the copy gives.
func (f *filler) Write(text []byte) (int, error) {
	f.rest = append(f.rest, text...)
	from := 0
	for {
		at := bytes.IndexByte(f.rest[from:], f.how.End)
		if at < 0 {
			break
		}
		if err := f.row(f.rest[from : from+at]); err != nil {
			return 0, err
		}
		from += at + 1
	}
	f.rest = f.rest[:copy(f.rest, f.rest[from:])]
	return len(text), nil
}

func (f *filler) row(row []byte) error {
	if len(row) == 0 || row[0] != f.how.Row {
		return fmt.Errorf("row %d is too long for the copy to write, or damaged", f.n+1)
	}
	if len(f.rows) > 0 && len(f.rows)+len(row) > batch {
		if err := f.flush(); err != nil {
			return err
		}
	}
	if len(f.rows) > 0 {
		f.rows = append(f.rows, ',')
	}
	f.rows = append(f.rows, row...)
	f.n++
	return nil
}

func (f *filler) flush() error {
	if len(f.rows) == 0 {
		return nil
	}
	statement := f.how.Insert + " " + string(f.rows)
	f.rows = f.rows[:0]
	if err := f.h.Exec(f.ctx, statement); err != nil {
		return brief{err, strings.ReplaceAll(err.Error(), statement, f.how.Insert+" …")}
	}
	f.say("loading: " + units.Count(f.n, "row"))
	return nil
}

func (f *filler) close() error {
	if len(f.rest) > 0 {
		return errors.New("the copy ended amid a row")
	}
	return f.flush()
}

// brief is an error without people's data.
type brief struct {
	error
	text string
}

// Error implements error.
func (b brief) Error() string { return b.text }

// Unwrap gives what the server answered.
func (b brief) Unwrap() error { return b.error }
