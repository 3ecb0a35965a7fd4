package forecast

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/stats"
	"plumb/internal/units"
	view "plumb/internal/view/forecast"
)

// loadFlags are the flags of forecast load.
type loadFlags struct {
	measured
	over    string
	at      []string
	clients int
	nodes   value.Numbers
	one     float64
	ceiling float64
	data    value.Size
	cache   value.Size
	hot     float64
	json    bool
}

// What is varied in the forecast of a load.
const (
	overThreads = "threads"
	overIOPS    = "iops"
	overExtra   = "extra"
)

func overs() []string { return []string{overThreads, overIOPS, overExtra} }

func loadCommand(s *shell.Shell) *cobra.Command {
	var f loadFlags
	c := &cobra.Command{
		Use:   "load",
		Short: "predict the effect of more clients, more shards or a faster volume",
		Long: `Load predicts throughput and response time with a closed network of queues: clients
that wait for their answer before they send the next request.

--over threads predicts for other numbers of threads, from the rates at two or more.
--over iops predicts for other limits of the volume, from the same load on two or
more volumes. --over extra predicts the cost of additional work such as a binary
log, from rates with and without it (columns with and without); --at is a rate
without it. --nodes predicts for that many equal shards, each with a cache and a
disk of its own, from the rate of one node and the rate without misses.

` + modelExits,
		Example: `  plumb forecast load --csv fileio.csv --at 64,256
  plumb forecast load --over iops --csv volumes.csv --clients 16 --at 3000
  plumb forecast load --over extra --csv log.csv --at 3300
  plumb forecast load --ledger plumb-lab --experiment fileio-saturation --axis threads --at 128
  plumb forecast load --nodes 2,3,4 --clients 60 --one 245 --ceiling 3514 --data 58G --cache 10G --hot 0.2`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runLoad(c.Context(), s, f) },
	}
	f.measured.flags(c, "threads or iops, rate (operations a second) and perhaps error (half of its 95 % interval, as a fraction of the rate)")
	fl := c.Flags()
	fl.StringVar(&f.over, "over", overThreads, "what was varied: `NAME` is "+hint.OneOf(overs()))
	fl.StringSliceVar(&f.at, "at", nil, "predict it for this `NUMBER` of threads or IOPS, or several separated by commas")
	fl.IntVar(&f.clients, "clients", 0, "`NUMBER` of concurrent clients")
	fl.Var(&f.nodes, "nodes", "predict it for this number of shards, or several separated by commas")
	fl.Float64Var(&f.one, "one", 0, "measured operations per second of one node")
	fl.Float64Var(&f.ceiling, "ceiling", 0, "measured operations per second without misses")
	fl.Var(&f.data, "data", "`SIZE` of all the data")
	fl.Var(&f.cache, "cache", "`SIZE` of a node's cache")
	fl.Float64Var(&f.hot, "hot", 0, "the hottest `PART` of the data: 0.2 means that 20 % of the data gets 80 % of the reads; default: any skew is possible")
	shell.Offer(c, map[string]shell.Words{"over": overs})
	shell.JSONFlag(c, &f.json, "")
	return c
}

func runLoad(ctx context.Context, s *shell.Shell, f loadFlags) error {
	curve, err := f.given()
	if err != nil {
		return err
	}
	if count(curve, len(f.nodes) > 0) != 1 {
		return hint.Usage("name one source of measurements", "give --csv or --ledger for a curve, or --nodes for shards")
	}
	if err := f.validate(); err != nil {
		return err
	}
	if len(f.nodes) > 0 {
		return told(s, "load", "Effect of more shards", f.json, f.shards())
	}
	if !slices.Contains(overs(), f.over) {
		return hint.Usage(fmt.Sprintf("--over %s is not something that can be varied", f.over), "use "+hint.OneOf(overs()))
	}
	at, err := numbers("at", f.at, model.ReadNumber, "64")
	if err != nil {
		return err
	}
	if len(at) == 0 {
		return hint.Usage("no number is given", "--at 64 gives one")
	}
	if f.over == overExtra {
		return f.extra(s, at)
	}
	points, err := f.points(ctx, f.over)
	if err != nil {
		return err
	}
	var all []view.Asked
	if f.over == overIOPS {
		for _, x := range at {
			all = append(all, view.Asked{About: fmt.Sprintf("volume of %s IOPS", units.PerSecond(x)), Result: overLimits(points, f.clients).Predict(x)})
		}
		return told(s, "load", "Effect of more threads, IOPS or shards", f.json, all)
	}
	for _, p := range points {
		if !areThreads(p.x) {
			return fmt.Errorf("read %s: %g is not a number of threads", f.place(), p.x)
		}
	}
	for _, x := range at {
		if !areThreads(x) {
			return hint.Usage(fmt.Sprintf("--at %g is not a number of threads", x), fmt.Sprintf("a whole one up to %d, such as --at 64", mostThreads))
		}
		all = append(all, view.Asked{About: units.Count(int(x), "thread"), Result: device(points).Predict(int(x))})
	}
	return told(s, "load", "Effect of more threads, IOPS or shards", f.json, all)
}

