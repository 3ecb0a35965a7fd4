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

// Place is where backups and archives are kept, for the commands about archives.
type Place struct{ place }

// ToFlags adds the flags of a command that writes there.
func (p *Place) ToFlags(c *cobra.Command) {
	p.place.flags(c, "to", "`URL` to archive to: s3://bucket/prefix or file:///directory")
}

// FromFlags adds those of one that reads there.
func (p *Place) FromFlags(c *cobra.Command) {
	p.place.flags(c, "from", oneURL)
	p.trustFlag(c)
}

// URL is where it is.
func (p *Place) URL() string { return p.urls[0] }

// JSON tells whether an answer is wanted as JSON.
func (p *Place) JSON() bool { return p.json }

// Directory is where this host's key is.
func (p *Place) Directory() (string, error) { return backup.At(p.state) }

// Open opens the store as it is: it tries nothing again.
func (p *Place) Open() (store.Store, func() error, error) {
	if len(p.urls) != 1 {
		return nil, nil, hint.Usage("an archive is kept in one place, and several were given", "name one")
	}
	return p.open(p.urls[0])
}

// Emptied tells why a directory that has backups of this host, as far as it knows, is not written to: nothing of them is there.
func (p *Place) Emptied(ctx context.Context, d host.Doer, s store.Store) error {
	m, err := p.memory(d)
	if err != nil {
		return err
	}
	return m.Emptied(ctx, p.spot(s, p.urls[0]))
}

// On opens this machine and the store for one command.
func (p *Place) On(s *shell.Shell, do func(d *host.LiveDoer, s store.Store) error) error {
	v := &verbs{Opener: machine.Opener{Shell: s}}
	return v.on(p.place, do)
}

// Vault opens the store for reading.
func (p *Place) Vault(ctx context.Context, d host.Doer, s store.Store) (backup.Vault, error) {
	return p.vault(ctx, d, s)
}

// home is that of whoever runs this; "" when nobody knows. A timer of systemd may not say it.
func home() string {
	if dir := os.Getenv("HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return ""
}

// Account gives the numbers of a user that a server runs as.
func Account(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, hint.Usage(fmt.Sprintf("there is no user %q here", name), "name the one that the server runs as")
	}
	uid, err = strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err, err2)
}

// Recipients reads who can open what is kept: those that are named, and those of a file.
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
		return nil, hint.Usage("no recipient is named, so nobody could open it", "--recipient age1…: age-keygen makes a key, on another machine than this one")
	}
	return words, nil
}

// Words are the flags of the place as they were given, but for the URL. They are for who runs elsewhere: a path is given whole.
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
