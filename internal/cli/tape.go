package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/taped"
	"plumb/internal/stack"
	"plumb/internal/tape"
	"plumb/internal/units"
)

// openTape reads a tape file, or standard input for "-".
func (a *app) openTape(name string) (host.Reader, error) {
	in, shown := a.In, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, hint.With(fmt.Errorf("read tape %s: no such file", name), "plumb capture -o FILE records a host")
		}
		if err != nil {
			return nil, fmt.Errorf("read tape: %w", err)
		}
		defer f.Close()
		in, shown = f, name
	}
	t, err := tape.Read(in, shown)
	if err != nil {
		wrapped := fmt.Errorf("read %w", err) // "tape NAME: …"
		if e, ok := errors.AsType[*tape.Error](err); ok && e.Hint != "" {
			return nil, hint.With(wrapped, e.Hint)
		}
		return nil, wrapped
	}
	replay, err := taped.New(t)
	if err != nil {
		return nil, fmt.Errorf("read tape %s: %w", shown, err)
	}
	return host.NewCached(replay), nil
}

func (a *app) capture() *cobra.Command {
	src := shell.Source{}
	output, force := "", false
	c := &cobra.Command{
		Use:   "capture",
		Short: "record this host on a tape, to be checked elsewhere",
		Long: `Capture reads this host as check does and writes every answer to a tape: files, the
output of commands, the answers to queries. plumb check --tape judges it on any
machine, with the same result. Passwords and tokens are removed before anything is
written; the tape is text, so look through it before you send it.

The tape is the only thing that is written. It goes to standard output unless
-o names a file; a name that ends in .gz is compressed. An existing file is kept,
unless --force is given.

` + shell.ReadExits,
		Example: `  plumb capture -o db1.tape
  plumb capture | ssh elsewhere plumb check --tape -`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := src.Validate(); err != nil {
				return err
			}
			return a.runCapture(c.Context(), src, output, force)
		},
	}
	src.LiveFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "", "write the tape to `FILE`, whole or not at all")
	c.Flags().BoolVar(&force, "force", false, "replace an existing FILE")
	return c
}

func (a *app) runCapture(ctx context.Context, src shell.Source, output string, force bool) error {
	if output == "" && shell.IsTerminal(a.Out) {
		return hint.Usage("a tape is not written to a terminal", "plumb capture -o FILE, or plumb capture | ...")
	}
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	if info, err := os.Stat(output); err == nil && info.Mode().IsRegular() && !force { // checked before the work, not after it
		return writeTape(output, force, nil)
	}
	if g, err := dsn.Read(shell.OrEnvironment(src.DSN)); err == nil {
		a.WarnUnverified(g)
	}
	t, err := record(ctx, cat, src)
	if err != nil {
		return err
	}
	if output == "" {
		if err := tape.Write(a.Out, t); err != nil {
			return fmt.Errorf("write the tape to standard output: %w", hint.Cause(err))
		}
		return nil
	}
	if err := writeTape(output, force, t); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "%s: %s. Look through it before you send it: %s %s\n", shell.OneLine(output), units.Count(len(t.Entries), "answer"), pager(output), shell.OneLine(output))
	return nil
}

// record reads this machine as check does, and keeps every answer.
func record(ctx context.Context, cat *catalog.Catalog, src shell.Source) (*tape.Tape, error) {
	live, g, err := openLive(src)
	if err != nil {
		return nil, err
	}
	defer live.Close()
	return check.Record(ctx, live, func(ctx context.Context, h host.Reader) (*stack.Stack, error) {
		return lookInTime(ctx, host.NewCached(h), cat, g, src.Timeout)
	})
}

// writeTape writes a tape to a file.
func writeTape(name string, force bool, t *tape.Tape) error {
	write := func(w io.Writer) error { return tape.Write(w, t) }
	if strings.HasSuffix(name, ".gz") {
		write = shell.Packed(write)
	}
	err := shell.WriteFile(name, force, write)
	if errors.Is(err, fs.ErrExist) {
		return hint.With(fmt.Errorf("write the tape: %s is there already", name), "give another name, or --force to replace it")
	}
	if err != nil {
		return hint.With(fmt.Errorf("write the tape to %s: %w", name, hint.Cause(err)), "plumb capture -o FILE needs a place where you may write and that has space")
	}
	return nil
}

// pager is the program that shows a tape, which may be compressed.
func pager(tape string) string {
	if strings.HasSuffix(tape, ".gz") {
		return "zless"
	}
	return "less"
}