// The most clients to ask for. Solving a network of queues takes time for each client.
const (
	mostThreads = 100_000
	mostClients = 10_000
)

func areThreads(x float64) bool { return x >= 1 && x <= mostThreads && x == math.Trunc(x) }

// validate says which number that was given cannot be. Those that were not are nought.
func (f loadFlags) validate() error {
	if i := slices.IndexFunc(f.nodes, func(n int) bool { return n < 1 }); i >= 0 {
		return hint.Usage(fmt.Sprintf("--nodes %d is out of range", f.nodes[i]), "such as --nodes 2,3,4")
	}
	switch {
	case !(f.hot >= 0 && f.hot < 0.5):
		return hint.Usage(fmt.Sprintf("--hot %g is not a share of the data", f.hot), "0.2 is the 80-20 rule; it is below 0.5")
	case f.clients < 0 || f.clients > mostClients:
		return hint.Usage(fmt.Sprintf("--clients %d is out of range", f.clients), fmt.Sprintf("1 to %d, such as --clients 16", mostClients))
	case !isRate(f.one):
		return hint.Usage(fmt.Sprintf("--one %g is not a rate", f.one), "such as --one 245, operations a second")
	case !isRate(f.ceiling):
		return hint.Usage(fmt.Sprintf("--ceiling %g is not a rate", f.ceiling), "such as --ceiling 3514, operations a second")
	}
	return unitless(inBytes{"data", f.data, leastOfAll, "58G"}, inBytes{"cache", f.cache, leastOfAll, "10G"})
}

// isRate tells whether a number can be one of operations a second, or was not given.
func isRate(x float64) bool { return x >= 0 && x < 1e15 }

// extra asks for rates when something else is done at the same time.
func (f loadFlags) extra(s *shell.Shell, at []float64) error {
	if f.csv == "" {
		return hint.Usage("--over extra reads a CSV file", "--csv FILE with the columns with and without")
	}
	t, err := table(f.csv)
	if err != nil {
		return err
	}
	without, err := t.Numbers("without")
	if err != nil {
		return err
	}
	with, err := t.Numbers("with")
	if err != nil {
		return err
	}
	var x model.Extra
	for i := range with {
		x = append(x, model.Pair{Without: without[i], With: with[i]})
	}
	var all []view.Asked
	for _, rate := range at {
		all = append(all, view.Asked{About: units.PerSecond(rate) + " a second without it", Result: x.Predict(rate)})
	}
	return told(s, "load", "What it costs besides", f.json, all)
}

func overLimits(points []point, clients int) model.LimitCurve {
	c := model.LimitCurve{Clients: clients}
	for _, p := range points {
		c.Points = append(c.Points, model.LimitPoint{IOPS: p.x, Rate: p.rate, Error: p.off})
	}
	return c
}

func device(points []point) (d model.Device) {
	for _, p := range points {
		d.Points = append(d.Points, stats.Point{Threads: int(p.x), Rate: p.rate, Error: p.off})
	}
	return d
}

// shards asks for the rates with each number of nodes.
func (f loadFlags) shards() (all []view.Asked) {
	n := model.Nodes{Clients: f.clients, Data: float64(f.data), Cache: float64(f.cache), One: f.one, Ceiling: f.ceiling, Popularity: model.Pareto(0.2)}
	if f.hot > 0 {
		n.Popularity, n.Known = model.Pareto(f.hot), true
	}
	for _, k := range f.nodes {
		all = append(all, view.Asked{About: units.Count(k, "node"), Result: n.Predict(k)})
	}
	return all
}
