package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
)

// changeFlags are the flags of the commands that change this machine, or look up
// what was changed.
type changeFlags struct {
	shell.Source
	state string
	image string // the directory of an unpacked image; "" for this machine
	shell *shell.Shell
}

func (k *changeFlags) flags(s *shell.Shell, c *cobra.Command) {
	k.LiveFlags(c)
	k.placeFlags(s, c)
}

// placeFlags adds only the flags that say where the journal is. Such a command logs in to no server that a flag names, and has the default timeout.
func (k *changeFlags) placeFlags(s *shell.Shell, c *cobra.Command) {
	k.shell = s
	k.Timeout = check.DefaultTimeout
	c.Flags().StringVar(&k.state, "state", "", "the journal is in `DIR` instead of "+change.Directory)
	c.Flags().StringVar(&k.image, "root", "", "work only on the files of the unpacked image in `DIR`, not on anything running")
}

func (k changeFlags) validate() error {
	if info, err := os.Stat(k.image); k.image != "" && (err != nil || !info.IsDir()) {
		return hint.Usage(fmt.Sprintf("--root %s is not a directory", k.image), "unpack the image there first")
	}
	return k.Source.Validate()
}

// doer returns what the command works on.
func (k changeFlags) doer(live *host.LiveDoer) host.Doer {
	if k.image != "" {
		return chroot.New(live, k.image)
	}
	return live
}

func (k changeFlags) executor(d host.Doer) *change.Executor {
	executor := k.shell.Executor(d, k.state)
	if k.image != "" { // an undo in an image runs nothing, and touches only what is in it
		executor.Guard = nil
	}
	return executor
}

// open makes the LiveDoer of a command that has no plan: undo, confirm, history.
func (k changeFlags) open() (*host.LiveDoer, *change.Executor, error) {
	live, _, err := openLive(k.Source)
	if err != nil {
		return nil, nil, err
	}
	m := host.NewLiveDoer(live)
	return m, k.executor(k.doer(m)), nil
}

// changes opens it too, and reads the journals.
func (k changeFlags) changes(ctx context.Context) (*host.LiveDoer, *change.Executor, []*change.Change, error) {
	live, executor, err := k.open()
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := executor.Changes(ctx)
	if err != nil {
		live.Close()
		return nil, nil, nil, unreadable(executor.Dir, err)
	}
	return live, executor, all, nil
}
