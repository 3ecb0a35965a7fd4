// Package forecast has the commands that say what will be, with a file for each.
package forecast

import (
	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
)

// Command makes plumb forecast and what is below it. read reads the machine that
// flags name.
func Command(s *shell.Shell, read Read) *cobra.Command {
	c := &cobra.Command{
		Use:   "forecast",
		Short: "say when a disk will be full; predict the effect of more memory",
		Long: `Forecast predicts from measurements. Each forecast has a range, its assumptions, and
the results of simpler methods for the same past. If the data does not support a
forecast, Forecast refuses, and names the measurement that is missing.`,
		Example: `  plumb forecast space                                   when is each disk full?
  plumb forecast cache --csv pools.csv --data 95G --at 60G
  plumb forecast volume --size 1T --iops 2700 --io 16K`,
		Args: s.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(spaceCommand(s), scoreCommand(s))
	c.AddCommand(models(s, read)...)
	return c
}
