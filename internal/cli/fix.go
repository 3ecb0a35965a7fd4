package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/fix"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/units"
	fixview "plumb/internal/view/fix"
	"plumb/internal/view/playbook"
)

// fixFlags are the flags of fix.
type fixFlags struct {
	changeFlags
	choice      check.Choice
	file        string // the plan; "" for the one that a check makes now
	skipKnobs   []string
	set         []string
	yes         bool
	dryRun      bool
	restart     bool
	allowUnsafe []string
	try         time.Duration
	emit        string
	json        bool
}

func (a *app) fix() *cobra.Command {
	var f fixFlags
	c := &cobra.Command{
		Use:   "fix [PLAN]",
		Short: "apply the advice, with a journal to revert it",
		Long: `Fix shows the plan of a check, asks, and applies it: to the running system where
that is possible, and in the configuration, so that it persists. PLAN is a file
that plumb check --plan wrote; without one, fix checks this host first.

Each change is written to a journal in ` + change.Directory + ` before it is made, so
that plumb undo can take it back after a crash at any moment. Files are edited
byte for byte: nothing but the value changes. Values that are less durable than
those in force need --allow-unsafe with the name of the setting. Nothing is
restarted without --restart; what needs a restart is listed. If a right for any step
is missing, the whole plan is refused before anything is touched.

With --try, everything is undone after the time given unless you type plumb
confirm before, even when the terminal, the network or this program is gone. What
--restart restarted is then restarted again, with the old values. A reboot ends
the trial without undoing it; plumb history then says so.

` + fixExits,
		Example: `  plumb fix --dry-run                      what would be done, and how it is undone
  plumb fix --only mysql                   only what concerns MySQL
  plumb fix plan.json --try 10m            undone after ten minutes unless confirmed
  plumb fix --set mysql:3306#sync_binlog=1 one setting, whatever the rules say
  plumb fix plan.json --root /mnt/image    the persistent part, in an unpacked image
  plumb fix --emit ansible > fix.yml       the same as a playbook, with its undo`,
		Args: shell.AtMostOneArg("plan"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.file = args[0]
			}
			return a.runFix(c.Context(), f)
		},
	}
	f.changeFlags.flags(&a.Shell, c)
	choiceFlags(c, &f.choice)
	c.Flags().Lookup("skip").Usage = "skip these `RULES` (* matches) and settings (mysql:3306#sync_binlog)"
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "set this `SETTING=VALUE` instead of the advice, such as dataset:tank/db#recordsize=16K or vm.swappiness=10; can be given several times")
	shell.YesFlag(c, &f.yes)
	fl.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
	fl.BoolVar(&f.restart, "restart", false, "also restart the servers whose new values need it")
	fl.StringSliceVar(&f.allowUnsafe, "allow-unsafe", nil, "allow a less durable value for these `SETTINGS`")
	fl.DurationVar(&f.try, "try", 0, "undo everything after this time, unless you type plumb confirm before then")
	fl.StringVar(&f.emit, "emit", "", "print a script or playbook that carries the plan to other hosts and calls plumb there, in this `FORM`: "+strings.Join(playbook.Forms(), " or "))
	shell.JSONFlag(c, &f.json, "")
	c.MarkFlagsMutuallyExclusive("json", "emit")
	shell.Offer(c, map[string]shell.Words{"emit": playbook.Forms})
	return c
}

const fixExits = `Exit codes:
  0  done, or nothing to do
  1  done, except for steps that are listed with the reason
  2  the command line is wrong
  3  not done: refused before the first change, or failed and taken back`

// validate is a usage error if the flags make no sense.
func (f fixFlags) validate() error {
	switch {
	case f.emit != "" && !slices.Contains(playbook.Forms(), f.emit):
		return hint.Usage(fmt.Sprintf("--emit %s is not known", f.emit), "use "+strings.Join(playbook.Forms(), " or "))
	case f.try < 0 || f.try > 0 && f.try < 5*time.Second:
		return hint.Usage(fmt.Sprintf("--try %s leaves no time to type plumb confirm", units.Short(f.try)), "give something like --try 10m")
	case f.try > 0 && f.image != "":
		return hint.Usage("--try needs a running machine, but --root names an image", "give one of them")
	case f.image != "" && f.file == "" && len(f.set) == 0:
		return hint.Usage("--root needs a plan: nothing runs in an image, so it cannot be checked", "plumb check --plan FILE writes one on a machine like it")
	case f.file != "" && len(f.set) > 0:
		return hint.Usage("a plan and --set cannot be combined", "give one of them")
	case f.image != "" && f.restart:
		return hint.Usage("--restart needs a running machine, but --root names an image", "give one of them")
	}
	return f.changeFlags.validate()
}

// request makes the request that the flags ask for.
func (a *app) request(f fixFlags) (r fix.Request, err error) {
	r = fix.Request{File: f.file, Set: f.set, Skip: f.skipKnobs, Image: f.image != ""}
	r.Text, err = a.planText(f.file)
	return r, err
}

