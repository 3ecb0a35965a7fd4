package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plumb/internal/hint"
)

// ErrFound ends a check that found something at or above --fail-on. It is not
// printed, as the findings have been.
var ErrFound = errors.New("findings at or above --fail-on")

// ErrMarked ends a run with --strict whose result is marked.
var ErrMarked = errors.New("the result is marked")

// Ended ends a command with an exit code of its own, and without a message.
type Ended struct{ Code int }

// Error implements error.
func (e Ended) Error() string { return fmt.Sprintf("ended with code %d", e.Code) }

// partly is the error of a command that did a part of what was asked, and said what is left to do.
type partly interface {
	error
	Partly()
}

// Describe returns the message, the hint and the exit code for an error.
func Describe(err error) (text, help string, code int) {
	text, help, code = describe(err)
	return text, cmp.Or(help, forRoot(err, os.Geteuid())), code
}

// forRoot is the hint for an error of missing permissions, if we are not root.
func forRoot(err error, uid int) string {
	if uid == 0 || !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return "run it as root, with sudo"
}

func describe(err error) (text, help string, code int) {
	if u := hint.AsUsage(err); u != nil {
		return u.Error(), hint.Of(u), ExitUsage
	}
	text = strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	if errors.Is(err, context.Canceled) {
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	if _, ok := errors.AsType[partly](err); ok {
		return text, hint.Of(err), ExitFound
	}
	return text, hint.Of(err), ExitUnread
}

// FlagError puts an error of pflag into our words, and suggests the flag that was probably meant.
func FlagError(c *cobra.Command, err error) error {
	help := c.CommandPath() + " --help lists the flags"
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if unknown {
		help = cmp.Or(hint.Meant("--"+name, flagNames(c)), help)
		return hint.Usage(fmt.Sprintf("%s has no flag --%s", c.CommandPath(), name), help)
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wrong.GetFlag().Value.Type() == "duration" {
		return hint.Usage(fmt.Sprintf("--%s %s is not a duration", wrong.GetFlag().Name, wrong.GetValue()), "give something like --"+wrong.GetFlag().Name+" 30s")
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return hint.Usage(fmt.Sprintf("--%s %s is not understood", wrong.GetFlag().Name, wrong.GetValue()), cmp.Or(wanted(wrong), help))
	}
	return hint.Usage(err.Error(), help)
}

// wanted says which values a flag takes; "" when that is not known.
func wanted(wrong *pflag.InvalidValueError) string {
	switch wrong.GetFlag().Value.Type() {
	case "int", "int64", "uint64":
		return "use a whole number"
	case "float64":
		return "use a number"
	}
	if err := wrong.Unwrap(); err != nil {
		return err.Error()
	}
	return ""
}

func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}

// NoArgs is cobra.NoArgs with our errors.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	help := c.CommandPath() + " --help shows how it is used"
	if name := strings.TrimSuffix(args[0], ".gz"); strings.HasSuffix(name, ".tape") && c.Flags().Lookup("tape") != nil {
		help = c.CommandPath() + " --tape " + args[0] + " reads a recorded host"
	}
	return hint.Usage(fmt.Sprintf("%s takes no argument, got %q", c.CommandPath(), args[0]), help)
}

// OneArg wants exactly one argument.
func OneArg(what string) cobra.PositionalArgs { return Args(1, 1, "one "+what) }

// AtMostOneArg takes one argument or none.
func AtMostOneArg(what string) cobra.PositionalArgs { return Args(0, 1, "one "+what) }

// Args accepts from least to most arguments. what names them in the error, such as "a
// POOL and a DEVICE".
func Args(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return hint.Usage(fmt.Sprintf("%s needs %s, got %d", c.CommandPath(), what, len(args)), c.CommandPath()+" --help shows how it is used")
		}
		return nil
	}
}
