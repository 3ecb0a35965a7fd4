package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
)

// keeping are the flags of the commands that change this machine, or look up
// what was changed.
type keeping struct {
	source
	state string
	image string // the directory of an unpacked image; "" for this machine
}

func (k *keeping) flags(c *cobra.Command) {
	k.liveFlags(c)
	k.placeFlags(c)
}

// placeFlags say where the journal is.
func (k *keeping) placeFlags(c *cobra.Command) {
	c.Flags().StringVar(&k.state, "state", "", "keep the journal in `DIR` instead of "+change.Directory)
	c.Flags().StringVar(&k.image, "root", "", "work on the files of the unpacked image in `DIR`, and on nothing that runs")
}

func (k keeping) validate() error {
	if info, err := os.Stat(k.image); k.image != "" && (err != nil || !info.IsDir()) {
		return hint.Usage(fmt.Sprintf("--root %s is no directory", k.image), "unpack the image there first")
	}
	return k.source.validate()
}

// doer gives what the command works on.
func (k keeping) doer(hands *host.Hands) host.Doer {
	if k.image != "" {
		return chroot.New(hands, k.image)
	}
	return hands
}

func (k keeping) keeper(d host.Doer) *change.Keeper {
	keeper := change.NewKeeper(d, programVersion())
	keeper.Dir = cmp.Or(k.state, change.Directory)
	if k.image == "" { // an undo in an image runs nothing, and touches only what is in it
		keeper.Guard = host.Guarded
	}
	return keeper
}

// open makes the hands of a command that has no plan: undo, confirm, history.
func (k keeping) open() (*host.Hands, *change.Keeper, error) {
	live, _, err := openLive(k.source)
	if err != nil {
		return nil, nil, err
	}
	hands := host.NewHands(live)
	return hands, k.keeper(k.doer(hands)), nil
}

// changes makes the hands too, and reads what the journals tell.
func (k keeping) changes(ctx context.Context) (*host.Hands, *change.Keeper, []*change.Change, error) {
	hands, keeper, err := k.open()
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := keeper.Changes(ctx)
	if err != nil {
		hands.Close()
		return nil, nil, nil, unreadable(keeper.Dir, err)
	}
	return hands, keeper, all, nil
}

// ask asks a person; without one, only --yes will do.
func (a *app) ask(question string, yes bool) error {
	if yes {
		return nil
	}
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return hint.Usage("nobody can be asked: standard input is no terminal", "--yes does it without asking, --dry-run only shows it")
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	return errors.New("nothing was changed")
}
