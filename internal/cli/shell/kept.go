package shell

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
)

// Kept is what Plumb keeps on a machine, in a directory that a flag can name.
type Kept struct {
	Of   string // what it is, for people: "the recording"
	Flag string // the flag that names another directory, without dashes
	Root string // the directory for root and for services
	Own  string // the directory for other users, below $XDG_STATE_HOME: "plumb/watch"
}

// Var adds the flag that names another directory.
func (k Kept) Var(c *cobra.Command, named *string, says string) {
	c.Flags().StringVar(named, k.Flag, "", says+" `DIR` instead of "+k.Root+", or, of an ordinary user, ~/.local/state/"+k.Own)
	if err := c.MarkFlagDirname(k.Flag); err != nil {
		panic(err)
	}
}

// In returns the directory as an absolute path: the one that was named, or the usual one if named is "".
func (k Kept) In(named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	return k.usual(os.Getuid())
}

// usual is the directory of a user when no flag names one.
func (k Kept) usual(uid int) (string, error) {
	if uid == 0 {
		return k.Root, nil
	}
	home := os.Getenv("HOME")
	base := cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local/state"))
	if home == "" && !filepath.IsAbs(base) {
		return "", hint.With(fmt.Errorf("find a directory for %s: %w", k.Of, errNoHome), "--"+k.Flag+" DIR names one")
	}
	return filepath.Join(base, k.Own), nil
}

var errNoHome = errors.New("neither $XDG_STATE_HOME nor $HOME is set")
