package load

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/load"
	"plumb/internal/units"
	view "plumb/internal/view/load"
)

func (v *verbs) calibrate() *cobra.Command {
	var l login
	var threads value.Numbers
	var each value.Seconds
	var asJSON bool
	var notes []string
	c := &cobra.Command{
		Use:   "calibrate",
		Short: "measure what the load generator itself can do on this machine",
		Long: join2(`Calibrate measures the generator against targets that cost nothing: no target at
all, and built-in servers that answer at once with what they have ready. If a
server is named, it also sends that one SELECT 1. A result close to these rates says
more about the generator than about a server.`, loginHelp, exits),
		Example: `  plumb load calibrate
  plumb load calibrate --dsn postgres://bench@db1/postgres --threads 1,16,64`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v.note(notes)
			return v.runCalibrate(c, l, threads, time.Duration(each), asJSON)
		},
	}
	l.flags(c)
	threads, each = value.Numbers{1, 8}, value.Seconds(2*time.Second)
	c.Flags().Var(&threads, "threads", "`N` sessions, or several numbers with commas")
	c.Flags().Var(&each, "time", "measure each for this `TIME`")
	shell.JSONFlag(c, &asJSON, "")
	sysbenchNames(c, &notes)
	return c
}

func (v *verbs) runCalibrate(c *cobra.Command, l login, threads value.Numbers, each time.Duration, asJSON bool) error {
	if err := (&drive{threads: threads, percentile: 95}).validate(load.Options{Time: each}); err != nil {
		return err
	}
	targets := slices.Clone(v.Fakes)
	if l.named(c.Flags().Changed) || shell.OrEnvironment("") != "" {
		s, err := v.server(&l, c.Flags().Changed)
		if err != nil {
			return err
		}
		about, err := s.About(c.Context())
		if err != nil {
			return err
		}
		targets = append(targets, load.Target{Name: about.Product + ", SELECT 1", Open: func() (load.Workload, io.Closer, error) { return load.Ask(s, "SELECT 1"), nil, nil }})
	}
	var all []load.Ceiling
	for _, t := range targets {
		for _, n := range threads {
			if shell.IsTerminal(v.Err) {
				shell.Rewrite(v.Err, t.Name+", "+units.Count(n, "thread"))
			}
			all = append(all, t.Measure(c.Context(), n, each))
			if c.Context().Err() != nil {
				return errors.New("calibrate: interrupted")
			}
		}
	}
	v.Done()
	cores := min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	return v.Answer(asJSON, view.CalibrateDocument(all, cores, shell.Version()), view.Calibrate(all, cores, shell.Screen(v.Out)))
}
