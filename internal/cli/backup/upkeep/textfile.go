package upkeep

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/view/metrics"
)

// Textfile is a file in which monitoring finds how old backups are; none without a name.
type Textfile struct{ at outlet.Textfile }

// Flags adds the flag that names it.
func (t *Textfile) Flags(c *cobra.Command) {
	c.Flags().StringVar(&t.at.Path, "textfile", "", "write `DIR/NAME.prom` for node_exporter's textfile collector")
}

// Validate finds what is wrong with its name.
func (t *Textfile) Validate() error {
	if t.at.Path == "" {
		return nil
	}
	return t.at.Validate()
}

// Write writes what a list of backups tells. When the list fails what was there of the one before stays, and says its hour.
func (t *Textfile) Write(from string, all []backup.Found) error {
	if t.at.Path == "" {
		return nil
	}
	return t.at.Write(func(w io.Writer) error { return metrics.Backups(w, from, all, time.Now()) })
}
