// Package provision has the command that lays out a host from a spec, and those below it. Engines and
// storages are passed in.
package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/provision"
	"plumb/internal/provision/propose"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	view "plumb/internal/view/provision"
)

// Adapters holds what the commands know of engines and storages.
type Adapters struct {
	Dialers func(dsn.Given) map[string]host.Dialer
	Phases  func(*catalog.Catalog, dsn.Given) [][]observe.Probe
	Setters func(*catalog.Catalog, dsn.Given) []change.Setter
	Engines func(*catalog.Catalog, dsn.Given) []provision.Engine
	Storage provision.Storage
	Mover   func(cat *catalog.Catalog, g dsn.Given, journal string) provision.Mover
	System  provision.System
	Tape    func(name string) (host.Reader, error) // opens a recorded host
}

// verbs makes the commands, and holds what they need of the process.
type verbs struct {
	*shell.Shell
	Adapters
}

// flags holds the flags of provision itself.
type flags struct {
	shell.Source
	state       string
	from        string
	stop, start string
	skip        []string
	dryRun, yes bool
	takeAway    bool
	discardNew  bool
	force, keep bool
	json        bool
	emit        string
}

// Command makes the command and those below it.
func Command(s *shell.Shell, a Adapters) *cobra.Command {
	v := &verbs{s, a}
	var f flags
	c := &cobra.Command{
		Use:   "provision SPEC",
		Short: "set up a host for a server from a spec, and undo it",
		Long: `Provision makes what SPEC names: a pool or datasets in one, a dataset for each role
of a server, its data moved there, and its settings. SPEC says what, not how: every
value comes from the rules of plumb check, applied to the host as it will be. So
check reports nothing above a note afterwards, except what no setting can change.

It shows every step, what of it is final, and what check will report afterwards,
and asks. Each stage is a change in the journal. If it is killed at any moment,
plumb provision again continues; --undo reverts it, the last stage first, from the
journal alone. A second run changes nothing.

A disk is used only if it is proven to be empty, or if SPEC gives its serial number
to be erased. The server is stopped while what changed meanwhile is copied a second
time, and started on the copy; undoing that copies back what was written since.

` + exits,
		Example: `  plumb provision shop.yaml --dry-run      every step, and what check will say
  plumb provision shop.yaml
  plumb provision shop.yaml --undo         back to how it was before
  plumb provision shop.yaml --emit k8s     StorageClasses, operators' volumes
  plumb provision --from live > shop.yaml  the spec of this host as it is`,
		Args: shell.AtMostOneArg("spec"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.from != "":
				return v.fromHost(c.Context(), f, strings.Join(args, ""))
			case len(args) == 0:
				return hint.Usage("no spec is named", "plumb provision FILE; plumb provision --from live writes one of this host")
			}
			return v.run(c.Context(), f, args[0])
		},
	}
	f.LiveFlags(c)
	fl := c.Flags()
	fl.StringVar(&f.state, "state", "", "keep the journal in `DIR` instead of "+change.Directory)
	fl.StringVar(&f.from, "from", "", "print the spec of an existing host: `live` for this host, or a tape; if it has several servers, name one in place of SPEC")
	fl.StringVar(&f.stop, "stop", "", "stop the server with `COMMAND`, which returns when it has ended")
	fl.StringVar(&f.start, "start", "", "start the server with `COMMAND`, which returns when it runs")
	fl.StringSliceVar(&f.skip, "skip", nil, "do not apply these `RULES`; * matches")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
	shell.YesFlag(c, &f.yes)
	fl.BoolVar(&f.takeAway, "undo", false, "undo everything that provision did for this spec, the last stage first")
	fl.BoolVar(&f.force, "force", false, "with --undo, also undo what somebody changed since")
	fl.BoolVar(&f.discardNew, "discard-new", false, "with --undo, drop what the server wrote since it was moved, instead of copying it back")
	fl.BoolVar(&f.keep, "keep", false, "with --undo, leave what somebody changed since as it is")
	shell.JSONFlag(c, &f.json, "")
	fl.StringVar(&f.emit, "emit", "", "print the plan for hosts without Plumb, in this `FORM`: "+strings.Join(emitForms(), ", ")+", and do nothing")
	shell.Offer(c, map[string]shell.Words{"emit": emitForms})
	c.MarkFlagsMutuallyExclusive("from", "emit", "undo")
	c.MarkFlagsMutuallyExclusive("from", "emit", "json")
	return c
}

