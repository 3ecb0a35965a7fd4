package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
	fixview "plumb/internal/view/fix"
	"plumb/internal/view/page"
	"plumb/internal/view/playbook"
)

// fixFlags are the flags of fix.
type fixFlags struct {
	keeping
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
		Short: "apply the advice so that it can be taken back",
		Long: `Fix shows the plan of a check, asks, and applies it: it sets each value at once,
where that is possible, and makes it persist. PLAN is a file that plumb check
--plan wrote; without one, fix checks this host first.

Each change is written to a journal in ` + change.Directory + ` before it is made, so
that plumb undo can take it back after a crash at any moment. Files are edited
byte for byte: nothing but the value changes. Values that are less durable than
those in force need --allow-unsafe with the knob's name. A restart is never done
without --restart; what waits for one is listed. A plan for which a right is
missing is refused whole, before anything is touched.

With --try, everything is undone after the time given unless you type plumb
confirm before, even when the terminal, the network or this program is gone. What
--restart restarted is then restarted again, with the old values. A reboot ends
the trial without undoing it; plumb history then says so.

` + fixExits,
		Example: `  plumb fix --dry-run                      what would be done, and how it is undone
  plumb fix --only mysql                   only what concerns MySQL
  plumb fix plan.json --try 10m            undone after ten minutes unless confirmed
  plumb fix --set mysql:3306#sync_binlog=1 one knob, whatever the rules say
  plumb fix plan.json --root /mnt/image    the lasting half, into an unpacked image
  plumb fix --emit ansible > fix.yml       the same as a playbook, with its reverse`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return hint.Usage(fmt.Sprintf("plumb fix takes one plan, got %d", len(args)), "plumb check --plan FILE writes one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.file = args[0]
			}
			return a.runFix(c.Context(), f)
		},
	}
	f.keeping.flags(c)
	choiceFlags(c, &f.choice)
	c.Flags().Lookup("skip").Usage = "not these `RULES`, * matches, and not these knobs (mysql:3306#sync_binlog)"
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "set this `KNOB=VALUE` in place of the advice, such as dataset:tank/db#recordsize=16K or vm.swappiness=10; can be given several times")
	fl.BoolVar(&f.yes, "yes", false, "do not ask")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
	fl.BoolVar(&f.restart, "restart", false, "also restart the servers whose new values wait for it")
	fl.StringSliceVar(&f.allowUnsafe, "allow-unsafe", nil, "allow these `KNOBS` a value that is less durable")
	fl.DurationVar(&f.try, "try", 0, "undo everything after this time unless plumb confirm is typed before")
	fl.StringVar(&f.emit, "emit", "", "print the plan as a script with its reverse, in the `FORM` "+strings.Join(playbook.Forms(), " or "))
	fl.BoolVar(&f.json, "json", false, "print JSON v1 (plumb schema describes it)")
	offer(c, map[string]words{"emit": playbook.Forms})
	return c
}

const fixExits = `Exit codes:
  0  done, or nothing to do
  1  done, but for steps that are listed with the reason
  2  the command line is wrong
  3  not done: refused before the first change, or failed and taken back`

// validate finds what is wrong with the flags before anything is read.
func (f fixFlags) validate() error {
	switch {
	case f.emit != "" && !slices.Contains(playbook.Forms(), f.emit):
		return hint.Usage(fmt.Sprintf("--emit %s is no form", f.emit), "want "+strings.Join(playbook.Forms(), " or "))
	case f.try < 0 || f.try > 0 && f.try < 5*time.Second:
		return hint.Usage(fmt.Sprintf("--try %s leaves no time to type plumb confirm", f.try), "give something like --try 10m")
	case f.try > 0 && f.image != "":
		return hint.Usage("--try watches a machine that runs, and --root names an image", "give one of them")
	case f.image != "" && f.file == "" && len(f.set) == 0:
		return hint.Usage("--root wants a plan: nothing runs in an image that could be checked", "plumb check --plan FILE writes one on a machine like it")
	case f.file != "" && len(f.set) > 0:
		return hint.Usage("a plan and --set are two lists of changes", "give one of them")
	case f.image != "" && f.restart:
		return hint.Usage("--restart concerns what runs, and --root names an image", "give one of them")
	}
	return f.keeping.validate()
}

// knobsApart parts the knobs that --skip names from its rules.
func knobsApart(skip []string) (rules, knobs []string) {
	for _, s := range skip {
		if strings.Contains(s, "#") {
			knobs = append(knobs, s)
			continue
		}
		rules = append(rules, s)
	}
	return rules, knobs
}

