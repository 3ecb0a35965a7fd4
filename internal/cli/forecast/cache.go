package forecast

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/forecast"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/units"
	view "plumb/internal/view/forecast"
)

// cacheFlags are the flags of forecast cache.
type cacheFlags struct {
	measured
	at      []string
	data    value.Size
	ceiling float64
	trace   string
	block   value.Size
	ghosts  bool
	recording
	json bool
}

func cacheCommand(s *shell.Shell) *cobra.Command {
	var f cacheFlags
	c := &cobra.Command{
		Use:   "cache",
		Short: "predict the effect of a larger buffer pool, ARC or page cache",
		Long: `Cache predicts the throughput for other sizes of a cache from the throughput that
was measured at four or more sizes. It combines a model of misses and an
interpolation, weighted by how well each predicts measured sizes that it was not
given. To predict beyond the largest measured size, it needs the throughput without
misses (--ceiling).

With --trace it predicts misses from a list of the blocks that were read, one per
line; with --ghosts from the ARC's ghost lists in a recording of plumb watch.

` + modelExits,
		Example: `  plumb forecast cache --csv pools.csv --data 95G --at 60G
  plumb forecast cache --csv pools.csv --data 95G --ceiling 6200 --at 120G
  plumb forecast cache --ledger plumb-lab --experiment buffer-pool-binlog --axis pool --with on --data 500M --at 256M
  plumb forecast cache --trace reads.txt --block 16K --at 8G
  plumb forecast cache --ghosts --at 24G`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runCache(c.Context(), s, f) },
	}
	f.measured.flags(c, "size (such as 16G), rate (operations a second) and perhaps error (half of its 95 % interval, as a fraction of the rate)")
	fl := c.Flags()
	fl.StringSliceVar(&f.at, "at", nil, "predict it for a cache of this `SIZE`, or several separated by commas")
	fl.Var(&f.data, "data", "`SIZE` of all the data that is read")
	fl.Float64Var(&f.ceiling, "ceiling", 0, "measured operations per second without misses")
	fl.StringVar(&f.trace, "trace", "", "a trace of the blocks that were read, in `FILE`, one per line")
	fl.Var(&f.block, "block", "`SIZE` of the blocks in the trace")
	fl.BoolVar(&f.ghosts, "ghosts", false, "use the hits of the ARC's ghost lists in a recording of plumb watch")
	f.recording.flag(c)
	shell.JSONFlag(c, &f.json, "")
	return c
}

func runCache(ctx context.Context, s *shell.Shell, f cacheFlags) error {
	fromCurve, err := f.given()
	if err != nil {
		return err
	}
	if n := count(fromCurve, f.trace != "", f.ghosts); n != 1 {
		return hint.Usage("name one source of measurements of the cache", "give --csv, --ledger, --trace or --ghosts")
	}
	if !isRate(f.ceiling) {
		return hint.Usage(fmt.Sprintf("--ceiling %g is not a rate", f.ceiling), "such as --ceiling 6200, operations a second")
	}
	if err := unitless(inBytes{"data", f.data, leastOfAll, "95G"}, inBytes{"block", f.block, leastBlock, "16K"}); err != nil {
		return err
	}
	sizes, err := numbers("at", f.at, forecast.Size, "60G")
	if err != nil {
		return err
	}
	if len(sizes) == 0 {
		return hint.Usage("no size is given", "--at 60G gives one")
	}
	least := int64(leastOfAll)
	if f.trace != "" { // with a trace, a cache can be as small as one block
		least = leastBlock
	}
	for _, at := range sizes {
		if err := unitless(inBytes{"at", value.Size(at), least, "60G"}); err != nil {
			return err
		}
	}
	predict, err := f.predictor(ctx)
	if err != nil {
		return err
	}
	var all []view.Asked
	for _, at := range sizes {
		all = append(all, view.Asked{About: "cache of " + units.Size(at), Result: predict(at)})
	}
	return told(s, "cache", "Effect of the cache size", f.json, all)
}

func count(given ...bool) (n int) {
	for _, g := range given {
		if g {
			n++
		}
	}
	return n
}

// predictor reads the past of the cache.
func (f cacheFlags) predictor(ctx context.Context) (func(at float64) model.Result, error) {
	switch {
	case f.trace != "":
		t, err := learn(f.trace)
		if err != nil {
			return nil, err
		}
		return func(at float64) model.Result { return t.Predict(at, float64(f.block)) }, nil
	case f.ghosts:
		g, err := f.recording.ghosts(ctx)
		return g.Predict, err
	}
	points, err := f.points(ctx, sizeColumn)
	if err != nil {
		return nil, err
	}
	curve := model.CacheCurve{Data: float64(f.data), Ceiling: f.ceiling}
	for _, p := range points {
		curve.Points = append(curve.Points, model.CachePoint{Bytes: p.x, Rate: p.rate, Error: p.off})
	}
	return curve.Predict, nil
}

// learn reads a trace that a flag names.
func learn(name string) (t *model.Trace, err error) {
	file, err := shell.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the trace %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return model.ReadTrace(name, file)
}
