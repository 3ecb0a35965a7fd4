package shell

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// Place is the flag --state of commands that work on what Plumb made: it says where the list of that is kept.
type Place struct {
	State string // a directory; "" for the usual one
}

// StateFlag adds --state.
func (p *Place) StateFlag(c *cobra.Command) {
	c.Flags().StringVar(&p.State, "state", "", "keep the list of what was made in `DIR` instead of the default place")
}

// Books returns the directory of the inventory's books.
func (p *Place) Books() (string, error) {
	return Kept{Of: "the book of what is made", Flag: "state", Root: inventory.Directory, Own: "plumb/lab"}.In(p.State)
}

// Note says on standard error that a list of an ordinary user leaves out what root made.
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

// OnBooks calls do with the inventory's books, of which it reads and removes things on this machine.
func (p Place) OnBooks(do func(inventory.Books) error) (err error) {
	directory, err := p.Books()
	if err != nil {
		return err
	}
	d := Machine()
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(kinds.Books(d, directory))
}
