package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/store"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// Place holds the flags that say where backups and archives are kept, for the commands about archives.
type Place struct{ place }

// ToFlags adds the flags of a command that writes to the place.
func (p *Place) ToFlags(c *cobra.Command) {
	p.place.flags(c, "to", "`URL` to archive to: s3://bucket/prefix or file:///directory")
}

// FromFlags adds the flags of a command that reads from it.
func (p *Place) FromFlags(c *cobra.Command) {
	p.place.flags(c, "from", oneURL)
	p.trustFlag(c)
}

// URL is the place that was named.
func (p *Place) URL() string { return p.urls[0] }

// JSON tells whether --json was given.
func (p *Place) JSON() bool { return p.json }

// Directory returns the directory of this host's key.
func (p *Place) Directory() (string, error) { return backup.At(p.state) }

// Open opens the store so that nothing is tried again when it fails.
func (p *Place) Open() (store.Store, func() error, error) {
	if len(p.urls) != 1 {
		return nil, nil, hint.Usage("an archive is kept in one place, but several were given", "name one")
	}
	return p.open(p.urls[0])
}

// Emptied is an error if the place should have backups of this host and has none; see upkeep.Memory.Emptied.
func (p *Place) Emptied(ctx context.Context, d host.Doer, s store.Store) error {
	m, err := p.memory(d)
	if err != nil {
		return err
	}
	return m.Emptied(ctx, p.spot(s, p.urls[0]))
}

// On calls a command with this machine and the store, and closes both.
func (p *Place) On(s *shell.Shell, do func(d *host.LiveDoer, s store.Store) error) error {
	v := &verbs{Opener: machine.Opener{Shell: s}}
	return v.on(p.place, do)
}

// Vault opens the store for reading.
func (p *Place) Vault(ctx context.Context, d host.Doer, s store.Store) (backup.Vault, error) {
	return p.vault(ctx, d, s)
}

// home is the home directory of the user who runs this; "" when it is not known. A systemd timer may not set $HOME.
func home() string {
	if dir := os.Getenv("HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return ""
}

// Account returns the user and group IDs of a user that a server runs as.
func Account(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, hint.Usage(fmt.Sprintf("there is no user %q here", name), "name the one that the server runs as")
	}
	uid, err = strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err, err2)
}

// Recipients returns the recipients that are named and those of a file, who can open what is kept.
func Recipients(words []string, file string) ([]age.Recipient, error) {
	words, err := named(words, file)
	if err != nil {
		return nil, err
	}
	return backup.Recipients(words...)
}

func named(words []string, file string) ([]string, error) {
	if backup.IsSecret(file) {
		return nil, errShown("--recipients-file", "a file of recipients, which begin with age1")
	}
	if file != "" {
		text, err := shell.ReadFile(file, nil, mostKeys)
		if err != nil {
			return nil, fmt.Errorf("read the recipients of %s: %w", file, err)
		}
		words = append(words, lines(text)...)
	}
	if len(words) == 0 {
		return nil, hint.Usage("no recipient is given, so nobody could open the backup", "--recipient age1…: age-keygen makes a key, on another machine than this one")
	}
	return words, nil
}

// Words returns the flags of the place as they were given, except the URL, for a command that runs in another directory: paths are
// absolute.
func (p *Place) Words() (argv []string, err error) {
	state := p.state
	if state != "" {
		if state, err = filepath.Abs(state); err != nil {
			return nil, err
		}
	}
	for _, one := range [][2]string{{"--endpoint", p.endpoint}, {"--region", p.region}, {"--state", state}} {
		if one[1] != "" {
			argv = append(argv, one[0], one[1])
		}
	}
	return argv, nil
}
