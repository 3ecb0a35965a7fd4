package tpcc

import (
	"context"
	"strconv"

	"plumb/internal/load"
	"plumb/internal/load/fill"
)

// workload is the name of the tables' plan.
const workload = "tpcc"

// version of the generator: rows made by another are not the same rows.
const version = "1"

// Prepare makes the tables, their indexes and foreign keys, and fills them.
// It goes on where an earlier attempt with the same settings was ended.
func Prepare(ctx context.Context, c Config, o fill.Options) (fill.Report, error) {
	p, err := plan(c)
	if err != nil {
		return fill.Report{}, err
	}
	return fill.Fill(ctx, c.Server, p, o)
}

// Cleanup drops the tables that Prepare made, and gives their names.
func Cleanup(ctx context.Context, c Config) ([]string, error) {
	return fill.Cleanup(ctx, c.Server, workload)
}

// settings are what the rows depend on.
func settings(c Config) []load.Setting {
	mode := "specification"
	if c.Compat {
		mode = "sysbench-tpcc"
	}
	all := []load.Setting{
		{Name: "mode", Value: mode},
		{Name: "scale", Value: strconv.FormatInt(c.Warehouses, 10)},
		{Name: "seed", Value: strconv.FormatUint(c.Seed, 10)},
		{Name: "generator", Value: version},
	}
	if c.Compat {
		all = append(all, load.Setting{Name: "tables", Value: strconv.Itoa(c.sets())})
	}
	if z := c.sizes(); z != full {
		all = append(all, load.Setting{Name: "size", Value: strconv.FormatInt(z.items, 10) + "/" + strconv.FormatInt(z.customers, 10)})
	}
	return all
}

// sets is how many copies of the schema there are.
func (c Config) sets() int {
	if c.Compat {
		return max(1, c.Sets)
	}
	return 1
}
