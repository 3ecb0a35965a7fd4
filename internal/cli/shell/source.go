package shell

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// Source says which machine is read: this one, a server elsewhere, or a tape.
type Source struct {
	CommandTime time.Duration // for one command; 0 for the default of package host
	Tape        string        // a file or directory; - for standard input
	DSN         string        // of a server to log in to in addition to those that are found
	Timeout     time.Duration // for all reading
}

// Flags adds the flags of a command that reads a machine or a tape.
func (s *Source) Flags(c *cobra.Command) {
	c.Flags().StringVar(&s.Tape, "tape", "", "read a recorded host from `FILE` instead of this one; - for standard input, a directory for many")
	if err := c.MarkFlagFilename("tape", "tape", "tape.gz", "gz"); err != nil {
		panic(err)
	}
	s.LiveFlags(c)
}

// LiveFlags adds only those flags that are about this machine.
func (s *Source) LiveFlags(c *cobra.Command) {
	SecretVar(c, &s.DSN, "dsn", "", "also log in to the server at `URL`, such as postgres://user@host/db or mysql://user@host:3306/; default: $PLUMB_DSN")
	c.Flags().DurationVar(&s.Timeout, "timeout", check.DefaultTimeout, "stop after this time, and list what was not read")
}

// Validate is a usage error if the flags make no sense.
func (s Source) Validate() error {
	if s.Tape != "" && s.DSN != "" {
		return hint.Usage("--dsn logs in to a server, and --tape reads none", "give one of them")
	}
	if s.Timeout <= 0 {
		return hint.Usage(fmt.Sprintf("--timeout %s leaves no time", units.Short(s.Timeout)), "give something like --timeout 30s")
	}
	return nil
}

// IsDirectory tells whether --tape names a directory, which stands for all tapes in it.
func (s Source) IsDirectory() bool {
	if s.Tape == "" || s.Tape == "-" {
		return false
	}
	info, err := os.Stat(s.Tape)
	return err == nil && info.IsDir()
}
