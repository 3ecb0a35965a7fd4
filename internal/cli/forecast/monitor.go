package forecast

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/stats"
	"plumb/internal/units"
	view "plumb/internal/view/forecast"
)

// monitorFlags are the flags of forecast monitor.
type monitorFlags struct {
	hosts    int
	series   float64
	interval time.Duration
	days     int
	json     bool
}

func monitorCommand(s *shell.Shell) *cobra.Command {
	var f monitorFlags
	c := &cobra.Command{
		Use:   "monitor",
		Short: "say what a monitoring server needs for a number of hosts",
		Long: `Monitor predicts series, samples per second, memory, cores and disk of a Prometheus
or similar server. The number of series per host differs tenfold and more between
installations: count the lines that your exporters return, and give them with
--series.

` + modelExits,
		Example: `  plumb forecast monitor --hosts 200
  plumb forecast monitor --hosts 1000 --series 2000 --interval 1s --days 30`,
		Args: shell.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runMonitor(s, f) },
	}
	fl := c.Flags()
	fl.IntVar(&f.hosts, "hosts", 0, "`NUMBER` of hosts")
	fl.Float64Var(&f.series, "series", 0, "measured `NUMBER` of series per host")
	fl.DurationVar(&f.interval, "interval", 15*time.Second, "scrape interval of each host")
	fl.IntVar(&f.days, "days", 15, "samples are kept for this many `DAYS`")
	shell.JSONFlag(c, &f.json, "")
	return c
}

// Limits of the flags, beyond what anybody monitors with one server.
const (
	mostHosts  = 10_000_000
	mostDays   = 36_500
	mostSeries = 1e9
	// the shortest interval at which anybody scrapes an exporter
	leastInterval = 100 * time.Millisecond
)

func runMonitor(s *shell.Shell, f monitorFlags) error {
	if f.hosts < 1 || f.hosts > mostHosts {
		return hint.Usage(fmt.Sprintf("--hosts %d is out of range: how many hosts are monitored?", f.hosts), fmt.Sprintf("1 to %d, such as --hosts 200", mostHosts))
	}
	switch {
	case f.interval < leastInterval:
		return hint.Usage(fmt.Sprintf("--interval %s is not an interval between two samples", units.Short(f.interval)), fmt.Sprintf("%s or more, such as --interval 15s", units.Short(leastInterval)))
	case f.days < 0 || f.days > mostDays:
		return hint.Usage(fmt.Sprintf("--days %d is out of range", f.days), fmt.Sprintf("0 to %d, such as --days 15", mostDays))
	case !(f.series >= 0 && f.series <= mostSeries):
		return hint.Usage(fmt.Sprintf("--series %g is not a number of series of one host", f.series), fmt.Sprintf("up to %.0f, such as --series 2500", mostSeries))
	}
	m := model.Monitoring{Hosts: float64(f.hosts), Interval: f.interval.Seconds(), Retention: float64(f.days)}
	if f.series > 0 {
		m.Series = stats.Exactly(f.series)
	}
	return told(s, "monitor", "Monitoring of "+units.Count(f.hosts, "host"), f.json, []view.Asked{{Result: m.Predict()}})
}
