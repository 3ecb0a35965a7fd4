package tpcc

import (
	"context"
	"fmt"
	"strconv"

	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/product"
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

// plan is all the tables of a configuration.
func plan(c Config) (fill.Plan, error) {
	if err := c.valid(); err != nil {
		return fill.Plan{}, err
	}
	p := fill.Plan{Workload: workload, Settings: settings(c)}
	engine := c.Server.Engine()
	for set := 1; set <= c.sets(); set++ {
		rows := newData(c, engine, set)
		for _, d := range definitions {
			name := c.table(d.name, set)
			statement, columns := create(engine, c.Compat, d, name)
			p.Tables = append(p.Tables, fill.Table{
				Name: name, Create: statement, Columns: columns,
				Units: rows.units(d.name), Row: rows.row(d.name), Sums: sums[d.name],
				After: c.indexes(engine, d.name, set),
			})
		}
		p.Links = append(p.Links, c.links(set)...)
	}
	return p, nil
}

// mostWarehouses is what the type of w_id holds.
const mostWarehouses = 32767

func (c Config) valid() error {
	if c.Warehouses < 1 || c.Warehouses > mostWarehouses {
		return fmt.Errorf("scale %d: not within 1 to %d warehouses", c.Warehouses, mostWarehouses)
	}
	if e := c.Server.Engine(); product.Of(e).Dialect == nil {
		return fmt.Errorf("tpcc has no tables for %s", e)
	}
	return nil
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
