package shell

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
)

// Place is the flag that says where the lists of what Plumb makes are kept.
type Place struct {
	State string // a directory; "" for the usual one
}

// StateFlag adds the flag.
func (p *Place) StateFlag(c *cobra.Command) {
	c.Flags().StringVar(&p.State, "state", "", "keep the list of what was made in `DIR` instead of the usual place")
}

// Books is the directory of the books of what is made.
func (p *Place) Books() (string, error) {
	if p.State != "" {
		return filepath.Abs(p.State)
	}
	if os.Getuid() == 0 {
		return inventory.Directory, nil
	}
	home := os.Getenv("HOME")
	base := cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local/state"))
	if home == "" && !filepath.IsAbs(base) {
		return "", hint.With(errors.New("find a directory for the book of what is made: neither $XDG_STATE_HOME nor $HOME is set"), "--state DIR names one")
	}
	return filepath.Join(base, "plumb/lab"), nil
}

// OnBooks opens this machine for a command that works on what Plumb made.
func (p Place) OnBooks(do func(d *host.LiveDoer, books string) error) (err error) {
	books, err := p.Books()
	if err != nil {
		return err
	}
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{Plumb: Version()}))
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(d, books)
}
