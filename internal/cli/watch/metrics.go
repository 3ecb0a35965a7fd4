package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/await"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/hint"
	"plumb/internal/units"
	"plumb/internal/view/metrics"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

// metricsFlags are the flags of watch metrics.
type metricsFlags struct {
	shell.Source
	listen     outlet.Listening
	textfile   outlet.Textfile
	target     outlet.Target
	version    string // of remote write
	labels     map[string]string
	every      time.Duration
	once       bool
	compat     []string
	mostSeries int
	statements int
}

// usualListen is where to listen unless a flag says otherwise.
const usualListen = "127.0.0.1:9931"

// metricsCommand makes the command plumb watch metrics.
func metricsCommand(s *shell.Shell, a feed.Adapters, from feed.Feed) *cobra.Command {
	var f metricsFlags
	c := &cobra.Command{
		Use:   "metrics",
		Short: "export what watch sees to Prometheus and compatible systems",
		Long: `Metrics watches this host, and exports what it sees at /metrics, in a file for
node_exporter (--textfile), or by remote write (--remote-write). A scrape returns
the last sample; no server is queried because of it. Late data has no series:
neither an old value nor a zero.

plumb_bottleneck{verdict,server} is 1 while a bottleneck limits a server, otherwise
0. A verdict that cannot be judged has no series.

Beyond this machine it listens only with TLS, and answers only those who have the
token of --token or a certificate signed by --client-ca. Secrets are read from
files.

` + shell.ReadExits,
		Example: `  plumb watch metrics                                      at http://127.0.0.1:9931/metrics
  plumb watch metrics --once | promtool check metrics      one page, and stop
  plumb watch metrics --textfile /var/lib/prometheus/node-exporter/plumb.prom
  plumb watch metrics --listen :9931 --tls-cert c.pem --tls-key k.pem --token /etc/plumb/scrape.token
  plumb watch metrics --remote-write https://metrics.example/api/v1/write --remote-login /etc/plumb/push.login`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runMetrics(c.Context(), s, a, from, f) },
	}
	f.LiveFlags(c)
	fl := c.Flags()
	fl.StringVar(&f.listen.Address, "listen", "", "serve /metrics at `ADDRESS`; "+usualListen+" if there is no other output")
	fl.StringVar(&f.listen.Cert, "tls-cert", "", "use the certificate in `FILE`; a renewed one is used at once")
	fl.StringVar(&f.listen.Key, "tls-key", "", "use the key of the certificate, in `FILE`")
	fl.StringVar(&f.listen.Token, "token", "", "answer only those who send the token in `FILE` (Authorization: Bearer …)")
	fl.StringVar(&f.listen.ClientCA, "client-ca", "", "answer only clients with a certificate signed by a CA in `FILE`")
	fl.StringVar(&f.textfile.Path, "textfile", "", "write `DIR/NAME.prom` for node_exporter's textfile collector; removed at the end")
	fl.StringVar(&f.target.URL, "remote-write", "", "send by remote write to `URL`")
	fl.StringVar(&f.version, "remote-write-version", writeVersions()[0], "use this `VERSION` of remote write; a receiver that rejects 2.0 is sent 1.0")
	fl.StringVar(&f.target.Token, "remote-token", "", "log in with the token in `FILE`")
	fl.StringVar(&f.target.Login, "remote-login", "", "log in with the user:password in `FILE`")
	fl.StringVar(&f.target.CA, "remote-ca", "", "trust the CAs in `FILE` instead of the system's")
	fl.StringVar(&f.target.Cert, "remote-cert", "", "use the client certificate in `FILE`")
	fl.StringVar(&f.target.Key, "remote-key", "", "use the key of the certificate, in `FILE`")
	fl.StringToStringVar(&f.labels, "label", nil, "add `NAME=VALUE` to every series that is sent; instance is the host's name and job plumb otherwise")
	fl.DurationVar(&f.every, "interval", 15*time.Second, "how often to write the file and to send")
	fl.BoolVar(&f.once, "once", false, "print one page after the first window, and stop")
	fl.StringSliceVar(&f.compat, "compat", nil, "use the metric names of these `EXPORTERS` where they have them, instead of Plumb's: "+strings.Join(metrics.Exporters(), ", "))
	fl.IntVar(&f.mostSeries, "max-series", metrics.MostSeries, "export at most `N` series; servers and what they run on come first")
	fl.IntVar(&f.statements, "statements", 0, "also export the `N` most expensive statements of each server, without literals")
	shell.Offer(c, map[string]shell.Words{"compat": metrics.Exporters, "remote-write-version": writeVersions})
	return c
}

func writeVersions() []string { return []string{"1.0", "2.0"} }

// validate is a usage error if the flags make no sense.
func (f *metricsFlags) validate() error {
	if f.listen.Address == "" && f.textfile.Path == "" && f.target.URL == "" && !f.once {
		f.listen.Address = usualListen
	}
	if f.textfile.Path != "" {
		if err := f.textfile.Validate(); err != nil {
			return err
		}
	}
	for name := range f.labels {
		if !metrics.GoodLabel(name) {
			return hint.Usage(fmt.Sprintf("--label %s=… is not a valid name for a label", name), "letters, digits and _, such as --label site=berlin")
		}
	}
	switch {
	case f.every < time.Second || f.every > time.Hour:
		return hint.Usage(fmt.Sprintf("--interval %s is out of range", units.Short(f.every)), "1s to 1h")
	case !slices.Contains(writeVersions(), f.version):
		return hint.Usage(fmt.Sprintf("--remote-write-version %s is not known", f.version), "use "+hint.OneOf(writeVersions()))
	case f.mostSeries < 100 || f.mostSeries > 1_000_000:
		return hint.Usage(fmt.Sprintf("--max-series %d is out of range", f.mostSeries), "100 to 1000000")
	case f.statements < 0 || f.statements > 500:
		return hint.Usage(fmt.Sprintf("--statements %d is out of range", f.statements), "0 to 500")
	case f.listen.Address == "" && (f.listen.Cert != "" || f.listen.Token != "" || f.listen.ClientCA != ""):
		return hint.Usage("--tls-cert, --token and --client-ca are only for --listen, and nothing listens", "--listen ADDRESS")
	case f.target.URL == "" && (f.target.Token != "" || f.target.Login != "" || f.target.CA != "" || f.target.Cert != "" || len(f.labels) > 0):
		return hint.Usage("--remote-… and --label are only for remote write, and there is no --remote-write", "--remote-write URL")
	}
	return f.Source.Validate()
}

