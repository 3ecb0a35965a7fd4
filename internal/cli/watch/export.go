package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/hint"
	"plumb/internal/units"
	view "plumb/internal/view/record"
	"plumb/internal/watch/record"
)

// exportFlags are the flags of watch export.
type exportFlags struct {
	place
	from, to string
	format   string
	output   string
	force    bool
	labels   map[string]string
}

// Forms of an export.
const (
	formLines       = "jsonl"
	formOpenMetrics = "openmetrics"
)

func exportForms() []string { return []string{formOpenMetrics, formLines} }

// exportCommand makes the command plumb watch export.
func exportCommand(s *shell.Shell) *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export",
		Short: "export a part of a recording to Prometheus or another machine",
		Long: `Export writes what is recorded between two times.

The format openmetrics has every value with its time, named as in plumb watch
metrics, for promtool tsdb create-blocks-from openmetrics. The format jsonl has
everything that was recorded, and plumb watch replay --from-file reads it on any
machine.

Times are as for plumb watch replay --at. jsonl contains texts of statements without
literals, and names of users, clients and databases.

` + shell.ReadExits,
		Example: `  plumb watch export --from 03:00 --to 03:20 --format jsonl --output incident.jsonl
  plumb watch export --from 03:00 --label instance=db1 --output db1.om
  promtool tsdb create-blocks-from openmetrics db1.om /var/lib/prometheus`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runExport(c.Context(), s, f) },
	}
	f.flag(c, "the recording is in")
	fl := c.Flags()
	fl.StringVar(&f.from, "from", "", "the first `TIME`")
	fl.StringVar(&f.to, "to", "now", "the last `TIME`")
	fl.StringVar(&f.format, "format", formOpenMetrics, "write it in this `FORM`: "+hint.OneOf(exportForms()))
	fl.StringVarP(&f.output, "output", "o", "", "write to `FILE`, which only its owner can read, instead of standard output")
	fl.BoolVar(&f.force, "force", false, "replace an existing file")
	fl.StringToStringVar(&f.labels, "label", nil, "add the label `NAME=VALUE` to every series of openmetrics")
	shell.Offer(c, map[string]shell.Words{"format": exportForms})
	return c
}

// span parses the times.
func (f exportFlags) span(now time.Time) (from, to time.Time, err error) {
	if f.from == "" {
		return from, to, hint.Usage("no time is given", "--from 03:00 gives the first")
	}
	if from, err = parseMoment("from", f.from, now, time.Local); err == nil {
		to, err = parseMoment("to", f.to, now, time.Local)
	}
	if err == nil && !from.Before(to) {
		err = hint.Usage(fmt.Sprintf("--from %s is not before --to %s", from.Format(time.RFC3339), to.Format(time.RFC3339)), "give the earlier first, or dates with both")
	}
	return from, to, err
}

// plainLabel matches the names a label may have. Those that begin with __ are reserved by Prometheus.
var plainLabel = regexp.MustCompile(`^[a-zA-Z_]?[a-zA-Z0-9][a-zA-Z0-9_]*$`)

func (f exportFlags) validate() error {
	if f.format == "tape" {
		return hint.Usage("a recording cannot become a tape: a tape contains every answer of the host, a recording only the values that were read from them", "--format jsonl is what plumb watch replay --from-file reads")
	}
	if f.format != formLines && f.format != formOpenMetrics {
		return hint.Usage(fmt.Sprintf("--format %s is not known", f.format), "use "+hint.OneOf(exportForms()))
	}
	for name := range f.labels {
		if !plainLabel.MatchString(name) || name[0] >= '0' && name[0] <= '9' {
			return hint.Usage(fmt.Sprintf("--label %q cannot be a label's name", name), "letters, digits and _, such as instance=db1")
		}
		if f.format != formOpenMetrics {
			return hint.Usage("--label goes with --format openmetrics", "leave it out")
		}
	}
	return nil
}

func runExport(ctx context.Context, s *shell.Shell, f exportFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	from, to, err := f.span(time.Now())
	if err != nil {
		return err
	}
	return f.recorded(ctx, func(r *record.Reader) error {
		if err := something(ctx, r, from, to); err != nil {
			return err
		}
		host, err := r.Host(ctx)
		if err != nil {
			return err
		}
		each := func(do func(record.Item) error) error { return r.Each(ctx, from, to, do) }
		if f.output == "" {
			return f.write(s, s.Out, host, each)
		}
		err = shell.WriteFile(f.output, f.force, func(w io.Writer) error { return f.write(s, w, host, each) })
		if err != nil {
			return shell.NotWritten("write "+f.output, err)
		}
		return nil
	})
}

// errOver ends the reading of a recording.
var errOver = errors.New("there is something")

// something is an error if nothing is recorded of a span. It is called before a file is made.
func something(ctx context.Context, r *record.Reader, from, to time.Time) error {
	var lost *record.Lost
	err := r.Each(ctx, from, to, func(i record.Item) error {
		if i.Batch != nil {
			return errOver
		}
		if i.Lost != nil {
			lost = i.Lost
		}
		return nil
	})
	if errors.Is(err, errOver) {
		return nil
	}
	var span [2]time.Time
	if err == nil {
		span[0], span[1], err = r.Span(ctx)
	}
	if err != nil {
		return err
	}
	return nothing("from "+shown(from)+" to "+shown(to), "the recording", lost, span, "plumb watch replay lists what is recorded")
}

func (f exportFlags) write(s *shell.Shell, to io.Writer, host string, each func(func(record.Item) error) error) error {
	if f.format == formLines {
		return record.WriteLines(to, host, each)
	}
	o := view.OpenMetrics{Catalog: feed.Windows(s), Labels: f.labels, Each: each}
	err := o.Write(to)
	if o.Twice > 0 && err == nil {
		fmt.Fprintf(s.Err, "note: the clock was set back: %s left out, of a time that was there already; --format jsonl has all\n", units.Counted(o.Twice, "value", "is", "are"))
	}
	return err
}
