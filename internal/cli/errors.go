package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plumb/internal/fix"
	"plumb/internal/hint"
)

// errFound ends a check that found what --fail-on asked about. It is not
// printed: the findings have been.
var errFound = errors.New("findings at or above --fail-on")

// describe gives the line, the hint and the exit code of an error.
func describe(err error) (text, help string, code int) {
	if u := hint.AsUsage(err); u != nil {
		return u.Error(), hint.Of(u), exitUsage
	}
	text = strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	if errors.Is(err, context.Canceled) {
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	if _, ok := errors.AsType[*fix.Partly](err); ok {
		return text, hint.Of(err), exitFound
	}
	return text, hint.Of(err), exitUnread
}

// flagError words what pflag says, and suggests the flag that was meant.
func flagError(c *cobra.Command, err error) error {
	help := c.CommandPath() + " --help lists the flags"
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if unknown {
		help = cmp.Or(hint.Meant("--"+name, flagNames(c)), help)
		return hint.Usage(fmt.Sprintf("%s has no flag --%s", c.CommandPath(), name), help)
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wrong.GetFlag().Value.Type() == "duration" {
		return hint.Usage(fmt.Sprintf("--%s %s is no time", wrong.GetFlag().Name, wrong.GetValue()), "give something like --"+wrong.GetFlag().Name+" 30s")
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return hint.Usage(fmt.Sprintf("--%s %s is not understood", wrong.GetFlag().Name, wrong.GetValue()), cmp.Or(wanted(wrong), help))
	}
	return hint.Usage(err.Error(), help)
}

// wanted is what a flag would take.
func wanted(wrong *pflag.InvalidValueError) string {
	switch wrong.GetFlag().Value.Type() {
	case "int", "int64", "uint64":
		return "want a whole number"
	case "float64":
		return "want a number"
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

// noArgs refuses arguments in our words.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return hint.Usage(fmt.Sprintf("%s takes no argument, got %q", c.CommandPath(), args[0]), c.CommandPath()+" --help shows how it is used")
	}
	return nil
}

// oneArg wants exactly one argument.
func oneArg(what string) cobra.PositionalArgs { return someArgs(1, what) }

// atMostOneArg takes one argument or none.
func atMostOneArg(what string) cobra.PositionalArgs { return someArgs(0, what) }

func someArgs(least int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > 1 {
			return hint.Usage(fmt.Sprintf("%s wants one %s, got %d", c.CommandPath(), what, len(args)), c.CommandPath()+" --help shows how it is used")
		}
		return nil
	}
}