const exits = `Exit codes:
  0  done, or nothing to do
  1  done, but check has findings above a note
  2  the command line or the spec is wrong
  3  refused, or failed: the output says what was done`

// read reads the spec; - is standard input.
func (v *verbs) read(name string) (spec.Spec, error) {
	text, err := shell.ReadFile(name, v.In, shell.MostFile)
	if err != nil {
		return spec.Spec{}, hint.With(fmt.Errorf("read the spec %s: %w", name, err), "plumb provision --from live writes the one of this host; plumb schema provision-spec describes the form")
	}
	sp, err := spec.Parse(name, text)
	if err != nil {
		return spec.Spec{}, hint.Usage(err.Error(), "plumb schema provision-spec describes the form; what is not in it, such as ashift, recordsize and the server's settings, follows from the rules, and --dry-run shows it")
	}
	return sp, nil
}

func (f flags) validate() error {
	switch {
	case (f.force || f.keep || f.discardNew) && !f.takeAway:
		return hint.Usage("--force, --keep and --discard-new say how to undo", "give --undo too")
	case f.force && f.keep:
		return hint.Usage("--force and --keep cannot be combined", "give one of them")
	case (f.stop == "") != (f.start == ""):
		return hint.Usage("of --stop and --start only one is given", "give both: the server is started by whatever stops it")
	}
	return f.Validate()
}

func (v *verbs) run(ctx context.Context, f flags, name string) error {
	if err := f.validate(); err != nil {
		return err
	}
	f.DSN = shell.OrEnvironment(f.DSN)
	sp, err := v.read(name)
	if err != nil {
		return err
	}
	flow, err := v.flow(f)
	if err != nil {
		return err
	}
	if f.emit != "" {
		return v.emit(ctx, flow, f.emit, sp)
	}
	if f.takeAway {
		return v.away(ctx, flow, f, propose.Of(sp))
	}
	return v.apply(ctx, flow, f, sp)
}

// aptTime is how long a command may take: apt-get -s reads all lists of packages, for a swap those of two releases, which takes
// over a minute on a cold cache or a busy machine.
const aptTime = 5 * time.Minute

// flow opens this machine for a command.
func (v *verbs) flow(f flags) (propose.Flow, error) {
	know, err := check.Load(check.Choice{Skip: f.skip}, nil, v.Warn)
	if err != nil {
		return propose.Flow{}, err
	}
	know.Plumb = shell.Version()
	given, err := dsn.Read(f.DSN)
	if err != nil {
		return propose.Flow{}, hint.Usage("read --dsn: "+err.Error(), "postgres://user@host:5432/postgres or mysql://user@host:3306/")
	}
	flow := propose.Flow{Know: know, Storage: v.Storage, System: v.System, Engines: v.Engines(know.Catalog, given), Setters: v.Setters(know.Catalog, given)}
	dir := change.Directory
	if f.state != "" {
		if dir, err = filepath.Abs(f.state); err != nil {
			return propose.Flow{}, err
		}
	}
	f.CommandTime = aptTime
	flow.Mover = v.Mover(know.Catalog, given, dir)
	flow.Open = func() (*host.LiveDoer, *change.Executor, error) {
		live, _, err := f.Live(v.Dialers)
		if err != nil {
			return nil, nil, err
		}
		d := host.NewLiveDoer(live)
		return d, v.Executor(d, dir), nil
	}
	flow.Look = func(ctx context.Context, h host.Reader) (*stack.Stack, error) {
		return check.Observe(ctx, h, know.Catalog, v.Phases(know.Catalog, given), f.Timeout)
	}
	if f.stop != "" {
		flow.Stop, flow.Start = []string{"sh", "-c", f.stop}, []string{"sh", "-c", f.start}
	}
	return flow, nil
}

