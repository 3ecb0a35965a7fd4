package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// known is a quantity with what is known of it.
type known struct {
	series  forecast.Series
	limit   *space.Limit
	bounded bool
	changes []space.Change
	keeps   string            // what settings say of how long this is kept, for people; "" where none is known
	read    []string          // how what is known was read
	full    []time.Time       // days on which it was full
	nothing *forecast.Refusal // why no day is known, where that can be said
}

// came is what forecasts of it are judged by: not by readings that failed.
func (k known) came() forecast.Series {
	if k.bounded {
		return k.series
	}
	return k.series.Sound().Series
}

// source are the flags that say where the past is.
type source struct {
	csv, dir, prometheus, query string
	limit                       limitSize
	end                         time.Time // what is of later is not read; zero: nothing is
}

// limitSize is a size that something fits in.
type limitSize struct{ value.Size }

// Set implements pflag.Value.
func (l *limitSize) Set(text string) error {
	if err := l.Size.Set(text); err != nil || l.Size > 0 {
		return err
	}
	return errors.New("nothing fits into that: use a size such as 500G")
}

func (f *source) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.csv, "csv", "", "read `FILE`, with a header such as date,used_bytes, and columns for a size, and for a name if there are several; or a log of the output of df; - for standard input")
	fl.StringVar(&f.dir, "dir", "", "read the recording in `DIR` instead of the one of this host")
	fl.StringVar(&f.prometheus, "prometheus", "", "query the Prometheus at `URL`, such as http://127.0.0.1:9090")
	fl.StringVar(&f.query, "query", "", "query Prometheus with this `EXPR`, which returns bytes; default: bytes used in filesystems")
	fl.Var(&f.limit, "limit", "assume that it is full at this size, such as 500G; default: what the source reports")
}

func (f source) validate() error {
	given := 0
	for _, place := range []string{f.csv, f.dir, f.prometheus} {
		if place != "" {
			given++
		}
	}
	if given > 1 {
		return hint.Usage("more than one source is named", "give one of --csv, --dir and --prometheus")
	}
	if f.query != "" && f.prometheus == "" {
		return hint.Usage("--query goes with --prometheus", "plumb forecast space --prometheus http://127.0.0.1:9090 --query EXPR")
	}
	return nil
}

// read gives all that is known.
func (f source) read(ctx context.Context, in io.Reader) (all []known, from string, err error) {
	switch {
	case f.csv != "":
		from = f.csv
		all, err = f.fromCSV(in)
	case f.prometheus != "":
		from = "Prometheus"
		all, err = f.fromPrometheus(ctx, f.until(time.Now()))
	default:
		from = "the recording"
		all, err = f.fromRecording(ctx)
	}
	if err != nil {
		return nil, from, err
	}
	if len(all) == 0 {
		return nil, from, f.nothing(from)
	}
	stale(all, f.newest(all, time.Now()), f.csv == "")
	return all, from, f.limited(all)
}

// limited takes --limit for what is full at it.
func (f source) limited(all []known) error {
	if f.limit.Size == 0 {
		return nil
	}
	for i, k := range all {
		all[i].limit = &space.Limit{Bytes: float64(f.limit.Size), Why: "given by --limit"}
		if n := len(k.series.Days); n > 0 && k.series.Last().Value > otherUnit*float64(f.limit.Size) {
			return hint.Usage(fmt.Sprintf("--limit %s is less than a thousandth of what %s uses, %s: without a unit it is in bytes",
				f.limit.String(), k.series.Quantity.Of, units.Measured(k.series.Last().Value)), "such as --limit 500G")
		}
	}
	return nil
}

// otherUnit is by how many times more in use than there is, the limit is in another unit.
const otherUnit = 1000

// longUnread is the number of days after which a thing of which nothing more is known may be gone: what is forecast may be
// read as seldom as this.
const longUnread = 10

// newest is the day up to which something could be known.
func (f source) newest(all []known, now time.Time) (day time.Time) {
	if f.csv == "" { // it is asked now
		return f.until(now)
	}
	for _, k := range all {
		if n := len(k.series.Days); n > 0 && k.series.Last().Date.After(day) {
			day = k.series.Last().Date
		}
	}
	return day
}

// stale says of what nothing is known lately, until when it was.
func stale(all []known, newest time.Time, asked bool) {
	for i, k := range all {
		if len(k.series.Days) == 0 {
			continue
		}
		last, than := k.series.Last().Date, "the newest reading of another"
		if asked {
			than = newest.Format(time.DateOnly)
		}
		if days := int(newest.Sub(last) / (24 * time.Hour)); days > longUnread {
			all[i].read = append(slices.Clone(k.read), fmt.Sprintf("there are no readings since %s, %d days before %s: does it still exist?", last.Format(time.DateOnly), days, than))
		}
	}
}

// until is the last moment of which something is read.
func (f source) until(now time.Time) time.Time {
	if !f.end.IsZero() && f.end.Before(now) {
		return f.end.Add(-time.Nanosecond)
	}
	return now
}

// mostHistory is how much of a file of readings is read: those of years, a row a minute.
const mostHistory = 256 << 20

func (f source) fromCSV(in io.Reader) (all []known, err error) {
	text, err := shell.ReadFile(f.csv, in, mostHistory)
	if errors.Is(err, shell.ErrLarge) {
		err = hint.With(err, "a row a day is enough")
	}
	if err != nil {
		return nil, hint.With(fmt.Errorf("read %s: %w", f.csv, err), cmp.Or(hint.Of(err), "it has a header, such as date,used_bytes, and a row a day; a log of df will do"))
	}
	r, err := forecast.ParseCSV(text, f.end)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.csv, err)
	}
	name := "standard input"
	if f.csv != "-" {
		name = filepath.Base(f.csv)
	}
	for _, t := range r.Tables {
		k, err := f.ofTable(name, t)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.csv, err)
		}
		k.read = append(k.read, r.Notes...)
		all = append(all, k)
	}
	return all, nil
}

// ofTable is what a file tells of one thing.
func (f source) ofTable(name string, t forecast.Table) (k known, err error) {
	if t.Of != "" {
		name += " " + t.Of
	}
	if t.Percent {
		if f.limit.Size == 0 {
			return k, hint.With(errors.New("the space used is in per cent, and the size is not given"), "add a column with the size, or give --limit 500G")
		}
		for i := range t.Days {
			t.Days[i].Value *= float64(f.limit.Size) / 100
		}
		k.read = append(k.read, "the space used is taken as per cent of --limit, as if that had always been the size")
	}
	k.series = forecast.Daily(forecast.Quantity{Of: name, Name: "used", Unit: "bytes"}, t.Days)
	k.full = t.Full
	if t.Size > 0 {
		k.limit = &space.Limit{Bytes: t.Size, Why: t.Why}
	}
	return k, nil
}

// nothing is said when a source has nothing that is forecast.
func (f source) nothing(from string) error {
	if !f.end.IsZero() {
		return hint.With(fmt.Errorf("%s has no figures on disk space before %s", from, f.end.Format(time.DateOnly)), "name a later day")
	}
	if f.prometheus != "" {
		return hint.With(errors.New(from+" has no series for the query"), "does it scrape node_exporter? --query EXPR asks for other metrics")
	}
	return hint.With(errors.New(from+" has no figures on disk space"), "plumb watch record records it; --csv and --prometheus read it from elsewhere")
}
