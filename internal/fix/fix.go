package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/change/draft"
	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Fix is what a fix works with, and how it is done.
type Fix struct {
	Know        check.Knowledge
	Live        *host.LiveDoer
	Executor    *change.Executor // of this machine, or of an unpacked image
	Setters     []change.Setter
	Stack       *stack.Stack                                // as the host was read; empty for an image
	Image       bool                                        // what is changed is an unpacked image, and nothing that runs
	Look        func(context.Context) (*stack.Stack, error) // reads the host again, with sessions of its own
	AllowUnsafe []string                                    // knobs that may get a value that is less durable
	Restart     bool                                        // also do the restarts that steps wait for
	Try         time.Duration                               // undo everything after this time unless it is confirmed; 0: keep it
	Undo        func(number int) ([]string, error)          // the command that undoes a change unless it is confirmed
	Secret      []string                                    // its environment, where that holds what no command line should
	Doing       func(i, of int, a change.Act, done bool)    // told before and after each act of a step; nil for nobody
}

// Result is what came of a fix. With no change it is what would be done.
type Result struct {
	change.Outcome
	Draft change.Draft
	After []After
	Try   time.Duration // after which it is undone unless it is confirmed
}

// After is what was seen of a step's knob when the host was read again.
type After struct {
	Knob  stack.Knob
	Known bool
	Fact  stack.Fact
	Fires []string // rules that asked for the step and still fire
}

// Prepare makes the draft of a plan, and changes nothing.
func (x *Fix) Prepare(ctx context.Context, p advise.Plan) (change.Draft, error) {
	steps := make([]change.Step, len(p.Steps))
	for i, s := range p.Steps {
		steps[i] = change.Step{Knob: s.Knob, From: s.From, To: s.To, Because: s.Because, Why: s.Why}
	}
	d := draft.Maker{Doer: x.Executor.Doer, Stack: x.Stack, Catalog: x.Know.Catalog, Setters: x.Setters, Dir: x.Executor.Dir, AllowUnsafe: x.AllowUnsafe, Image: x.Image}
	return d.Prepare(ctx, steps)
}

// Refused says why a draft is refused as a whole; nil when it is not.
func Refused(d change.Draft) error {
	if !d.Stops() {
		return nil
	}
	help := "leave the refused steps out with --skip, or make a new plan"
	if len(d.Missing) > 0 {
		help = "run it with the missing rights, or leave steps out with --skip"
	}
	return hint.With(errors.New("the plan is refused as a whole, and nothing was changed"), help)
}

// Possible says before anybody is asked why a draft cannot be done at all.
func (x *Fix) Possible(d change.Draft) error {
	if err := x.Executor.Trusted(); err != nil {
		return fmt.Errorf("keep the journal: %w", err)
	}
	if x.Try > 0 && x.Restart {
		return d.TryRestarts()
	}
	return nil
}

// Apply does a draft, and looks again. The result has a number once anything
// was begun, also with an error.
func (x *Fix) Apply(ctx context.Context, d change.Draft) (r Result, err error) {
	r = Result{Draft: d, Try: x.Try}
	o := change.ApplyOptions{Restart: x.Restart, Begin: change.Begin{Host: x.Stack.Hostname(), User: x.Live.About().User}}
	if x.Doing != nil {
		o.Doing = func(i int, a change.Act, done bool) { x.Doing(i, len(d.Steps), a, done) }
	}
	if x.Try > 0 {
		o.Begin.Try = time.Now().Add(x.Try).UTC().Truncate(time.Second)
		o.Armed = x.arm
	}
	if r.Outcome, err = x.Executor.Apply(ctx, d, o); r.Number == 0 {
		return r, err
	}
	r.After = x.lookAgain(ctx, r.Steps)
	if err != nil {
		err = hint.With(fmt.Errorf("change %d: %w", r.Number, err), "the steps before it are done; plumb undo reverts them, plumb history "+strconv.Itoa(r.Number)+" shows each")
	}
	return r, err
}

// arm sets the dead man's switch before the first effect: a timer of systemd,
// or a process that does not end with this one.
func (x *Fix) arm(c *change.Change) error {
	argv, err := x.Undo(c.Number)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if runs, _ := host.RunsSystemd(ctx, x.Live); runs && x.Secret == nil && x.Live.About().Root {
		_, err := x.Live.Run(ctx, append([]string{"systemd-run", fmt.Sprintf("--unit=plumb-undo-%d", c.Number), "--collect",
			"--on-active=" + strconv.Itoa(int(x.Try.Seconds())) + "s", "--timer-property=AccuracySec=1s"}, argv...)...)
		return err
	}
	_, err = x.Live.Detach(x.Secret, argv...)
	return err
}

// lookAgain reads the host anew and says, for each step that was done,
// whether it took.
func (x *Fix) lookAgain(ctx context.Context, steps []change.StepOutcome) (after []After) {
	if x.Image {
		return nil
	}
	var findings []advise.Finding
	s, err := x.Look(ctx)
	if err != nil {
		s = &stack.Stack{} // nothing was read back, and each step says so
	} else {
		findings = x.Know.Judge(s).Advice.Findings
	}
	for _, step := range steps {
		a := After{Knob: step.Knob}
		if step.Done {
			if t := s.Find(step.Knob.Of); t != nil {
				a.Fact, a.Known = t.Facts[step.Knob.Name]
			}
			a.Fires = stillFire(findings, step)
		}
		after = append(after, a)
	}
	return after
}

// stillFire lists the rules that asked for a step and still do.
func stillFire(findings []advise.Finding, step change.StepOutcome) (rules []string) {
	for _, f := range findings {
		for _, c := range f.Cases {
			for _, r := range c.Remedies {
				if r.IsStep() && r.Step.Knob == step.Knob && slices.Contains(step.Why, f.Rule.ID) {
					rules = append(rules, f.Rule.ID)
				}
			}
		}
	}
	return rules
}
