package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
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
	apartVar(c, &s.dsn, "dsn", "", "log in to the server at `URL` too, such as postgres://user@host/db or mysql://user@host:3306/; $PLUMB_DSN otherwise")
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

// read gives the stack of the machine, or of the tape, that was asked for.
func (a *app) read(ctx context.Context, cat *catalog.Catalog, src source) (*stack.Stack, error) {
	if src.tape != "" {
		h, err := a.openTape(src.tape)
		if err != nil {
			return nil, err
		}
		return lookInTime(ctx, h, cat, dsn.OnTape(h.About().Given), src.timeout)
	}
	live, g, err := openLive(src)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	a.warnUnverified(g)
	return lookInTime(ctx, host.NewOnce(live), cat, g, src.timeout)
}

// openLive makes the reader of this machine, and the server that --dsn names.
func openLive(src source) (*host.Live, dsn.Given, error) {
	g, err := dsn.Read(orEnvironment(src.dsn))
	if err != nil {
		return nil, dsn.Given{}, hint.Usage("read --dsn: "+err.Error(), "postgres://user@host:5432/postgres or mysql://user@host:3306/")
	}
	return host.NewLive(host.LiveOptions{Dialers: dialers(g), DSN: g.DSN, Given: g.Named(), Plumb: programVersion()}), g, nil
}

// lookInTime reads a machine until the deadline.
func lookInTime(ctx context.Context, h host.Reader, cat *catalog.Catalog, g dsn.Given, limit time.Duration) (*stack.Stack, error) {
	return check.Observe(ctx, h, cat, phases(cat, g), limit)
}
