package oltp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"plumb/internal/draw"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/product"
	"plumb/internal/units"
)

// workload is a script to run.
type workload struct {
	s    load.Server
	c    Config
	dist draw.Distribution

	once sync.Once
	err  error // of the look at the server
	base int64 // ids above it are free; for scripts that choose new ids
}

// New makes a workload of a script. The first Open checks the tables, and
// that the server has room for the sessions and their statements.
func New(s load.Server, c Config) (load.Workload, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	dist, err := draw.Named(c.RandType, c.Shape)
	if err != nil {
		return nil, err
	}
	return &workload{s: s, c: c, dist: dist}, nil
}

// Name implements load.Workload.
func (w *workload) Name() string { return w.c.Script }

// Ops implements load.Workload.
func (w *workload) Ops() []string { return []string{"transaction"} }

// Open implements load.Workload.
func (w *workload) Open(ctx context.Context, worker int) (load.Work, error) {
	w.once.Do(func() { w.err = w.inspectTables(ctx) })
	if w.err != nil {
		return nil, w.err
	}
	s, err := w.s.Open(ctx)
	if err != nil {
		return nil, err
	}
	out := &work{Statements: load.Statements{Session: s}, c: w.c, dist: w.dist, script: w.c.script(), sql: product.DialectOf(w.s.Engine()), base: w.base, own: worker%w.c.Tables + 1}
	if err := out.prepare(); err != nil {
		_ = s.Close() // err says more
		return nil, err
	}
	return out, nil
}

const prepareHint = "plumb load oltp " + "prepare makes them, with the same options"

// inspectTables checks once, before the first session, what would go wrong later.
func (w *workload) inspectTables(ctx context.Context) error {
	_, statements := w.c.needs()
	a, state, err := fill.Look(ctx, w.s, workloadName, w.c.Sessions, statements)
	if err != nil {
		return err
	}
	defer a.Close()
	if state.Settings != nil {
		if err := w.ours(state); err != nil {
			return err
		}
	}
	chooses := !w.c.AutoInc && w.c.Script == "oltp_insert" || w.c.Script == bulkInsert
	if state.Settings != nil && !chooses {
		return nil
	}
	return w.highest(ctx, a, state.Settings == nil)
}

// ours checks tables that Prepare made.
func (w *workload) ours(state fill.State) error {
	want := []load.Setting{{Name: "columns", Value: w.c.columns()}}
	if w.c.Script != bulkInsert {
		want = append(want, load.Setting{Name: "table-size", Value: strconv.FormatInt(w.c.TableSize, 10)})
	}
	if err := state.Matches(want); err != nil {
		return err
	}
	if !state.Complete {
		return hint.With(errors.New("the tables are not completely loaded"), "run prepare again: it continues where it stopped")
	}
	if len(state.Tables) < w.c.Tables {
		return hint.With(fmt.Errorf("%s there, but you asked for %d", units.Counted(len(state.Tables), "table", "is", "are"), w.c.Tables), "run prepare again to make the others")
	}
	return nil
}

// highest looks for the highest ids: those of tables that somebody else made
// tell their size.
func (w *workload) highest(ctx context.Context, a load.Admin, foreign bool) error {
	for n := 1; n <= w.c.Tables; n++ {
		name := tableName(n)
		rows, err := a.Query(ctx, "SELECT COALESCE(MAX(id), 0) FROM "+name)
		if err != nil {
			return missingTable(err, name)
		}
		var highest int64
		if len(rows.Values) == 1 {
			if v := host.Cell(rows.Values[0], 0); v != nil {
				if highest, err = strconv.ParseInt(*v, 10, 64); err != nil {
					return fmt.Errorf("read the highest id of %s: %w", name, err)
				}
			}
		}
		w.base = max(w.base, highest)
		// The last rows may have been deleted by an earlier run.
		if foreign && w.c.Script != bulkInsert && highest < w.c.TableSize-w.c.TableSize/10 {
			return hint.With(fmt.Errorf("the highest id in %s is %d, but you asked for a table-size of %d", name, highest, w.c.TableSize),
				"give the table-size the tables were made with")
		}
	}
	return nil
}

// missingTable adds a hint to errors about tables that are not there.
func missingTable(err error, name string) error {
	if load.NoTable(err) {
		return hint.With(fmt.Errorf("there is no table %s: %w", name, err), prepareHint)
	}
	return err
}
