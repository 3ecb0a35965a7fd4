package shell

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// Place is the flag that says where the lists of what Plumb makes are kept.
type Place struct {
	State string // a directory; "" for the usual one
}

// StateFlag adds the flag.
func (p *Place) StateFlag(c *cobra.Command) {
	c.Flags().StringVar(&p.State, "state", "", "keep the list of what was made in `DIR` instead of the default place")
}

// Books is the directory of the books of what is made.
func (p *Place) Books() (string, error) {
	return Kept{Of: "the book of what is made", Flag: "state", Root: inventory.Directory, Own: "plumb/lab"}.In(p.State)
}

// Note says on standard error what a list leaves out: of an ordinary user it is his own.
func (p Place) Note(s *Shell) {
	if text := p.note(os.Getuid()); text != "" {
		fmt.Fprintln(s.Err, "note: "+text)
	}
}

func (p Place) note(uid int) string {
	if uid == 0 || p.State != "" {
		return ""
	}
	return "this is what you made; with sudo it is what root made"
}

// OnBooks opens this machine for a command that works on what Plumb made.
func (p Place) OnBooks(do func(inventory.Books) error) (err error) {
	directory, err := p.Books()
	if err != nil {
		return err
	}
	d := Machine()
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(kinds.Books(d, directory))
}
