package instance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errUnstarted says that no server was started on a copy: its program is not there, or the machine could not enclose it.
var errUnstarted = errors.New("its server was not started")

// unstarted adds to the error of a server that ended that its program was never run, by the codes with which what runs it
// says so.
func unstarted(err error) error {
	if said := err.Error(); !strings.HasPrefix(said, "exit status 126") && !strings.HasPrefix(said, "exit status 127") {
		return err
	}
	return fmt.Errorf("%w (%w)", err, errUnstarted)
}

// Blameless tells whether the error of a copy is the fault of this machine, and says nothing of its point.
func Blameless(err error) bool {
	return slices.ContainsFunc([]error{errUnstarted, ErrStarved, ErrFull, ErrConfined}, func(of error) bool { return errors.Is(err, of) })
}
