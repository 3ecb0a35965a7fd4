// Package shell is what commands need of the process they run in and are not
// themselves: its streams and how they are written to, errors and exit codes,
// questions to a person, how a command ends, and the flags that many of them have.
package shell

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
)

// Exit codes: every help page shows those its command can end with.
const (
	ExitOK     = 0 // done
	ExitFound  = 1 // done, and there is something about it
	ExitUsage  = 2 // the command line is wrong
	ExitUnread = 3 // not done, or not to be read
)

// ReadExits are those of commands that find nothing good or bad.
const ReadExits = `Exit codes:
  0  done
  2  the command line is wrong
  3  it could not read what it needs`

// Shell is the process as commands see it.
type Shell struct {
	In       io.Reader
	Out, Err io.Writer
}

// New makes it. A command that writes to Out what nobody gets ends with an error, and nothing that is written to Err can drive a terminal.
func New(in io.Reader, out, err io.Writer) Shell {
	return Shell{In: in, Out: &output{to: out}, Err: &console{err}}
}

// NoSuchCommand are the arguments of a command that has others below it, and
// takes none itself.
func (s *Shell) NoSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	help := c.CommandPath() + " --help lists the commands"
	if like := LikeCommand(c, args[0]); like != "" {
		help = "did you mean " + c.CommandPath() + " " + like + "?"
	}
	return hint.Usage(fmt.Sprintf("there is no command %q", args[0]), help)
}

// LikeCommand is the command below c that was probably meant; "" for none.
func LikeCommand(c *cobra.Command, typed string) string {
	c.SuggestionsMinimumDistance = 2 // cobra's own is none
	if like := c.SuggestionsFor(typed); len(like) > 0 {
		return like[0]
	}
	return ""
}

// Exit prints an error and gives its exit code. What was found is no result when nobody got it.
func (s *Shell) Exit(err error) int {
	found := errors.Is(err, ErrFound) || errors.Is(err, ErrMarked)
	if out, is := s.Out.(*output); is && (err == nil || found) {
		if lost := out.lost(); lost != nil {
			err, found = lost, false
		}
	}
	switch {
	case err == nil:
		return ExitOK
	case found:
		return ExitFound
	}
	if e, ok := errors.AsType[Ended](err); ok {
		return e.Code
	}
	text, help, code := Describe(err)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") { // each mistake of a file that a person wrote has its own
		fmt.Fprintf(s.Err, "plumb: %s\n", OneLine(line))
	}
	if help != "" {
		fmt.Fprintf(s.Err, "hint: %s\n", OneLine(help))
	}
	return code
}
