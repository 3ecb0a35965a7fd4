package lab

import (
	"context"
	"fmt"
	"strings"

	"plumb/internal/host"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/load/tpcc"
)

// check tests the invariants that the experiment names.
func (b *bench) check(ctx context.Context, x experiment.Experiment, r *experiment.Record) {
	for _, name := range x.Checks {
		if err := b.holds(ctx, name, r); err != nil {
			r.Mark(experiment.MarkInvariant, "%v", err)
		}
	}
}

func (b *bench) holds(ctx context.Context, name string, r *experiment.Record) error {
	switch {
	case name == experiment.NoErrors:
		return noErrors(r)
	case b.setup.Load.Kind == experiment.TPCC:
		return consistent(ctx, tpccConfig(b.setup.Load, b.server.load, r.Seed))
	}
	return wholeTables(ctx, b.server.load, b.setup.Load)
}

func noErrors(r *experiment.Record) error {
	for _, op := range r.Ops {
		if op.Failed > 0 {
			return fmt.Errorf("%d of %s failed", op.Failed, op.Name)
		}
	}
	return nil
}

// consistent tests the consistency conditions of TPC-C.
func consistent(ctx context.Context, c tpcc.Config) error {
	report, err := tpcc.Check(ctx, c, tpcc.CheckOptions{})
	if err != nil {
		return fmt.Errorf("the consistency conditions could not be tested: %w", err)
	}
	for _, broken := range report.Broken() {
		if broken.Skipped == "" {
			return fmt.Errorf("consistency condition %d does not hold: %s; %d of %s", broken.Number, broken.Rule, broken.Violations, broken.Group)
		}
	}
	return nil
}

// wholeTables counts rows: the OLTP scripts that keep the number of rows must
// leave it as it was.
func wholeTables(ctx context.Context, s load.Server, w experiment.Load) error {
	c := oltpConfig(w, dataSeed)
	if !experiment.KeepsRows(c.Script) {
		return nil
	}
	a, err := s.Admin(ctx)
	if err != nil {
		return fmt.Errorf("the rows could not be counted: %w", err)
	}
	defer a.Close()
	for i := range c.Tables {
		row, err := host.One(a.Query(ctx, fmt.Sprintf("SELECT COUNT(*) FROM sbtest%d", i+1)))
		if err != nil {
			return fmt.Errorf("the rows could not be counted: %w", err)
		}
		if n := host.Text(row, 0); strings.TrimSpace(n) != fmt.Sprint(c.TableSize) {
			return fmt.Errorf("sbtest%d has %s rows and should have %d", i+1, n, c.TableSize)
		}
	}
	return nil
}
