package upkeep

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/view/metrics"
)

// Textfile is the name of a file in which monitoring finds how old backups are; "" for none.
type Textfile struct{ at outlet.Textfile }

// Flags adds the flag that names the file.
func (t *Textfile) Flags(c *cobra.Command) {
	c.Flags().StringVar(&t.at.Path, "textfile", "", "write `DIR/NAME.prom` for node_exporter's textfile collector")
}

// Validate is a usage error if the name cannot be used.
func (t *Textfile) Validate() error {
	if t.at.Path == "" {
		return nil
	}
	return t.at.Validate()
}

// Write writes what monitoring needs of a list of backups. If the list failed, the file keeps what it says, with the time of that.
func (t *Textfile) Write(from string, all []backup.Found) error {
	if t.at.Path == "" {
		return nil
	}
	return t.at.Write(func(w io.Writer) error { return metrics.Backups(w, from, all, time.Now()) })
}
