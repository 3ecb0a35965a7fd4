package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/hint"
	view "plumb/internal/view/forecast"
)

// spaceFlags are the flags of forecast space.
type spaceFlags struct {
	source
	at    string
	asOf  string
	only  string
	html  string
	kept  string
	keep  bool
	force bool
	json  bool
}

func spaceCommand(s *shell.Shell) *cobra.Command {
	var f spaceFlags
	c := &cobra.Command{
		Use:   "space",
		Short: "say when filesystems, datasets, pools and logs are full",
		Long: `Space forecasts for each filesystem, dataset and pool of this host, and for what
servers keep on them, how much space will be used on a day, when it will be full,
and how certain that is. It reads a recording of plumb watch record, a CSV file, a
log of df, or a Prometheus.

It draws 2,000 futures from stretches of the past daily growth, with several methods
that are weighted by how well they forecast earlier days of the same series, and
counts when the futures reach the limit. Naive methods, such as Prometheus's
predict_linear, are compared with it, and used where they do better.

Days are counted from the last known one. If the past does not support a forecast,
Space refuses, and says what to measure. --as-of forecasts as on an earlier day, to
compare the result with what has happened since.

It changes nothing; with --keep it keeps the forecast, for plumb forecast score.

Exit codes:
  0  done
  2  the command line is wrong
  3  it could not read what it needs, or everything is refused`,
		Example: `  plumb forecast space
  plumb forecast space --at +90d --html space.html
  plumb forecast space --csv growth.csv --at 2027-03-01 --json
  plumb forecast space --csv growth.csv --as-of 2026-05-13 --at +30d --json
  plumb forecast space --prometheus http://127.0.0.1:9090 --keep`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSpace(c.Context(), s, f) },
	}
	f.source.flags(c)
	fl := c.Flags()
	fl.StringVar(&f.at, "at", "+90d", "the `DAY` to forecast: +90d after the last known one, or a date such as 2027-03-01")
	fl.StringVar(&f.asOf, "as-of", "", "forecast as if it were the end of this `DAY`, such as 2026-05-13: nothing later is read")
	fl.StringVar(&f.only, "only", "", "only things with `TEXT` in their name, such as dataset: or space_binlog")
	fl.StringVar(&f.html, "html", "", "also write an HTML page to `FILE`")
	fl.BoolVar(&f.force, "force", false, "replace an existing file of --html")
	fl.BoolVar(&f.keep, "keep", false, "keep the forecast for plumb forecast score")
	shell.JSONFlag(c, &f.json, "")
	keptPlace().Var(c, &f.kept, "forecasts are kept in")
	return c
}

func runSpace(ctx context.Context, s *shell.Shell, f spaceFlags) error {
	if err := cmp.Or(f.validate(), f.goBack()); err != nil {
		return err
	}
	if strings.HasPrefix(f.at, "+") { // a date needs the last day that is known
		if _, err := parseAt(f.at, time.Time{}); err != nil {
			return err
		}
	}
	if err := shell.RoomFor("--html", f.html, f.force); err != nil {
		return err
	}
	all, from, err := f.read(ctx, s.In)
	if err != nil {
		return err
	}
	results, err := f.forecast(all)
	if err != nil {
		return err
	}
	if f.keep {
		if err := keepAll(s, f.kept, results); err != nil {
			return err
		}
	}
	if f.html != "" {
		page, err := view.HTML(results, from, shell.Version())
		if err != nil {
			return err
		}
		if err := s.WritePage(f.html, f.force, page); err != nil {
			return err
		}
	}
	if err := s.Answer(f.json, view.Document(results, from), view.Text(results, from, shell.Screen(s.Out))); err != nil {
		return err
	}
	return refused(results)
}

// goBack reads what --as-of says.
func (f *spaceFlags) goBack() error {
	if f.asOf == "" {
		return nil
	}
	day, err := time.Parse(time.DateOnly, f.asOf)
	if err != nil {
		return hint.Usage(fmt.Sprintf("--as-of %s is not a date", f.asOf), "a date such as 2026-05-13")
	}
	f.end = day.AddDate(0, 0, 1)
	return nil
}

// forecast forecasts what was asked for. Of a thing that is no longer there, a date may be too far ahead;
// it hides no other.
func (f spaceFlags) forecast(all []known) (results []space.Result, err error) {
	asked, outside := 0, error(nil)
	for _, k := range all {
		q := k.series.Quantity
		if !strings.Contains(q.Of+" "+q.Name, f.only) {
			continue
		}
		ask := space.Ask{Limit: k.limit, Bounded: k.bounded, Changes: k.changes, Keeps: k.keeps, Read: k.read, Full: k.full}
		if k.nothing != nil {
			results, asked = append(results, space.Refuse(k.series, ask, *k.nothing)), asked+1
			continue
		}
		last := time.Now()
		if len(k.series.Days) > 0 {
			last = k.series.Last().Date
		}
		days, err := parseAt(f.at, last)
		if err != nil {
			outside = cmp.Or(outside, err)
			results = append(results, space.Refuse(k.series, ask, forecast.Refusal{Why: err.Error(), Measure: hint.Of(err)}))
			continue
		}
		ask.Days, asked = days, asked+1
		results = append(results, space.Of(k.series, ask))
	}
	if asked == 0 && outside != nil {
		return nil, outside
	}
	if len(results) == 0 {
		return nil, hint.Usage(fmt.Sprintf("nothing has %q in its name", f.only), "leave out --only to see everything")
	}
	return results, nil
}

// refused is the error where nothing is forecast at all.
func refused(results []space.Result) error {
	for _, r := range results {
		if r.Refusal == nil {
			return nil
		}
	}
	if len(results) == 1 {
		return fmt.Errorf("forecast %s: %w", results[0].Quantity.Of, results[0].Refusal)
	}
	return errors.New("all forecasts are refused")
}

// parseAt gives how many days after the last known one a day is.
func parseAt(text string, last time.Time) (days int, err error) {
	want := "+90d, +12w or a date such as 2027-03-01"
	if number, is := strings.CutPrefix(text, "+"); is {
		each := 1
		switch {
		case strings.HasSuffix(number, "d"):
			number = strings.TrimSuffix(number, "d")
		case strings.HasSuffix(number, "w"):
			number, each = strings.TrimSuffix(number, "w"), 7
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > space.MostDays/each {
			return 0, hint.Usage(fmt.Sprintf("--at %s is not a day that can be forecast", text), want+", at most three years")
		}
		return n * each, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, hint.Usage(fmt.Sprintf("--at %s is not a day", text), want)
	}
	days = int(at.Sub(last.Truncate(24*time.Hour)) / (24 * time.Hour))
	if days < 1 || days > space.MostDays {
		return 0, hint.Usage(fmt.Sprintf("--at %s is not within three years after %s, the last day that is known", text, last.Format(time.DateOnly)), want)
	}
	return days, nil
}
