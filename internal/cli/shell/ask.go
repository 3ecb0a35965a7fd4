package shell

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"plumb/internal/hint"
)

// Ask asks a person; without one, only --yes will do.
func (s *Shell) Ask(question string, yes bool) error {
	if yes {
		return nil
	}
	in, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return hint.Usage("cannot ask: standard input is not a terminal", "use --yes to do it without asking")
	}
	fmt.Fprintf(s.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	return errors.New("nothing was changed")
}

// Warn says on standard error what went wrong without ending the command.
func (s *Shell) Warn(what string, err error) {
	if err == nil {
		return
	}
	first, more, _ := strings.Cut(err.Error(), "\n")
	if n := strings.Count(more, "\n"); more != "" {
		first += fmt.Sprintf(" (and %d more)", n+1)
	}
	fmt.Fprintf(s.Err, "plumb: %s: %s\n", what, OneLine(first))
}
