package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/hint"
	"plumb/internal/units"
	"plumb/internal/view/metrics"
)

// nagiosFlags are the flags of watch nagios.
type nagiosFlags struct {
	from   string
	target outlet.Target
	limits metrics.Limits
}

// nagiosCommand makes the command plumb watch nagios.
func nagiosCommand(s *shell.Shell) *cobra.Command {
	var f nagiosFlags
	c := &cobra.Command{
		Use:   "nagios",
		Short: "print the state of the host in one line, as an Icinga or Nagios plugin",
		Long: `Nagios reads what plumb watch metrics exports or wrote, and prints one line with
performance data. It needs no rights on the host and queries no server: it answers
at once.

A bottleneck is a WARNING, and CRITICAL once it costs at least --critical of the
server's active time. A server that does not answer, and a failing run of plumb
protect, are CRITICAL too. Data that can be lost, a late data source, and a server
all of whose points are gone are WARNING; the last is CRITICAL with --max-point-age.
Old metrics, a host on which Plumb sees no server or that it has not checked lately,
and a server about which no verdict can be judged are UNKNOWN.

Exit codes, as plugins have them:
  0  OK
  1  WARNING
  2  CRITICAL
  3  UNKNOWN, also when the command line is wrong`,
		Example: `  plumb watch nagios
  plumb watch nagios --from /var/lib/prometheus/node-exporter/plumb.prom
  plumb watch nagios --max-point-age 26h --max-proof-age 192h`,
		Args: func(c *cobra.Command, args []string) error {
			if err := shell.NoArgs(c, args); err != nil { // 2 would be CRITICAL
				return said(s, metrics.UnknownLine(err.Error()), metrics.Unknown)
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return runNagios(c.Context(), s, f) },
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return said(s, metrics.UnknownLine(err.Error()), metrics.Unknown)
	})
	fl := c.Flags()
	fl.StringVar(&f.from, "from", "http://"+usualListen+"/metrics", "read the metrics at `URL-OR-FILE`")
	fl.StringVar(&f.target.Token, "token", "", "log in with the token in `FILE`")
	fl.StringVar(&f.target.CA, "ca", "", "trust the CAs in `FILE` instead of the system's")
	fl.Float64Var(&f.limits.Critical, "critical", 0.5, "a bottleneck that takes this `SHARE` of a server's active time is critical")
	fl.DurationVar(&f.limits.Late, "max-age", 2*time.Minute, "maximum age of the metrics")
	fl.DurationVar(&f.limits.Point, "max-point-age", 0, "maximum age of a server's newest point; 0: not checked")
	fl.DurationVar(&f.limits.Proof, "max-proof-age", 0, "maximum age of the newest proven point; 0: not checked")
	return c
}

// nagiosTime is how long to wait for the metrics. Nagios kills plugins after 10 s.
const nagiosTime = 8 * time.Second

// validate is a usage error if nothing could ever exceed the limits.
func (f *nagiosFlags) validate() error {
	switch {
	case !(f.limits.Critical >= 0 && f.limits.Critical <= 1):
		return fmt.Errorf("--critical %v is out of range: 0 to 1, such as 0.5 for half of a server's active time", f.limits.Critical)
	case f.limits.Late <= 0:
		return fmt.Errorf("--max-age %s is out of range: more than 0, such as 2m", units.Short(f.limits.Late))
	case f.limits.Point < 0 || f.limits.Proof < 0:
		return errors.New("--max-point-age and --max-proof-age cannot be negative; 0 checks neither")
	}
	return nil
}

func runNagios(ctx context.Context, s *shell.Shell, f nagiosFlags) error {
	if err := f.validate(); err != nil {
		return said(s, metrics.UnknownLine(err.Error()), metrics.Unknown)
	}
	ctx, cancel := context.WithTimeout(ctx, nagiosTime)
	defer cancel()
	page, err := f.open(ctx)
	if err != nil {
		return said(s, metrics.UnknownLine(err.Error()+" ("+cmp.Or(hint.Of(err), "does plumb watch metrics run?")+")"), metrics.Unknown)
	}
	defer page.Close()
	line, state := metrics.Plugin(page, time.Now(), f.limits)
	return said(s, line, state)
}

func (f *nagiosFlags) open(ctx context.Context) (io.ReadCloser, error) {
	if strings.HasPrefix(f.from, "http://") || strings.HasPrefix(f.from, "https://") {
		f.target.URL, f.target.Flag = f.from, "--from"
		return outlet.Fetch(ctx, f.target)
	}
	st, err := os.Stat(f.from)
	if err != nil {
		return nil, fmt.Errorf("open what plumb watch metrics writes: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", f.from)
	}
	return os.Open(f.from)
}

// said prints the line of a plugin, and returns the error that ends the command with its state as exit code.
func said(s *shell.Shell, line string, state metrics.State) error {
	if err := s.Print(line); err != nil {
		return err
	}
	if state == metrics.OK {
		return nil
	}
	return shell.Ended{Code: int(state)}
}
