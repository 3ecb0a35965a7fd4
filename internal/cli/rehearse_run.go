package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse/runner"
	"plumb/internal/stack"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
	rehearseview "plumb/internal/view/rehearse"
)

// changeable lists the flags that may differ when a rehearsal is continued.
func changeable() []string {
	return []string{"resume", "max-time", "plan", "html", "force", "json", "strict", "state", "ledger", "timeout", "fetch"}
}

// resumable is a usage error for flags that would change what was begun.
func resumable(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(changeable(), flag.Name) {
			err = hint.Usage(fmt.Sprintf("--resume continues a rehearsal as it was begun, but --%s would change it", flag.Name), "without --resume a new rehearsal begins")
		}
	})
	return err
}

// options makes the options that the flags ask for.
func (f rehearseFlags) options(flags *pflag.FlagSet) runner.Options {
	o := runner.Options{Server: f.server, Sandbox: f.sandbox, Version: f.serverVersion, Workload: f.workload, Threads: f.threads, Volume: f.volume,
		Memory: experiment.Bytes(f.memory), Data: experiment.Bytes(f.data), Budget: f.budget, WithoutOne: f.withoutOne, AllowHost: f.allowHost, Fetch: f.fetch,
		Search: f.search, Chosen: f.file != "", Dir: f.dir, Ledger: f.ledger, Plan: f.plan, Page: f.html, Replace: f.force}
	if f.resume && !flags.Changed("max-time") {
		o.Budget = 0
	}
	if f.resume && !flags.Changed("ledger") {
		o.Ledger = ""
	}
	return o
}

func (a *app) runRehearse(ctx context.Context, f rehearseFlags, flags *pflag.FlagSet) (err error) {
	if f.resume {
		if err := resumable(flags); err != nil {
			return err
		}
	}
	if err := f.validate(); err != nil {
		return err
	}
	know, err := a.loadKnowledge(f.choice, "")
	if err != nil {
		return err
	}
	doer := shell.Machine()
	defer func() { err = errors.Join(err, doer.Close()) }()
	watch := a.labWatch()
	ports, err := a.rehearsePorts(f, know, doer)
	if err != nil {
		return err
	}
	ports.Watch = watch
	var x *runner.Runner
	if f.resume {
		x, err = runner.Resume(ctx, f.name, f.options(flags), ports)
	} else {
		x, err = runner.New(ctx, f.options(flags), ports)
	}
	if err != nil {
		return err
	}
	if x.Nothing() {
		return a.showRehearsal(x, x.Outcome(), f)
	}
	plan, err := x.Prepare(ctx)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.Print(rehearseview.Plan(plan, know.Catalog, shell.Screen(a.Out)))
	}
	out, err := x.Run(ctx)
	watch.done()
	if out == nil {
		return err
	}
	err = errors.Join(err, a.showRehearsal(x, out, f), x.Close(context.WithoutCancel(ctx)))
	if err == nil && f.strict && out.Undecided() {
		return shell.ErrMarked
	}
	return err
}

// rehearsePorts wires the adapters into a rehearsal.
func (a *app) rehearsePorts(f rehearseFlags, know check.Knowledge, doer *host.LiveDoer) (p runner.Ports, err error) {
	p = runner.Ports{Know: know, Live: doer, Volumes: volumeMaker(), Engines: engines(), Capture: captureStack(know.Catalog),
		Read: func(ctx context.Context) (*stack.Stack, error) { return a.read(ctx, know.Catalog, f.Source) },
		Advice: func(s *stack.Stack) (advise.Plan, error) {
			r, err := a.request(fixFlags{file: f.file})
			if err != nil {
				return advise.Plan{}, err
			}
			return r.Plan(know, s)
		},
		Replay: func(ctx context.Context, t host.Reader) (*stack.Stack, error) {
			return lookInTime(ctx, t, know.Catalog, dsn.OnTape(t.About().Given), f.Timeout)
		}}
	p.Books, err = f.labPlace.Books()
	return p, err
}

// showRehearsal prints the rehearsal in the form that was asked for, and writes
// the files that were asked for.
func (a *app) showRehearsal(x *runner.Runner, out *runner.Outcome, f rehearseFlags) error {
	var err error
	if f.json {
		err = a.Document(rehearseview.Document(out.Result, shell.Version()))
	} else {
		text := rehearseview.Text(out.Result, x.Know.Catalog, shell.Screen(a.Out), rehearsalNext(x, out)...)
		if out.Search != nil {
			text += "\n" + rehearseview.Search(*out.Search, out.Proposal.Scale, shell.Screen(a.Out))
		}
		err = a.Print(text)
	}
	if err != nil {
		return err
	}
	if x.Plan != "" {
		if err := writePlan(x.Plan, out.Plan); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s: %s\n", x.Plan, units.Count(len(out.Plan.Steps), "step"))
	}
	if x.Page == "" {
		return nil
	}
	html, err := rehearseview.HTML(out.Result, x.Know.Catalog, labview.About{Version: shell.Version(), Machine: out.Machine()})
	if err != nil {
		return err
	}
	return a.WritePage(x.Page, x.Replace, html)
}

// rehearsalNext returns the commands that may follow.
func rehearsalNext(x *runner.Runner, out *runner.Outcome) []string {
	switch {
	case out.Interrupted: // the hint of its error says what may follow
		return nil
	case out.Resume != "":
		return []string{fmt.Sprintf("plumb rehearse --resume %s --max-time %s continues for as long again", out.Resume, units.Short((2 * x.Budget).Round(time.Second)))}
	case x.Sandbox != "" || len(out.Plan.Steps) == 0:
		return nil
	case x.Plan != "":
		return []string{"plumb fix " + x.Plan + " applies what is kept"}
	}
	return []string{"--plan FILE writes what is kept, for plumb fix"}
}
