package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	view "plumb/internal/view/forecast"
)

// wearFlags are the flags of forecast wear.
type wearFlags struct {
	recording
	csv  string
	json bool
}

func wearCommand(s *shell.Shell) *cobra.Command {
	var f wearFlags
	c := &cobra.Command{
		Use:   "wear",
		Short: "say when each SSD has used up its rated endurance",
		Long: `Wear predicts the day on which each SSD has used up its rated endurance, from the
percentage used that it reported over time: from a recording of plumb watch, or a
CSV file. An SSD reports a whole number of per cent, and no date is predicted before
the value has risen by two.

` + modelExits,
		Example: `  plumb forecast wear
  plumb forecast wear --csv wear.csv`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runWear(c.Context(), s, f) },
	}
	f.recording.flag(c)
	c.Flags().StringVar(&f.csv, "csv", "", "read what the drives reported from `FILE`, with a header and the columns date, percent and, for several drives, device")
	shell.JSONFlag(c, &f.json, "")
	return c
}

func runWear(ctx context.Context, s *shell.Shell, f wearFlags) error {
	if f.csv != "" && f.dir != "" {
		return hint.Usage("--csv and --dir cannot be combined", "give one of them")
	}
	read := f.recorded
	if f.csv != "" {
		read = f.listed
	}
	drives, err := read(ctx)
	if err != nil {
		return err
	}
	var all []view.Asked
	for _, d := range drives {
		worn := model.Wear(d.name, d.told)
		if d.note != "" {
			worn.Warnings = append([]string{d.note}, worn.Warnings...)
		}
		all = append(all, view.Asked{About: d.name, Result: worn})
	}
	return told(s, "wear", "Wear of SSDs", f.json, all)
}

// drive is what one SSD told.
type drive struct {
	name string
	told []model.Worn
	note string // what is to be said of it besides; "" if nothing
}

func inOrder(by map[string][]model.Worn) (all []drive) {
	for name, told := range by {
		all = append(all, drive{name: name, told: told})
	}
	slices.SortFunc(all, func(a, b drive) int { return cmp.Compare(a.name, b.name) })
	return all
}

// recorded reads a recording of watch.
func (f wearFlags) recorded(ctx context.Context) ([]drive, error) {
	w := newWearing()
	if err := f.recording.each(ctx, w.item); err != nil {
		return nil, err
	}
	if len(w.names) == 0 {
		return nil, hint.With(errors.New("forecast wear: the recording has no SSD that reports its wear"), "NVMe drives report it to root if nvme-cli is installed; cloud volumes do not")
	}
	return w.drives(), nil
}

// listed reads a CSV file.
func (f wearFlags) listed(context.Context) ([]drive, error) {
	t, err := table(f.csv)
	if err != nil {
		return nil, err
	}
	at, err := t.Times("date")
	if err != nil {
		return nil, err
	}
	percent, err := t.Percents("percent")
	if err != nil {
		return nil, err
	}
	if len(at) == 0 {
		return nil, hint.With(fmt.Errorf("read %s: below its header it has no reading", f.csv), "a row for each, such as 2026-11-25,14")
	}
	names := make([]string, len(at))
	if t.Has("device") {
		if names, err = t.Texts("device"); err != nil {
			return nil, err
		}
	}
	by, seen := map[string][]model.Worn{}, map[moment]int{}
	for i := range at {
		name := cmp.Or(names[i], "drive")
		before, is := seen[moment{name, at[i].Unix()}]
		if is && math.Abs(percent[i]-percent[before]) > 1 { // on the day on which it rises both are right
			return nil, hint.With(fmt.Errorf("read %s: line %d has %g %% for the same time as line %d, which has %g %%", f.csv, t.Line(i), percent[i], t.Line(before), percent[before]),
				"where there are several drives, a column device names them")
		}
		seen[moment{name, at[i].Unix()}] = i
		by[name] = append(by[name], model.Worn{At: at[i], Percent: percent[i]})
	}
	return inOrder(by), nil
}

// moment is when a drive told something.
type moment struct {
	drive string
	unix  int64
}
