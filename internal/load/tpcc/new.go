package tpcc

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/units"
)

// Ops of every run, in the order of load.Tally.Op; purge only where it was
// asked for.
const (
	opNewOrder = iota
	opPayment
	opOrderStatus
	opDelivery
	opStockLevel
	opPurge
	kinds
)

var opNames = [kinds]string{"new_order", "payment", "order_status", "delivery", "stock_level", "purge"}

// Notes of a run, in the order of load.Tally.Notes. They count only what
// succeeded, rolled back on purpose included.
const (
	noteLines = iota
	noteRemoteLines
	noteRemotePayments
	notePaymentsByName
	noteStatusByName
	noteSkipped
	notes
)

var noteNames = [notes]string{"lines", "remote lines", "remote payments", "payments by name", "order status by name", "skipped districts"}

// orderEntry is the workload; it is unchanging.
type orderEntry struct {
	c    Config
	draw *drawer
}

// keyed is the workload with people at terminals.
type keyed struct{ *orderEntry }

// Terminals is how many people there are at terminals, ten at a warehouse: a
// run with keying wants as many workers.
func (c Config) Terminals() int { return int(c.Warehouses) * districts }

// New makes the workload. It looks whether the tables are those that the
// configuration means and are completely loaded, and whether the server has
// room for the sessions.
func New(ctx context.Context, c Config) (load.Workload, error) {
	if err := c.runnable(); err != nil {
		return nil, err
	}
	rows, err := c.loadedRows(ctx)
	if err != nil {
		return nil, err
	}
	w := &orderEntry{c: c, draw: newDrawer(c, rows)}
	if c.Keying {
		return keyed{w}, nil
	}
	return w, nil
}

// runnable tells whether the settings fit together.
func (c Config) runnable() error {
	if err := c.valid(); err != nil {
		return err
	}
	switch {
	case c.Keying && c.Compat:
		return errors.New("sysbench-tpcc has no keying")
	case c.Purge && !c.Compat:
		return errors.New("only sysbench-tpcc has purge")
	case c.Keying && c.Sessions > 0 && c.Sessions != c.Terminals():
		return hint.With(fmt.Errorf("%s %s, but you asked for %s", units.Counted(c.Warehouses, "warehouse", "has", "have"), units.Count(c.Terminals(), "terminal"), units.Count(c.Sessions, "thread")),
			fmt.Sprintf("give --threads %d", c.Terminals()))
	}
	return nil
}

// loadedRows checks what would go wrong later, and gives the seed of the rows.
func (c Config) loadedRows(ctx context.Context) (rows uint64, err error) {
	a, state, err := fill.Look(ctx, c.Server, workload, c.Sessions, c.statements())
	if err != nil {
		return 0, err
	}
	defer a.Close()
	if err := c.ours(state); err != nil {
		return 0, err
	}
	if state.Settings == nil {
		return c.Seed, c.foreign(ctx, a)
	}
	return c.seedOf(state), nil
}

// seedOf is the seed that the rows were made with: C of NURand depends on it.
func (c Config) seedOf(state fill.State) uint64 {
	for _, s := range state.Settings {
		if n, err := strconv.ParseUint(s.Value, 10, 64); s.Name == "seed" && err == nil {
			return n
		}
	}
	return c.Seed
}

// foreign looks at tables that sysbench-tpcc itself made.
func (c Config) foreign(ctx context.Context, a load.Admin) error {
	for set := 1; set <= c.sets(); set++ {
		name := c.table(warehouse, set)
		rows, err := a.Query(ctx, "SELECT COUNT(*) FROM "+name)
		if err != nil {
			return hint.With(fmt.Errorf("look for the tables of sysbench-tpcc: %w", err), prepareHint)
		}
		if len(rows.Values) != 1 || host.Cell(rows.Values[0], 0) == nil {
			continue
		}
		if n := *host.Cell(rows.Values[0], 0); n != strconv.FormatInt(c.Warehouses, 10) {
			return hint.With(fmt.Errorf("%s has %s warehouses, but you asked for %d", name, n, c.Warehouses), "ask for the same")
		}
	}
	return nil
}

// Name implements load.Workload.
func (w *orderEntry) Name() string {
	if w.c.Compat {
		return "sysbench-tpcc"
	}
	return "tpcc"
}

// Ops implements load.Workload.
func (w *orderEntry) Ops() []string {
	if w.c.Purge {
		return opNames[:]
	}
	return opNames[:opPurge]
}

// Notes implements load.Noted.
func (w *orderEntry) Notes() []string { return noteNames[:] }
