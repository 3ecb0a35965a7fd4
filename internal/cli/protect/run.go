package protect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	"plumb/internal/stack"
	view "plumb/internal/view/protect"
)

// runFlags are the flags of protect run.
type runFlags struct {
	machine.Place
	emit    string
	dryRun  bool
	backups bool
}

// kinds returns the kinds of acts a run does, and file where it keeps its memory.
func (f runFlags) kinds(m *machine.Machine) (kinds []policy.Kind, file string) {
	if f.backups {
		return policy.Long(), policy.BackupsOf(m.Memory)
	}
	return policy.Kinds(), m.Memory
}

func emitted() []string { return []string{policy.Systemd, policy.Cron} }

func (v *verbs) run() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run POLICY",
		Short: "do what a policy asks for and is due: take, prove, send, prune",
		Long: `Run reads a policy and does what is due, one thing after the other: it takes points,
drills one, replicates and prunes. If one part fails, the others go on; the failure
is recorded, and plumb protect status reports it until it succeeds. A second run
beside one that is at work does nothing. Backups can take hours, so they have runs
of their own, with --backups, and no point waits for them.

--emit prints the units of a systemd timer, or the crontab, that call it; each file
begins with its name. A policy is a file such as:

  points:
    - server: mysql:3306          # or all
      every: 1h
      keep: last=3,24h,7d,4w,verified=2
      drill: {every: 1d, checks: full}
      backup:
        - to: [s3://backups/db1]
          recipients: /etc/plumb/recipients.txt
          every: 1d

` + exits,
		Example: `  plumb protect run /etc/plumb/protect.yaml --dry-run
  plumb protect run /etc/plumb/protect.yaml
  plumb protect run /etc/plumb/protect.yaml --emit systemd`,
		Args: shell.OneArg("policy"),
		RunE: func(c *cobra.Command, args []string) error {
			if f.Grants {
				return v.Print(v.Grants(f.Verb()))
			}
			p, err := policyOf(args[0])
			if err != nil {
				return err
			}
			if f.emit != "" {
				return v.emitPolicy(p, f.emit)
			}
			return v.On(f.Place, func(m *machine.Machine) error { return v.runPolicy(c.Context(), m, f, p) })
		},
	}
	f.Place.Flags(c)
	c.Flags().StringVar(&f.emit, "emit", "", "print a schedule for it, in this `FORM`: "+hint.OneOf(emitted()))
	c.Flags().BoolVar(&f.backups, "backups", false, "only do the backups that are due")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what is due, and do nothing")
	for _, name := range []string{"dry-run", "backups", "json", "state", "dsn", "timeout"} { // which are about a run now
		c.MarkFlagsMutuallyExclusive("emit", name)
	}
	shell.Offer(c, map[string]shell.Words{"emit": emitted})
	return c
}

// policyOf reads the file of a policy. Its name becomes absolute, as a timer runs in another directory.
func policyOf(name string) (*policy.Policy, error) {
	file, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	text, err := shell.ReadFile(file, nil, shell.MostFile)
	if err != nil {
		return nil, hint.With(fmt.Errorf("read the policy %s: %w", name, err), "plumb protect run --help shows one")
	}
	p, err := policy.Parse(file, text)
	if err != nil {
		return nil, hint.Usage(err.Error(), "plumb protect run --help shows one")
	}
	return p, nil
}

