package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/value"
	"plumb/internal/draw"
	"plumb/internal/hint"
)

// oltpFlags are the options of sysbench's scripts, under its names.
type oltpFlags struct {
	tables, rangeSize                                                  int
	tableSize                                                          int64
	pointSelects, simpleRanges, sumRanges, orderRanges, distinctRanges int
	indexUpdates, nonIndexUpdates, deleteInserts                       int
	randomPoints, numberOfRanges, delta                                int
	rangeSelects, autoInc, createSecondary, secondary, skipTrx         value.OnOff
	engine, tableOptions                                               string
	dataSeed                                                           uint64
	dist                                                               distribution
}

// distribution says which rows are hit.
type distribution struct {
	name  string
	shape draw.Shape
}

func (f *oltpFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	f.rangeSelects, f.autoInc, f.createSecondary = true, true, true
	fl.IntVar(&f.tables, "tables", 1, "`N` tables")
	fl.Int64Var(&f.tableSize, "table-size", 10000, "`ROWS` of each table")
	ints := []struct {
		at    *int
		name  string
		value int
	}{
		{&f.rangeSize, "range-size", 100}, {&f.pointSelects, "point-selects", 10}, {&f.simpleRanges, "simple-ranges", 1},
		{&f.sumRanges, "sum-ranges", 1}, {&f.orderRanges, "order-ranges", 1}, {&f.distinctRanges, "distinct-ranges", 1},
		{&f.indexUpdates, "index-updates", 1}, {&f.nonIndexUpdates, "non-index-updates", 1}, {&f.deleteInserts, "delete-inserts", 1},
		{&f.randomPoints, "random-points", 10}, {&f.numberOfRanges, "number-of-ranges", 10}, {&f.delta, "delta", 5},
	}
	for _, i := range ints {
		fl.IntVar(i.at, i.name, i.value, "as in sysbench")
		hide(c, i.name)
	}
	switches := []struct {
		at   *value.OnOff
		name string
	}{{&f.rangeSelects, "range-selects"}, {&f.autoInc, "auto-inc"}, {&f.createSecondary, "create-secondary"}, {&f.secondary, "secondary"}, {&f.skipTrx, "skip-trx"}}
	for _, s := range switches {
		fl.Var(s.at, s.name, "as in sysbench")
		fl.Lookup(s.name).NoOptDefVal = "on"
		hide(c, s.name)
	}
	fl.StringVar(&f.engine, "mysql-storage-engine", "innodb", "`ENGINE` of the tables")
	fl.StringVar(&f.tableOptions, "create-table-options", "", "`TEXT` to end CREATE TABLE with")
	fl.Uint64Var(&f.dataSeed, "data-seed", 1, "the same `SEED`, the same rows")
	hide(c, "mysql-storage-engine", "create-table-options", "data-seed")
	f.dist.flags(c)
}

func (d *distribution) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&d.name, "rand-type", "uniform", "which rows are hit: `NAME` uniform, gaussian, special, pareto or zipfian")
	fl.IntVar(&d.shape.Iter, "rand-spec-iter", 12, "as in sysbench")
	fl.IntVar(&d.shape.Pct, "rand-spec-pct", 1, "as in sysbench")
	fl.IntVar(&d.shape.Res, "rand-spec-res", 75, "as in sysbench")
	fl.Float64Var(&d.shape.ParetoH, "rand-pareto-h", 0.2, "as in sysbench")
	fl.Float64Var(&d.shape.ZipfianExp, "rand-zipfian-exp", 0.8, "as in sysbench")
	fl.BoolVar(&d.shape.Scramble, "rand-scramble", false, "scatter the hot rows, which in sysbench are neighbours and share pages")
	hide(c, "rand-spec-iter", "rand-spec-pct", "rand-spec-res", "rand-pareto-h", "rand-zipfian-exp")
	offer(c, map[string]words{"rand-type": draw.Names})
}

// named makes the distribution.
func (d *distribution) named() (draw.Distribution, error) {
	dist, err := draw.Named(d.name, d.shape)
	if err == nil {
		return dist, nil
	}
	if !slices.Contains(draw.Names(), d.name) {
		help := hint.Meant(d.name, draw.Names())
		if help == "" {
			help = "want " + hint.OneOf(draw.Names())
		}
		return nil, hint.Usage("--rand-type "+d.name+" is not known", help)
	}
	return nil, hint.Usage("--"+err.Error(), "sysbench's defaults are 12, 1, 75, 0.2 and 0.8")
}

const oltpHelp = `Also sysbench's --range-size --point-selects --simple-ranges --sum-ranges
--order-ranges --distinct-ranges --index-updates --non-index-updates
--delete-inserts --range-selects --skip-trx --auto-inc --create-secondary
--secondary --random-points --number-of-ranges --delta --rand-spec-*
--rand-pareto-h --rand-zipfian-exp --db-ps-mode --mysql-ignore-errors
--mysql-storage-engine --create-table-options; and --data-seed for the rows.`
