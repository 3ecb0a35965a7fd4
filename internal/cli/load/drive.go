package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/load"
)

// drive says how a workload is driven and how the result is shown: the flags
// that all runs share.
type drive struct {
	threads      value.Numbers
	events       int64
	time         value.Seconds
	rate         value.Rate
	pace         string
	seed         uint64
	warmup       string
	retries      int
	reconnect    value.Seconds
	interval     value.Seconds
	percentile   int
	report       string
	json         bool
	strict       bool
	threadsGiven bool
	notes        []string // on how the command line was understood
}

func (d *drive) flags(c *cobra.Command) {
	fl := c.Flags()
	d.threads, d.time = value.Numbers{1}, value.Seconds(10*time.Second)
	fl.Var(&d.threads, "threads", "`N` workers, each with its own session")
	fl.Var(&d.time, "time", "measure for this `TIME`; a plain number means seconds; 0 for no limit")
	fl.Int64Var(&d.events, "events", 0, "end after `N` operations; without --time that is the only limit")
	fl.Var(&d.rate, "rate", "open loop: start `N` operations a second, or FROM..TO; 0: closed loop")
	fl.StringVar(&d.pace, "pace", "", "`HOW` operations are spaced in an open loop: poisson (default), fixed, or ramp over --time")
	fl.StringVar(&d.warmup, "warmup", "0s", "run for this `TIME` first and leave it out of the result; steady waits until the rate is steady")
	fl.Uint64Var(&d.seed, "seed", 0, "the same `SEED` gives the same operations; 0 picks one and prints it")
	fl.IntVar(&d.retries, "retries", 100, "retry an operation up to `N` times after a deadlock or similar error")
	fl.Var(&d.reconnect, "reconnect", "try for this `TIME` to reopen a lost session")
	fl.Var(&d.interval, "interval", "print a line each `TIME` while running")
	fl.IntVar(&d.percentile, "percentile", 95, "`N`th percentile for the lines of --interval and --report sysbench")
	fl.StringVar(&d.report, "report", "", "print the report in the `FORM` of sysbench (1.0.20)")
	shell.JSONFlag(c, &d.json, ", with histograms and series")
	fl.BoolVar(&d.strict, "strict", false, "exit 1 when the result has warnings")
	hide(c, "retries", "reconnect", "percentile")
	shell.Offer(c, map[string]shell.Words{
		"pace":   func() []string { return []string{"poisson", "fixed", "ramp"} },
		"report": func() []string { return []string{"sysbench"} },
		"warmup": func() []string { return []string{"10s", "30s", "steady"} },
	})
}

// steadyLimit is how long --warmup steady waits at most.
const steadyLimit = 10 * time.Minute

// options checks the flags and gives what the engine wants.
func (d *drive) options(c *cobra.Command) (load.Options, error) {
	o := load.Options{Threads: d.threads[0], Events: d.events, Time: time.Duration(d.time), Seed: d.seed,
		Retries: d.retries, Reconnect: time.Duration(d.reconnect)}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano()) % 1e9 // short, because people type it again
	}
	d.threadsGiven = c.Flags().Changed("threads")
	if d.events > 0 && !c.Flags().Changed("time") {
		o.Time = 0
	}
	if err := d.validate(o); err != nil {
		return o, err
	}
	var err error
	if o.Pace, err = d.pacer(o); err != nil {
		return o, err
	}
	if d.warmup == "steady" {
		o.Until = load.SteadyRule{Window: 10 * time.Second, Range: 0.20, Slope: 0.10, Limit: steadyLimit}
		return o, nil
	}
	if o.Warmup, err = value.ParseSeconds(d.warmup); err != nil {
		return o, hint.Usage("--warmup "+d.warmup+" is not a duration", "give something like --warmup 30s, or --warmup steady")
	}
	return o, nil
}

func (d *drive) validate(o load.Options) error {
	i := slices.IndexFunc(d.threads, func(n int) bool { return n < 1 || n > 100_000 })
	switch {
	case i >= 0:
		return hint.Usage(fmt.Sprintf("--threads %d does nothing", d.threads[i]), "give 1 or more")
	case d.events < 0:
		return hint.Usage(fmt.Sprintf("--events %d is below 0", d.events), "give the number of operations, or 0 for no limit")
	case o.Time == 0 && o.Events == 0:
		return hint.Usage("--time 0 without --events would never end", "give one of them")
	case d.percentile < 0 || d.percentile > 100:
		return hint.Usage(fmt.Sprintf("--percentile %d is not a percentile", d.percentile), "give 1 to 100, or 0 for none")
	case d.report != "" && d.report != "sysbench":
		return hint.Usage("--report "+d.report+" is not known", "use sysbench")
	case d.report != "" && d.json:
		return hint.Usage("--json and --report cannot be combined", "give one of them")
	case d.interval != 0 && time.Duration(d.interval) < time.Second:
		return hint.Usage("--interval "+d.interval.String()+" is too short", "one second is the shortest")
	case time.Duration(d.interval)%time.Second != 0:
		return hint.Usage("--interval "+d.interval.String()+" is not a whole number of seconds", "give whole seconds")
	}
	return nil
}

// pacer makes the open loop; nil for a closed one.
func (d *drive) pacer(o load.Options) (load.Pacer, error) {
	how := d.pace
	if d.rate.From != d.rate.To {
		how = cmp.Or(how, "ramp")
	}
	how = cmp.Or(how, "poisson")
	known := []string{"poisson", "fixed", "ramp"}
	switch {
	case !slices.Contains(known, how):
		return nil, hint.Usage("--pace "+how+" is not known", "use "+hint.OneOf(known))
	case d.rate.To == 0 && d.rate.From == 0 && d.pace != "":
		return nil, hint.Usage("--pace "+how+" paces nothing without a rate", "give --rate too")
	case d.rate.To == 0 && d.rate.From == 0:
		return nil, nil
	case d.rate.To == 0:
		return nil, hint.Usage("--rate "+d.rate.String()+" ends in no load", "let it end above 0")
	case (how == "ramp") != (d.rate.From != d.rate.To):
		return nil, hint.Usage(fmt.Sprintf("--rate %s does not fit --pace %s", d.rate.String(), how), "a ramp goes FROM..TO, the others have one rate")
	case how == "ramp" && o.Time == 0:
		return nil, hint.Usage("a ramp needs to know how long it is", "give --time")
	}
	switch how {
	case "fixed":
		return load.Fixed(d.rate.To), nil
	case "ramp":
		return load.Ramp(d.rate.From, d.rate.To, o.Time+o.Warmup), nil
	}
	return load.Poisson(d.rate.To, o.Seed), nil
}

// oneThreads refuses a list where one number is wanted.
func (d *drive) oneThreads() error {
	if len(d.threads) > 1 {
		return hint.Usage("--threads "+d.threads.String()+" is a list", "only plumb load fileio run takes several")
	}
	return nil
}

// driveHelp stands for the flags that are hidden.
const driveHelp = `Also: --retries, --reconnect, --percentile. Every option may be spelt with
underscores, and --report-interval, --rand-seed, --warmup-time, --max-time,
--num-threads and --max-requests are understood.`

func join2(parts ...string) string { return strings.Join(parts, "\n\n") }
