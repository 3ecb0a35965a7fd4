package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"plumb/internal/host"
	"plumb/internal/lab/experiment"
)

// apart moves the logs of a trial's data onto a dataset of their own, as somebody
// does who sets a server up: it was stopped in an orderly way, and is started
// on what lies where it looks from now on. The data belong to the user of the
// servers, who could put a link where the dataset is mounted: until that is
// done, they are root's.
func (b *bench) apart(ctx context.Context, t experiment.Trial) error {
	if len(b.setup.Volume.Logs) == 0 {
		return nil
	}
	b.lab.say(Progress{Trial: t, Doing: "moving the logs"})
	_, err := b.lab.Box.Do.Run(ctx, "chown", "0:0", "--", b.data)
	if err == nil {
		err = b.moveApart(ctx, b.layout.engine.Logs(b.layout.server))
	}
	if err == nil {
		err = b.lab.own(ctx, b.data)
	}
	if err != nil {
		return fmt.Errorf("move the logs: %w", err)
	}
	return nil
}

func (b *bench) moveApart(ctx context.Context, logs Logs) error {
	at, from := filepath.Join(b.data, logs.Dir), b.data
	if len(logs.Files) == 0 { // what is mounted there would hide them
		from = at + ".before"
		if _, err := b.lab.Box.Do.Run(ctx, "mv", "-T", "--", at, from); err != nil {
			return err
		}
	}
	if _, err := b.lab.Box.Do.Readlink(ctx, at); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s already exists", at)
	}
	if err := b.layout.volume.Apart(ctx, logs.Dir, b.lab.UID, b.lab.GID); err != nil {
		return err
	}
	_, err := b.lab.Box.Do.Pipe(ctx, host.Pipe{Argv: moveAll(from, at, logs.Files), Progress: copyStands, Works: true})
	if err == nil && len(logs.Files) == 0 {
		_, err = b.lab.Box.Do.Run(ctx, "rmdir", "--", from)
	}
	return err
}

// moveAll gives the command that moves what a directory holds: what is of some
// patterns, or all of it. It may take long: a WAL can have a gigabyte.
func moveAll(from, to string, patterns []string) []string {
	argv := append([]string{"find", from, "-mindepth", "1", "-maxdepth", "1"}, named(patterns)...)
	return append(argv, "-exec", "mv", "-t", to, "--", "{}", "+")
}

// named gives the words by which find(1) takes what has a name of some patterns; without patterns it takes all.
func named(patterns []string) (words []string) {
	for i, name := range patterns {
		words = append(words, []string{"(", "-o"}[min(i, 1)], "-name", name)
	}
	if len(patterns) > 0 {
		words = append(words, ")")
	}
	return words
}