// fixing is one run of fix.
type fixing struct {
	*app
	fixFlags
	know   check.Knowledge
	live   *host.Live
	hands  *host.Hands
	doer   host.Doer
	given  given
	stack  *stack.Stack
	plan   advise.Plan
	draft  change.Draft
	keeper *change.Keeper
}

func (a *app) runFix(ctx context.Context, f fixFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	f.choice.Skip, f.skipKnobs = knobsApart(f.choice.Skip)
	f.dsn = orEnvironment(f.dsn)
	x := &fixing{app: a, fixFlags: f}
	var err error
	if x.know, err = a.loadKnowledge(f.choice, ""); err != nil {
		return err
	}
	if x.live, x.given, err = openLive(f.source); err != nil {
		return err
	}
	a.warnUnverified(x.given)
	x.hands = host.NewHands(x.live)
	defer x.hands.Close()
	if err := x.observe(ctx); err != nil {
		return err
	}
	if err := x.prepare(ctx); err != nil {
		return err
	}
	if f.emit != "" {
		text, err := playbook.Text(f.emit, x.draft, x.plan, x.know.Catalog)
		if err == nil {
			_, err = fmt.Fprint(a.out, text)
		}
		return err
	}
	return x.apply(ctx)
}

// observe reads the host, and makes the doer for it or for an image.
func (x *fixing) observe(ctx context.Context) (err error) {
	x.doer, x.stack = x.keeping.doer(x.hands), &stack.Stack{}
	if x.image == "" {
		x.stack, err = lookInTime(ctx, host.NewOnce(x.live), x.know.Catalog, x.given, x.timeout)
	}
	x.keeper = x.keeping.keeper(x.doer)
	return err
}

// prepare makes the draft of the plan that was given, or of the advice.
func (x *fixing) prepare(ctx context.Context) (err error) {
	if x.plan, err = x.choosePlan(); err != nil {
		return err
	}
	steps := make([]change.Step, len(x.plan.Steps))
	for i, s := range x.plan.Steps {
		steps[i] = change.Step{Knob: s.Knob, From: s.From, To: s.To, Because: s.Because, Why: s.Why}
	}
	x.draft, err = change.Prepare(ctx, x.doer, x.stack, x.know.Catalog, setters(x.know.Catalog, x.given), steps,
		change.Options{AllowUnsafe: x.allowUnsafe, Image: x.image != "", Dir: x.keeper.Dir})
	return err
}

// apply shows the draft, asks, and does it.
func (x *fixing) apply(ctx context.Context) error {
	if !x.json || x.dryRun {
		if err := x.showDraft(); err != nil {
			return err
		}
	}
	switch {
	case x.draft.Stops():
		return hint.With(fmt.Errorf("the plan is refused as a whole, and nothing was changed"), x.whole())
	case x.dryRun:
		return x.leftOut()
	case len(x.draft.Steps) == 0:
		return x.leftOut()
	}
	if err := x.possible(); err != nil {
		return err
	}
	if err := x.ask(fmt.Sprintf("Apply %s?", countText(len(x.draft.Steps), "step")), x.yes); err != nil {
		return err
	}
	return x.do(ctx)
}

// possible says before anybody is asked why the draft cannot be done at all.
func (x *fixing) possible() error {
	if err := x.keeper.Trusted(); err != nil {
		return fmt.Errorf("keep the journal: %w", err)
	}
	if x.try > 0 && x.restart {
		return x.draft.TryRestarts()
	}
	return nil
}

// whole is the hint for a plan that is refused as a whole.
func (x *fixing) whole() string {
	if len(x.draft.Missing) > 0 {
		return "run it with the rights that are missing, or leave steps out with --skip"
	}
	return "leave the refused steps out with --skip, or make a new plan"
}

func (x *fixing) showDraft() error {
	if x.json {
		text, err := page.JSON(fixview.Document(x.draft, change.Outcome{}, nil, x.know.Catalog))
		if err == nil {
			_, err = x.out.Write(text)
		}
		return err
	}
	_, err := fmt.Fprint(x.out, fixview.Plan(x.draft, x.know.Catalog, screen(x.out)))
	return err
}

// leftOut says by the exit code that some steps were not done.
func (x *fixing) leftOut() error {
	if len(x.draft.Refused) > 0 {
		return errMarked
	}
	return nil
}

func countText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
