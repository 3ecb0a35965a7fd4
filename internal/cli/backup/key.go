package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	view "plumb/internal/view/backup"
)

// lines returns the lines of a file that are neither empty nor comments, which begin with #.
func lines(text []byte) (all []string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

// key prints the public key, or makes another.
func (v *verbs) key() *cobra.Command {
	var p place
	rotate, yes := false, false
	c := &cobra.Command{
		Use:   "key",
		Short: "print the public key with which this host signs its backups",
		Long: `Key prints the public key with which this host's backups are checked. If this host
has no key yet, it makes one. Keep it with the key that opens them, on paper or on
another machine: plumb restore --trust takes it. plumb backup sheet prints all that
should be kept.

--rotate makes a new key. Both keys sign the change, and the next backup puts it
into the store: whoever trusts the old key then trusts what the new one signs too,
and of what the old one signs only what ended before. The old private key is
removed. If it was stolen, trust only the new one: print the sheet again.

` + exits,
		Example: `  plumb backup key
  plumb backup key --rotate`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := backup.At(p.state)
			if err != nil {
				return err
			}
			d := shell.Machine()
			defer d.Close()
			if !rotate {
				_, public, err := backup.HostKey(c.Context(), d, at, shell.Hostname())
				if err != nil {
					return err
				}
				return v.Print("# " + shell.OneLine(shell.Hostname()) + " signs its backups with this key\n" + public + "\n")
			}
			if err := v.Ask("Make another key for the backups of this host, and give up the one it has?", yes); err != nil {
				return err
			}
			public, err := backup.Rotate(c.Context(), d, at, shell.Hostname(), time.Now)
			if errors.Is(err, fs.ErrNotExist) {
				err = hint.With(errors.New("this host has no key yet"), "plumb backup key makes it")
			}
			if err != nil {
				return err
			}
			return v.Print("# " + shell.OneLine(shell.Hostname()) + " signs its backups with this key from now on\n" + public + "\n# Print the recovery sheet again: plumb backup sheet\n")
		},
	}
	c.Flags().StringVar(&p.state, "state", "", "read this host's key in `DIR` instead of "+backup.Directory)
	c.Flags().BoolVar(&rotate, "rotate", false, "make a new key, which the old one vouches for")
	shell.YesFlag(c, &yes)
	return c
}

// sheet prints the recovery sheets.
func (v *verbs) sheet() *cobra.Command {
	var p place
	c := &cobra.Command{
		Use:   "sheet",
		Short: "print the recovery sheet: what another machine needs to restore",
		Long: `Sheet prints where this host backs up to, whose keys open the backups, which key
signs them, and the commands that restore them. It contains no secret. Print it,
and keep it away from this machine, beside the key that opens the backups. plumb
backup prints it by itself when it is new or has changed.

` + shell.ReadExits,
		Example: "  plumb backup sheet | lp",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := backup.At(p.state)
			if err != nil {
				return err
			}
			d := shell.Machine()
			defer d.Close()
			all, err := backup.Sheets(c.Context(), d, at)
			if err != nil {
				return err
			}
			return v.Answer(p.json, view.SheetDocument(all), view.Sheets(all, shell.Screen(v.Out)))
		},
	}
	c.Flags().StringVar(&p.state, "state", "", "read this host's key and sheets in `DIR` instead of "+backup.Directory)
	shell.JSONFlag(c, &p.json, "")
	return c
}

// near warns if all keys that can open the backup are on this machine. It returns their files.
func (v *verbs) near(ctx context.Context, d *host.LiveDoer, o asked, recipients []string) []string {
	dirs := []string{".", "/etc/age", "/etc/plumb"}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, home, filepath.Join(home, ".config/age"), filepath.Join(home, ".config/sops/age"), filepath.Join(home, ".age"))
	}
	if o.recipientsFile != "" {
		dirs = append(dirs, filepath.Dir(o.recipientsFile))
	}
	for i, dir := range dirs {
		if abs, err := filepath.Abs(dir); err == nil {
			dirs[i] = abs
		}
	}
	files := backup.Near(ctx, d, dirs, recipients)
	if len(files) > 0 {
		fmt.Fprintf(v.Err, "warning: the key that opens this backup is on the machine that is backed up (%s). If it is the only copy, losing the machine also loses the backup: keep it elsewhere.\n", shell.OneLine(strings.Join(files, ", ")))
	}
	return files
}
