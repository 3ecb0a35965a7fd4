package forecast

import (
	"context"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast"
	view "plumb/internal/view/forecast"
)

// scoreFlags are the flags of forecast score.
type scoreFlags struct {
	source
	kept string
	json bool
}

func scoreCommand(s *shell.Shell) *cobra.Command {
	var f scoreFlags
	c := &cobra.Command{
		Use:   "score",
		Short: "compare kept forecasts with what happened",
		Long: `Score compares the forecasts that plumb forecast space --keep saved with
what happened: how many values were within the 80 and the 95 % interval, which
should be 80 and 95 % of them, and how far they were off. Days without data are
not judged.

It reads the same sources as plumb forecast space, and changes nothing.

` + shell.ReadExits,
		Example: `  plumb forecast score
  plumb forecast score --csv growth.csv --json`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runScore(c.Context(), s, f) },
	}
	f.source.flags(c)
	keptPlace().Var(c, &f.kept, "forecasts are kept in")
	shell.JSONFlag(c, &f.json, "")
	return c
}

func runScore(ctx context.Context, s *shell.Shell, f scoreFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	kept, err := readKept(s, f.kept)
	if err != nil {
		return err
	}
	all, from, err := f.read(ctx, s.In)
	if err != nil {
		return err
	}
	of := map[forecast.Quantity][]forecast.Kept{}
	for _, k := range kept {
		of[k.Quantity] = append(of[k.Quantity], k)
	}
	var scores []forecast.Score
	for _, k := range all {
		if made := of[k.series.Quantity]; len(made) > 0 {
			scores = append(scores, forecast.ScoreOf(made, k.came()))
			delete(of, k.series.Quantity)
		}
	}
	return s.Answer(f.json, view.ScoreDocument(scores, len(of), from), view.ScoreText(scores, len(of), from, shell.Screen(s.Out)))
}
