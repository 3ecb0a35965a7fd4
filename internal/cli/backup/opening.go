package backup

import (
	"context"
	"fmt"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// opening holds the flags of commands that open backups.
type opening struct {
	place
	identity string
	server   string
	rate     value.Size
}

func (o *opening) flags(c *cobra.Command) {
	o.parallelFlag(c)
	o.place.flags(c, "from", oneURL)
	o.trustFlag(c)
	c.Flags().StringVar(&o.identity, "identity", "", "the `FILE` with the keys that open backups, as age-keygen writes it")
	c.Flags().StringVar(&o.server, "server", "", "only backups of this server, as plumb backup list names it: mysql:3306")
	c.Flags().Var(&o.rate, "limit-rate", "fetch at most this many bytes of objects a second, such as 50M")
}

// pace limits how fast data is fetched.
func (o *opening) pace() *stream.Pace { return &stream.Pace{PerSecond: int64(o.rate)} }

// keys reads the files of secret keys; none when no file is named.
func (o *opening) keys() ([]age.Identity, error) {
	if o.identity == "" {
		return nil, nil
	}
	if backup.IsSecret(o.identity) {
		return nil, errShown("--identity", "the file with the key")
	}
	text, err := shell.ReadFile(o.identity, nil, mostKeys)
	if err != nil {
		return nil, hint.With(fmt.Errorf("read the keys of %s: %w", o.identity, err), "--identity names the file that age-keygen wrote")
	}
	all, err := backup.Identities(text)
	if err != nil {
		return nil, fmt.Errorf("read the keys of %s: %w", o.identity, err)
	}
	return all, nil
}

// opened is a store with backups and the keys for them, for one command.
type opened struct {
	*verbs
	o     opening
	id    string // ID of the backup that is meant; "" for the newest
	do    *host.LiveDoer
	vault backup.Vault
	keys  []age.Identity
}

// opened opens a store for a command with at most one argument, which names a backup. It warns if a newer backup is not believed.
func (v *verbs) opened(ctx context.Context, o opening, args []string, do func(opened) error) error {
	return v.on(o.place, func(d *host.LiveDoer, s store.Store) error {
		keys, err := o.keys()
		if err != nil {
			return err
		}
		vault, err := o.vault(ctx, d, s)
		if err != nil {
			return err
		}
		vault.Doubt = v.doubt
		return do(opened{verbs: v, o: o, id: strings.Join(args, ""), do: d, vault: vault, keys: keys})
	})
}

// find returns the backup that is meant.
func (v opened) find(ctx context.Context) (manifest.Manifest, error) {
	return v.vault.Find(ctx, v.id, v.o.server)
}

// restoring makes what restores backups.
func (v opened) restoring(doing func(backup.Progress)) backup.Restore {
	return backup.Restore{Vault: v.vault, Do: v.do, Keys: v.keys, Workers: v.o.parallel, Pace: v.o.pace(), Doing: doing, Home: home()}
}
