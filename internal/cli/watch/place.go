package watch

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
	"plumb/internal/watch/record"
)

// place is the flag that says where a recording is.
type place struct{ dir string }

func (p *place) flag(c *cobra.Command) {
	c.Flags().StringVar(&p.dir, "dir", "", "the recording is in `DIR` instead of "+record.Directory+", or, of an ordinary user, ~/.local/state/plumb/watch")
	if err := c.MarkFlagDirname("dir"); err != nil {
		panic(err)
	}
}

// directory is where it is. The service has no home, and is told by systemd.
func (p place) directory() (string, error) {
	if p.dir != "" {
		return filepath.Abs(p.dir)
	}
	if os.Getuid() == 0 {
		return record.Directory, nil
	}
	home := os.Getenv("HOME")
	base := cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local/state"))
	if home == "" && !filepath.IsAbs(base) {
		return "", hint.With(errors.New("find a directory for the recording: neither $XDG_STATE_HOME nor $HOME is set"), "--dir DIR names one")
	}
	return filepath.Join(base, "plumb/watch"), nil
}

// recorded opens the recording.
func (p place) recorded(ctx context.Context, do func(*record.Reader) error) error {
	dir, err := p.directory()
	if err != nil {
		return err
	}
	r, err := record.OpenReader(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(do(r), r.Close())
}
