package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	"plumb/internal/cli/shell"
	"plumb/internal/fix"
	"plumb/internal/hint"
	"plumb/internal/host/foreground"
	"plumb/internal/provision/boost"
	"plumb/internal/units"
	view "plumb/internal/view/provision"
)

// boosting is the command boost, with its flags.
type boosting struct {
	lending
	also   []string
	dryRun bool
	yes    bool
	json   bool

	of      string
	limit   time.Duration
	command []string
}

const boostExits = `Exit codes:
  that of the command, once all settings are restored
  2  the command line is wrong
  3  refused, or something could not be restored: see the output`

// Boost makes the command.
func Boost(s *shell.Shell, l Lending) *cobra.Command {
	b := &boosting{lending: lending{Shell: s, Lending: l}}
	c := &cobra.Command{
		Use:   "boost DATASET|SERVER TIME -- COMMAND…",
		Short: "run a bulk load with less durable settings, for its duration",
		Long: `Boost runs a command with less durable settings: writes to a dataset do not wait
for the disk (sync=disabled), or a server has the settings that its documentation
recommends for bulk loads. First it shows what a crash during this time would lose,
and asks.

The earlier settings are restored when the command ends, when the time is over, and
when Plumb is killed: a separate process that does this is ready before the first
setting is changed. An inherited value is inherited again. What somebody else
changed meanwhile is left as it is. With systemd, a unit restores them at the next
boot; without it, plumb undo does. Boost sets nothing that can damage data: no
fsync=off, no full_page_writes=off, no disabled redo log.

A dataset with files of several servers is refused, and so is one of a server whose
commits others rely on (a source, a replica, a member of a cluster): --also names
the servers that may lose commits.

` + boostExits,
		Example: `  plumb boost tank/db/load 20m -- sh -c 'mysql app <dump.sql'
  plumb boost mysql:3306 1h -- myloader -d /backup
  plumb boost postgres:5432 30m --dry-run`,
		Args: b.arguments,
		RunE: func(c *cobra.Command, _ []string) error { return b.run(c.Context()) },
	}
	b.LiveFlags(c)
	fl := c.Flags()
	fl.StringVar(&b.state, "state", "", "keep the journal in `DIR` instead of "+change.Directory)
	fl.StringArrayVar(&b.also, "also", nil, "accept that this `SERVER` can lose commits, although it is one of several or others rely on it; can be given several times")
	fl.BoolVar(&b.dryRun, "dry-run", false, "show what would be set, and run nothing")
	shell.YesFlag(c, &b.yes)
	shell.JSONFlag(c, &b.json, "; goes with --dry-run")
	return c
}

const (
	leastBoost = time.Second
	mostBoost  = 24 * time.Hour
)

// arguments parses what is sped up, for how long, and the command to run meanwhile.
func (b *boosting) arguments(c *cobra.Command, args []string) (err error) {
	const how = "such as plumb boost tank/db 20m -- sh -c 'mysql app <dump.sql'"
	at := c.ArgsLenAtDash()
	if at < 0 {
		at = len(args)
	}
	if at != 2 {
		return hint.Usage(fmt.Sprintf("plumb boost needs a dataset or server and a time before --, got %s", units.Count(at, "argument")), how)
	}
	b.of, b.command = args[0], args[2:]
	if b.limit, err = time.ParseDuration(args[1]); err != nil || b.limit < leastBoost || b.limit > mostBoost {
		return hint.Usage(fmt.Sprintf("%q is not a time limit for a load", args[1]), "give something from 1s to 24h, such as 20m")
	}
	if len(b.command) == 0 && !b.dryRun {
		return hint.Usage("no command is given", how)
	}
	if b.json && !b.dryRun {
		return hint.Usage("--json prints what would be done, and standard output is the command's", "give --dry-run too")
	}
	return b.Validate()
}

func (b *boosting) run(ctx context.Context) error {
	if !b.dryRun {
		if err := foreground.Find(b.command[0]); err != nil {
			return hint.Usage("the command cannot be run: "+err.Error(), "what a shell would do needs one: sh -c '…'")
		}
	}
	l, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	var noUnit error
	l.Unit, noUnit = b.unit(ctx, l.doer)
	l.Command = func(ctx context.Context) (int, error) {
		in, _ := b.In.(*os.File)
		return foreground.Run(ctx, foreground.Streams{In: in, Out: shell.FileOf(b.Out), Err: os.Stderr}, b.command)
	}
	plan, err := boost.Of(l.Stack, b.of, b.Loaders, boost.Options{For: b.limit, Also: b.also})
	if err != nil {
		return err
	}
	if l.Unit != nil {
		l.Unit.Before = before(ctx, l.Do, l.Stack, plan.Servers)
	}
	draft, err := l.Prepare(ctx, plan)
	if err == nil && boost.Lasts(draft) {
		err = noUnit
	}
	if err != nil {
		return err
	}
	if err := b.show(plan, draft, l.Unit != nil); err != nil {
		return err
	}
	switch err := fix.Refused(draft); {
	case err != nil:
		return err
	case len(draft.Steps) == 0:
		return errors.New("none of its settings can be changed temporarily here")
	case b.dryRun:
		return nil
	}
	if err := l.Executor.Trusted(); err != nil {
		return fmt.Errorf("keep the journal: %w", err)
	}
	if err := b.Ask("Accept that a crash during this time loses that?", b.yes); err != nil {
		return err
	}
	r, err := l.Lend(ctx, plan, draft)
	if err != nil {
		return err
	}
	fmt.Fprint(b.Err, view.BoostOutcome(plan, r, shell.Screen(b.Err)))
	if r.Code != 0 {
		return shell.Ended{Code: r.Code}
	}
	return nil
}

// show prints what would be done, on standard error, as standard output belongs to the command that runs meanwhile.
func (b *boosting) show(p boost.Plan, d change.Draft, unit bool) error {
	switch {
	case b.json:
		return b.Document(view.BoostDocument(p, d, unit))
	case b.dryRun:
		return b.Print(view.BoostPlan(p, d, unit, shell.Screen(b.Out)))
	}
	_, err := fmt.Fprint(b.Err, view.BoostPlan(p, d, unit, shell.Screen(b.Err)))
	return err
}
