package load

import (
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/draw"
	"plumb/internal/hint"
	"plumb/internal/load/oltp"
)

// oltpFlags makes the options of sysbench's scripts, under its names.
func oltpFlags(c *cobra.Command, f *oltp.Config) {
	fl, usual := c.Flags(), oltp.Defaults()
	fl.IntVar(&f.Tables, "tables", usual.Tables, "`N` tables")
	fl.Int64Var(&f.TableSize, "table-size", usual.TableSize, "`ROWS` of each table")
	for name, at := range map[string]*int{
		"point-selects": &f.PointSelects, "simple-ranges": &f.SimpleRanges, "sum-ranges": &f.SumRanges, "order-ranges": &f.OrderRanges,
		"distinct-ranges": &f.Distinct, "index-updates": &f.IndexUpdates, "non-index-updates": &f.NonIndex, "delete-inserts": &f.DeleteInsert,
		"random-points": &f.RandomPoints, "number-of-ranges": &f.Ranges,
	} {
		fl.IntVar(at, name, *at, "as in sysbench")
		hide(c, name)
	}
	for name, at := range map[string]*bool{
		"range-selects": &f.RangeSelects, "auto-inc": &f.AutoInc, "create-secondary": &f.CreateSecondary, "secondary": &f.Secondary, "skip-trx": &f.SkipTrx,
	} {
		onOff(c, at, name, "as in sysbench")
		hide(c, name)
	}
	fl.Int64Var(&f.RangeSize, "range-size", usual.RangeSize, "as in sysbench")
	fl.Int64Var(&f.Delta, "delta", usual.Delta, "as in sysbench")
	fl.StringVar(&f.Engine, "mysql-storage-engine", usual.Engine, "`ENGINE` of the tables")
	fl.StringVar(&f.TableOptions, "create-table-options", "", "`TEXT` to end CREATE TABLE with")
	hide(c, "range-size", "delta", "mysql-storage-engine", "create-table-options")
	distributionFlags(c, f)
}

// onOff makes a switch that takes sysbench's words.
func onOff(c *cobra.Command, at *bool, name, usage string) {
	c.Flags().Var((*value.OnOff)(at), name, usage)
	c.Flags().Lookup(name).NoOptDefVal = "on"
}

// distributionFlags say which rows are hit.
func distributionFlags(c *cobra.Command, f *oltp.Config) {
	fl := c.Flags()
	fl.StringVar(&f.RandType, "rand-type", f.RandType, "which rows are hit: `NAME` is uniform, gaussian, special, pareto or zipfian")
	fl.IntVar(&f.Shape.Iter, "rand-spec-iter", 12, "as in sysbench")
	fl.IntVar(&f.Shape.Pct, "rand-spec-pct", 1, "as in sysbench")
	fl.IntVar(&f.Shape.Res, "rand-spec-res", 75, "as in sysbench")
	fl.Float64Var(&f.Shape.ParetoH, "rand-pareto-h", 0.2, "as in sysbench")
	fl.Float64Var(&f.Shape.ZipfianExp, "rand-zipfian-exp", 0.8, "as in sysbench")
	fl.BoolVar(&f.Shape.Scramble, "rand-scramble", false, "scatter the hot rows; in sysbench they are neighbours and share pages")
	hide(c, "rand-spec-iter", "rand-spec-pct", "rand-spec-res", "rand-pareto-h", "rand-zipfian-exp")
	shell.Offer(c, map[string]shell.Words{"rand-type": draw.Names})
}

// distribution makes the one that was named.
func distribution(f oltp.Config) (draw.Distribution, error) {
	dist, err := draw.Named(f.RandType, f.Shape)
	switch {
	case err == nil:
		return dist, nil
	case !slices.Contains(draw.Names(), f.RandType):
		return nil, hint.Usage("--rand-type "+f.RandType+" is not known", meantOr(f.RandType, draw.Names()))
	}
	return nil, hint.Usage("--"+err.Error(), "sysbench's defaults are 12, 1, 75, 0.2 and 0.8")
}

const oltpHelp = `Also sysbench's --range-size --point-selects --simple-ranges --sum-ranges
--order-ranges --distinct-ranges --index-updates --non-index-updates
--delete-inserts --range-selects --skip-trx --auto-inc --create-secondary
--secondary --random-points --number-of-ranges --delta --rand-spec-*
--rand-pareto-h --rand-zipfian-exp --db-ps-mode --mysql-ignore-errors
--mysql-storage-engine --create-table-options; and --data-seed for the rows.`