func (v *verbs) emitPolicy(p *policy.Policy, form string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	files, err := policy.Emit(form, self, p)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := v.Print("# " + f.Path + "\n" + f.Text + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (v *verbs) runPolicy(ctx context.Context, m *machine.Machine, f runFlags, p *policy.Policy) error {
	a := &acts{v: v, m: m}
	kinds, file := f.kinds(m)
	r := policy.Runner{Do: m.Doer, Acts: a, File: file, Now: m.Keeper.Now, Kinds: kinds}
	if f.dryRun {
		due, err := a.due(ctx, p, file, kinds)
		if err != nil {
			return err
		}
		return v.Answer(f.JSON, view.RunDocument(p.File, true, view.Due(due)), view.Run(view.Due(due), true, shell.Screen(v.Out)))
	}
	if say := v.Doing(f.JSON); say != nil {
		r.Doing = func(a policy.Act) { say(string(a.Kind) + " " + a.Server.String()) }
	}
	report, err := r.Run(ctx, p)
	v.Done()
	if err := errors.Join(v.Answer(f.JSON, view.RunDocument(p.File, false, report), view.Run(report, false, shell.Screen(v.Out))), err); err != nil {
		return err
	}
	if report.Failed() > 0 {
		return shell.ErrMarked
	}
	return nil
}

// acts does the acts of a policy.
type acts struct {
	v *verbs
	m *machine.Machine
	s *stack.Stack
}

// due returns what a run would do now. Acts on points that the run itself would take are not in it.
func (a *acts) due(ctx context.Context, p *policy.Policy, file string, kinds []policy.Kind) ([]policy.Act, error) {
	memory, err := policy.Remember(ctx, a.m.Doer, file)
	if err != nil {
		return nil, err
	}
	servers, err := a.Servers(ctx)
	if err != nil {
		return nil, err
	}
	points, facts, err := a.Points(ctx)
	return policy.Due(policy.Seen{Now: a.m.Keeper.Now(), Policy: p, Servers: servers, Points: points, Facts: facts, Memory: memory}, kinds), err
}

// Servers implements policy.Acts.
func (a *acts) Servers(ctx context.Context) (refs []stack.Ref, err error) {
	if a.s, err = a.m.Look(ctx); err != nil {
		return nil, err
	}
	return a.m.Servers(a.s), nil
}

// Points implements policy.Acts.
func (a *acts) Points(ctx context.Context) ([]protect.Point, map[string]keep.Facts, error) {
	all, err := a.m.Keeper.Store.List(ctx, a.m.Doer)
	return all, prune.Pruner{Keeper: a.m.Keeper}.Facts(ctx, a.m.Doer, all), err
}

// Do implements policy.Acts.
func (a *acts) Do(ctx context.Context, act policy.Act) error {
	switch act.Kind {
	case policy.Take:
		return a.take(ctx, act)
	case policy.Prove:
		return a.prove(ctx, act)
	case policy.Prune:
		return a.prune(ctx, act)
	case policy.Replicate:
		return a.send(ctx, act)
	case policy.Backup:
		return a.backup(ctx, act)
	}
	return fmt.Errorf("%s: this version of Plumb cannot do that yet", act.Kind)
}

func (a *acts) take(ctx context.Context, act policy.Act) error {
	plan, err := a.m.Keeper.Plan(ctx, a.m.Doer, a.s, act.Server)
	if err != nil {
		return err
	}
	l := act.Rule.Limits
	point, err := a.m.Keeper.Take(ctx, plan, protect.TakeOptions{Mode: act.Rule.Mode, Wait: l.Wait, Hold: l.Hold})
	if err == nil && point.Fell() != "" {
		err = fmt.Errorf("point %s counts as a crash point, because %s", point.ID, point.Fell())
	}
	return err
}

func (a *acts) prove(ctx context.Context, act policy.Act) error {
	point, err := a.m.Keeper.Store.Get(ctx, a.m.Doer, act.Point)
	if err != nil {
		return err
	}
	d := act.Rule.Drill
	came, err := drill.Drill{Maker: a.m.Copies, Full: d.Full, Ready: d.Ready, Limit: d.Limit, Memory: d.Memory}.Run(ctx, point)
	if why := came.Short(); err == nil && why != "" {
		err = fmt.Errorf("the drill of point %s did not prove it: %s", point.ID, why)
	}
	return err
}

// backup backs up a point. What that prints goes to standard error, as standard output is for the answer of the run.
func (a *acts) backup(ctx context.Context, act policy.Act) error {
	for _, s := range act.Rule.Backup {
		if s.Target() == act.Target {
			quiet := *a.v.Shell
			quiet.Out = quiet.Err
			if s.With != "" {
				return a.v.Driven(ctx, &quiet, a.m, act.Server, s.With)
			}
			return a.v.Backup(ctx, &quiet, a.m, act.Point, s)
		}
	}
	return fmt.Errorf("the policy has no backup to %s", act.Target)
}

func (a *acts) prune(ctx context.Context, act policy.Act) error {
	a.v.settle(ctx, a.m)
	pruner := prune.Pruner{Keeper: a.m.Keeper}
	plans, err := pruner.Plan(ctx, a.m.Doer, prune.Options{Server: act.Server, Rules: act.Rule.Keep})
	for _, plan := range plans {
		_, failed := pruner.Carry(ctx, plan)
		err = errors.Join(err, failed)
	}
	return err
}