func runMetrics(ctx context.Context, s *shell.Shell, a feed.Adapters, from feed.Feed, f metricsFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	e, err := f.exporter(s)
	if err != nil {
		return err
	}
	o, err := f.open(s, e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, run := range o.runs {
		running.Go(func() {
			if err := run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	look := &looker{ctx: ctx, e: e, shell: s, with: a}
	if f.once {
		running.Go(func() { cancel(printOnce(ctx, s, e, fullWindow)) })
	}
	err = from(ctx, f.Source, seen{e, look})
	cancel(err)
	running.Wait()
	look.done.Wait()
	switch cause := context.Cause(ctx); {
	case f.once && errors.Is(cause, context.Canceled):
		return errors.New("print the metrics of this host: interrupted")
	case errors.Is(cause, errPrinted), errors.Is(cause, context.Canceled):
		return o.close()
	default:
		return errors.Join(cause, o.close())
	}
}

// exporter makes what keeps the last samples for metrics.
func (f *metricsFlags) exporter(s *shell.Shell) (*metrics.Exporter, error) {
	cat := feed.Windows(s)
	compat, err := metrics.LoadCompat(knowledge.FS, cat, f.compat)
	if err != nil {
		return nil, hint.Usage("--compat: "+err.Error(), strings.Join(metrics.Exporters(), ","))
	}
	return metrics.New(metrics.Options{Catalog: cat, Verdicts: verdict.IDs(knowledge.FS), Compat: compat, MostSeries: f.mostSeries, Statements: f.statements, Version: shell.Version()}), nil
}

// opened holds all the ways by which metrics leave.
type opened struct {
	runs  []func(context.Context) error
	close func() error
}

// open opens all outlets that flags ask for. It is called before the first sample is taken.
func (f *metricsFlags) open(s *shell.Shell, e *metrics.Exporter) (o opened, err error) {
	o.close = func() error { return nil }
	if f.listen.Address != "" {
		l, err := outlet.Listen(f.listen)
		if err != nil {
			return o, err
		}
		fmt.Fprintf(s.Err, "metrics at %s://%s/metrics\n", map[bool]string{true: "https", false: "http"}[f.listen.Cert != ""], l.Addr())
		o.runs = append(o.runs, func(ctx context.Context) error { return l.Serve(ctx, e.Handler(!l.Here())) })
	}
	if f.target.URL != "" {
		f.target.Second = f.version == writeVersions()[1]
		push, err := outlet.NewPush(f.target, "plumb/"+shell.Version(), func(err error) { s.Warn("remote write", err) })
		if err != nil {
			return o, err
		}
		e.Sending(func() metrics.Outgoing { return metrics.Outgoing(push.Counts()) })
		remote := e.Remote(f.common())
		o.runs = append(o.runs, func(ctx context.Context) error { push.Run(ctx); return nil },
			f.repeat(func() { push.Add(remote.Request(time.Now())) }))
	}
	if f.textfile.Path != "" {
		if err := f.textfile.Tidy(); err != nil {
			return o, err
		}
		changed := outlet.OnChange(func(err error) { s.Warn("textfile", err) })
		o.runs = append(o.runs, f.repeat(func() { changed(f.textfile.Write(e.Text)) }))
		o.close = f.textfile.Remove
	}
	return o, nil
}

// common are the labels of every series that is sent.
func (f *metricsFlags) common() map[string]string {
	all := map[string]string{"job": "plumb"}
	if name, err := os.Hostname(); err == nil {
		all["instance"] = name
	}
	for name, value := range f.labels {
		all[name] = value
	}
	return all
}

// repeat returns a run that calls do at each multiple of the period after its
// start.
func (f *metricsFlags) repeat(do func()) func(context.Context) error {
	return func(ctx context.Context) error {
		tick := time.NewTicker(f.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do()
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// errPrinted ends a run with --once.
var errPrinted = errors.New("the page is printed")

// fullWindow is how long --once waits: for one window, and for the first reading of
// sources that are sampled every 10 s.
const fullWindow = 12 * time.Second

// untilJudged is how much longer it waits for the first verdicts, on a host where finding the servers takes long.
const untilJudged = time.Minute

func printOnce(ctx context.Context, s *shell.Shell, e *metrics.Exporter, full time.Duration) error {
	end := waiting(ctx, s, full)
	_ = await.Pause(ctx, full)
	select {
	case <-e.Judged():
	case <-time.After(untilJudged):
	case <-ctx.Done():
	}
	end()
	if ctx.Err() != nil {
		return nil
	}
	var b strings.Builder
	if err := e.Text(&b); err != nil {
		return err
	}
	if _, err := io.WriteString(s.Out, b.String()); err != nil {
		return err
	}
	return errPrinted
}
