// Package cli is the command line: each command parses its flags, calls, and
// hands the result to view. wire.go is the one list of adapters.
//
// The rules of this user interface: what was asked for goes to standard
// output, everything else to standard error. An error is one line that says
// what was attempted on what, and, when there is something a person can do, a
// line "hint: ...". Colour only on a terminal.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
)

// Exit codes: every help page shows those its command can end with.
const (
	exitOK     = 0
	exitFound  = 1
	exitUsage  = 2
	exitUnread = 3
)

const exitTable = `Exit codes:
  0  done; without --fail-on also when something was found
  1  something was found that is as bad as --fail-on says, or worse
  2  the command line is wrong
  3  what was to be read could not be read`

// readExits are those of commands that find nothing good or bad.
const readExits = `Exit codes:
  0  done
  2  the command line is wrong
  3  what was to be read could not be read`

// app is what commands need of the process.
type app struct {
	in       io.Reader
	out, err io.Writer
}

// Main runs one command and gives the exit code.
func Main(args []string, in io.Reader, out, err io.Writer) int {
	a := &app{in: in, out: out, err: &console{err}}
	ctx, stop := ending()
	defer stop()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(a.err)
	return a.exit(root.ExecuteContext(ctx))
}

// root makes the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "plumb",
		Short: "find what is out of line between a database and the machine under it",
		Long: `Plumb reads a database host from the kernel to the database, says what is out
of line between the layers, and shows the evidence. It knows MySQL, MariaDB,
Percona Server, PostgreSQL and MongoDB on ZFS, ext4, XFS and btrfs.`,
		Example: `  plumb check                     what is out of line here?
  plumb explain sync-binlog-off   why is that so? mechanism, versions, sources
  plumb fix --dry-run             what would be done about it?
  plumb undo                      take it back
  plumb rehearse                  what would the advice bring here?`,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		DisableAutoGenTag:          true,
		PersistentPreRun:           func(c *cobra.Command, _ []string) { outlive(c) },
		Args:                       a.noSuchCommand,
		RunE:                       func(c *cobra.Command, _ []string) error { return a.start(c.Context()) },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	a.arrange(root, a.groups())
	root.AddCommand(a.man(), a.leftovers())
	return root
}

func (a *app) noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	help := c.CommandPath() + " --help lists the commands"
	if like := c.SuggestionsFor(args[0]); len(like) > 0 {
		help = "did you mean " + c.CommandPath() + " " + like[0] + "?"
	}
	return hint.Usage(fmt.Sprintf("there is no command %q", args[0]), help)
}

// exit prints an error and gives its exit code.
func (a *app) exit(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errFound) || errors.Is(err, errMarked) {
		return exitFound
	}
	text, help, code := describe(err)
	fmt.Fprintf(a.err, "plumb: %s\n", oneLine(text))
	if help != "" {
		fmt.Fprintf(a.err, "hint: %s\n", oneLine(help))
	}
	return code
}