func (v *verbs) apply(ctx context.Context, flow propose.Flow, f flags, sp spec.Spec) error {
	if os.Geteuid() != 0 && !f.dryRun {
		return hint.With(errors.New("only root can set up a host"), "try sudo plumb provision; --dry-run shows what it would do")
	}
	if err := v.goOn(ctx, flow, f, propose.Of(sp)); err != nil {
		return err
	}
	p, err := v.propose(ctx, flow, sp)
	if err != nil {
		return err
	}
	if f.dryRun {
		return v.Answer(f.json, view.PlanDocument(p), view.Plan(p, shell.Screen(v.Out)))
	}
	if p.Next() != nil {
		if !f.json {
			if err := v.Print(view.Plan(p, shell.Screen(v.Out)) + "\n"); err != nil {
				return err
			}
		}
		if err := v.Ask("Do it?", f.yes); err != nil {
			return err
		}
	}
	r, err := flow.Apply(ctx, sp, v.doing(f.json))
	if err != nil {
		return err
	}
	if err := v.Answer(f.json, view.Document(r), view.Outcome(r, shell.Screen(v.Out))); err != nil {
		return err
	}
	if len(r.Left) > 0 {
		return shell.ErrMarked
	}
	return nil
}

// goOn finishes or undoes what an earlier run began, once a person has agreed.
func (v *verbs) goOn(ctx context.Context, flow propose.Flow, f flags, of string) error {
	torn, err := flow.Torn(ctx, of)
	if f.dryRun {
		v.Warn("it is not known whether an earlier run has ended", err)
		foretell(v.Err, torn)
		return nil
	}
	if err != nil || len(torn) == 0 {
		return err
	}
	if !f.json {
		if err := v.Print(view.Torn(torn, shell.Screen(v.Out)) + "\n"); err != nil {
			return err
		}
	}
	if err := v.Ask("Continue?", f.yes); err != nil {
		return err
	}
	_, err = flow.GoOn(ctx, of)
	return err
}

// foretell says what a run would end first. A dry run shows what comes after that of the host as it stands half-way, where a server may
// have been stopped.
func foretell(out io.Writer, torn []*change.Change) {
	if len(torn) > 0 {
		fmt.Fprintf(out, "%sWhat a dry run finds until then is of the host as that left it.\n", view.Torn(torn, shell.Screen(out)))
	}
}

func (v *verbs) propose(ctx context.Context, flow propose.Flow, sp spec.Spec) (propose.Proposal, error) {
	d, k, err := flow.Open()
	if err != nil {
		return propose.Proposal{}, err
	}
	defer d.Close()
	return flow.Propose(ctx, d, k.Dir, sp)
}

// doing shows on a terminal the act that is being done.
func (v *verbs) doing(quiet bool) func(string, change.Act, bool) {
	if quiet || !shell.IsTerminal(v.Err) {
		return nil
	}
	return func(stage string, a change.Act, done bool) {
		if done {
			shell.Rewrite(v.Err, "")
		} else {
			shell.Rewrite(v.Err, stage+": "+strings.TrimSpace(a.Place()))
		}
	}
}

// away undoes everything of a provision.
func (v *verbs) away(ctx context.Context, flow propose.Flow, f flags, of string) error {
	all, err := flow.InForce(ctx, of)
	if err != nil {
		return err
	}
	if len(all) == 0 || f.dryRun {
		return v.Answer(f.json, view.AwayDocument(of, all, false), view.Away(all, false, shell.Screen(v.Out)))
	}
	if !f.json {
		if err := v.Print(view.Away(all, false, shell.Screen(v.Out))); err != nil {
			return err
		}
	}
	question := "Take it away?"
	if f.discardNew {
		question = "Remove it, and lose what was written since?"
	}
	if err := v.Ask(question, f.yes); err != nil {
		return err
	}
	undone, err := flow.TakeAway(ctx, of, change.UndoOptions{Force: f.force, Keep: f.keep, Discard: f.discardNew})
	if err != nil {
		return err
	}
	slices.Reverse(undone)
	return v.Answer(f.json, view.AwayDocument(of, undone, true), view.Away(undone, true, shell.Screen(v.Out)))
}