// planText reads the file of a plan, if one is named; - is standard input.
func (a *app) planText(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := shell.ReadFile(file, a.In, shell.MostFile)
	if err != nil {
		err = hint.With(fmt.Errorf("read the plan %s: %w", file, err), "plumb check --plan FILE writes one")
	}
	return text, err
}

func (a *app) runFix(ctx context.Context, f fixFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	f.choice.Skip, f.skipKnobs = fix.KnobsApart(f.choice.Skip)
	f.DSN = shell.OrEnvironment(f.DSN)
	know, err := a.loadKnowledge(f.choice, "")
	if err != nil {
		return err
	}
	live, g, err := openLive(f.Source)
	if err != nil {
		return err
	}
	a.WarnUnverified(g)
	x := a.wireFix(f, know, host.NewLiveDoer(live), g)
	defer x.Live.Close()
	if f.image == "" {
		if x.Stack, err = lookInTime(ctx, host.NewCached(live), know.Catalog, g, f.Timeout); err != nil {
			return err
		}
	}
	r, err := a.request(f)
	if err != nil {
		return err
	}
	plan, err := r.Plan(know, x.Stack)
	if err != nil {
		return err
	}
	if unseen := know.Choice.Unseen(x.Stack); len(unseen) > 0 && f.file == "" && len(f.set) == 0 {
		fmt.Fprintf(a.Err, "note: hardly a rule about %s was judged, as Plumb is not logged in there; plumb check says why\n", strings.Join(unseen, ", "))
	}
	draft, err := x.Prepare(ctx, plan)
	if err != nil {
		return err
	}
	if f.emit != "" {
		text, err := playbook.Text(f.emit, playbook.Emission{Draft: draft, Plan: plan, AllowUnsafe: f.allowUnsafe}, know.Catalog)
		if err != nil {
			return err
		}
		return a.Print(text)
	}
	return a.apply(ctx, x, draft, f)
}

// wireFix gives a fix its adapters.
func (a *app) wireFix(f fixFlags, know check.Knowledge, live *host.LiveDoer, g dsn.Given) *fix.Fix {
	x := &fix.Fix{Know: know, Live: live, Executor: f.executor(f.doer(live)), Setters: setters(know.Catalog, g), Stack: &stack.Stack{},
		Image: f.image != "", AllowUnsafe: f.allowUnsafe, Restart: f.restart, Try: f.try, Undo: f.undoCommand}
	x.Look = func(ctx context.Context) (*stack.Stack, error) { // with new sessions, as a restart breaks the old ones
		live, g, err := openLive(f.Source)
		if err != nil {
			return nil, err
		}
		defer live.Close()
		return lookInTime(ctx, host.NewCached(live), know.Catalog, g, f.Timeout)
	}
	if shell.IsTerminal(a.Err) && !f.json {
		x.Doing = func(i, of int, act change.Act, done bool) {
			if done {
				shell.Rewrite(a.Err, "")
			} else {
				shell.Rewrite(a.Err, fmt.Sprintf("%d/%d %s", i+1, of, act.Place()))
			}
		}
	}
	if f.DSN != "" {
		x.Secret = []string{shell.FromEnvironment + "=" + f.DSN}
	}
	return x
}

// undoCommand returns the command that undoes a change when its time is over, unless it was confirmed.
func (f fixFlags) undoCommand(number int) ([]string, error) {
	return shell.Itself(f.state, "undo", strconv.Itoa(number), "--unless-confirmed", "--yes")
}

// apply shows the draft, asks, and does it.
func (a *app) apply(ctx context.Context, x *fix.Fix, draft change.Draft, f fixFlags) error {
	if f.json && f.dryRun {
		if err := a.Document(fixview.Document(fix.Result{Draft: draft}, x.Know.Catalog)); err != nil {
			return err
		}
	} else if !f.json {
		if err := a.Print(fixview.Plan(draft, x.Know.Catalog, shell.Screen(a.Out))); err != nil {
			return err
		}
	}
	if err := fix.Refused(draft); err != nil {
		return err
	}
	if f.dryRun || len(draft.Steps) == 0 {
		return leftOut(draft)
	}
	if err := x.Possible(draft); err != nil {
		return err
	}
	if err := a.Ask(fmt.Sprintf("Apply %s?", units.Count(len(draft.Steps), "step")), f.yes); err != nil {
		return err
	}
	r, err := x.Apply(ctx, draft)
	if r.Number == 0 && err != nil {
		return err
	}
	if err := errors.Join(err, a.Answer(f.json, fixview.Document(r, x.Know.Catalog), fixview.Outcome(r, x.Know.Catalog, shell.Screen(a.Out)))); err != nil {
		return err
	}
	return leftOut(draft)
}

// leftOut is the error whose exit code says that some steps were not done.
func leftOut(d change.Draft) error {
	if len(d.Refused) > 0 {
		return shell.ErrMarked
	}
	return nil
}
