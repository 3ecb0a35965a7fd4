package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/hint"
)

// source says which machine is read: this one, a server elsewhere, or a tape.
type source struct {
	tape    string
	dsn     string
	timeout time.Duration
}

func (s *source) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.tape, "tape", "", "read a captured host from `FILE` instead of this one; - for standard input, a directory for many")
	if err := c.MarkFlagFilename("tape", "tape", "tape.gz", "gz"); err != nil {
		panic(err)
	}
	s.liveFlags(c)
}

// liveFlags are the flags that concern this machine.
func (s *source) liveFlags(c *cobra.Command) {
	secretVar(c, &s.dsn, "dsn", "", "log in to the server at `URL` too, such as postgres://user@host/db or mysql://user@host:3306/; $PLUMB_DSN otherwise")
	c.Flags().DurationVar(&s.timeout, "timeout", check.DefaultTimeout, "end after this time and say what was not seen")
}

func (s source) validate() error {
	if s.tape != "" && s.dsn != "" {
		return hint.Usage("--dsn logs in to a server, and --tape reads none", "give one of them")
	}
	if s.timeout <= 0 {
		return hint.Usage(fmt.Sprintf("--timeout %s leaves no time", s.timeout), "give something like --timeout 30s")
	}
	return nil
}

func (s source) isDirectory() bool {
	if s.tape == "" || s.tape == "-" {
		return false
	}
	info, err := os.Stat(s.tape)
	return err == nil && info.IsDir()
}
