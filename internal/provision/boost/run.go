package boost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/change/draft"
	"plumb/internal/fix"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/protect/heir"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// Lender lends values for the time of a command.
type Lender struct {
	Do       host.Streamer
	Executor *change.Executor
	Catalog  *catalog.Catalog
	Setters  []change.Setter
	Stack    *stack.Stack
	Undo     fix.Undo
	User     string
	Unit     *Unit // nil where nothing can give back at the next boot
	// Heir is the command that gives a change back when its input ends or its time is over, and
	// what it is told first. It says that it is ready by a line "armed".
	Heir func(number int) (argv []string, first []byte, err error)
	// Command is what is sped up. It gives its exit status.
	Command func(ctx context.Context) (int, error)
	Say     func(text string) // what happens meanwhile
}

// Result is what came of a load.
type Result struct {
	Number int           // of the change in the journal
	Code   int           // exit status of the command
	Took   time.Duration // by the command
	Over   bool          // the time was over before the command ended
	Left   []string      // what somebody changed meanwhile, and was left as it is
	Synced bool          // all that was written before is on disk
}

// Prepare makes the draft of a plan, and changes nothing.
func (l *Lender) Prepare(ctx context.Context, p Plan) (change.Draft, error) {
	maker := draft.Maker{Doer: l.Do, Stack: l.Stack, Catalog: l.Catalog, Setters: l.Setters, Dir: l.Executor.Dir, AllowUnsafe: p.Unsafe, Passing: true}
	d, err := maker.Prepare(ctx, p.Steps)
	if err != nil || l.Unit == nil {
		return d, err
	}
	for i, s := range d.Steps {
		if s.Recipe.Lasts == "" {
			continue
		}
		acts, err := l.Unit.acts(p.Of)
		if err != nil {
			return d, err
		}
		d.Steps[i].Recipe.Acts = append(acts, s.Recipe.Acts...)
		break
	}
	return d, nil
}

// Lasts tells whether a reboot leaves a draft's values as the load set them.
func Lasts(d change.Draft) bool {
	return slices.ContainsFunc(d.Steps, func(s change.Prepared) bool { return s.Recipe.Lasts != "" })
}

// Lend sets the values, runs the command, and gives them back: when the command has ended, when
// the time is over, and by somebody else when this process is gone.
func (l *Lender) Lend(ctx context.Context, p Plan, d change.Draft) (r Result, err error) {
	began := l.Executor.Now()
	until := began.Add(p.For)
	var heirs *heir.Switch
	o := change.ApplyOptions{Begin: change.Begin{User: l.User, Try: until.UTC().Truncate(time.Second), Loan: inventory.Boot(ctx, l.Do)}}
	if o.Begin.Loan == "" {
		return r, errors.New("the boot ID cannot be read (/proc/sys/kernel/random/boot_id), so the next boot could not know what to restore")
	}
	o.Armed = func(c *change.Change) (err error) {
		heirs, err = l.arm(ctx, c.Number, p.For)
		return err
	}
	out, err := l.Executor.Apply(ctx, d, o)
	r.Number = out.Number
	if heirs != nil {
		defer func() { err = errors.Join(err, heirs.Wait(context.WithoutCancel(ctx))) }()
	}
	if err == nil {
		err = l.run(ctx, &r, until)
	}
	if r.Number == 0 {
		return r, err
	}
	return r, errors.Join(err, l.back(ctx, p, &r))
}

// arm starts the process that outlives us.
func (l *Lender) arm(ctx context.Context, number int, limit time.Duration) (*heir.Switch, error) {
	argv, first, err := l.Heir(number)
	if err != nil {
		return nil, err
	}
	s, err := heir.Start(ctx, l.Do, `exec "$@"`, argv, first, limit)
	if err != nil {
		return nil, hint.With(fmt.Errorf("start the process that restores it if this one dies: %w", err), "it needs setsid and sh, and logs in as this command does")
	}
	return s, nil
}

// run runs the command. Once the time is over the values go back, and the command goes on.
func (l *Lender) run(ctx context.Context, r *Result, until time.Time) error {
	type end struct {
		code int
		err  error
	}
	ended, began := make(chan end, 1), time.Now()
	go func() {
		code, err := l.Command(ctx)
		ended <- end{code, err}
	}()
	var e end
	select {
	case e = <-ended:
	case <-time.After(time.Until(until)):
		r.Over = true
		l.Say("the time is over: the earlier values are restored now, and the command continues")
		if err := l.giveBack(ctx, r.Number); err != nil {
			l.Say(err.Error())
		}
		e = <-ended
	}
	r.Code, r.Took = e.code, time.Since(began)
	return e.err
}

// giveBack takes a loan back, and tries again while something stands in the way.
func (l *Lender) giveBack(ctx context.Context, number int) error {
	gone := make(chan struct{})
	close(gone)
	if err := l.Undo.WhenEnded(context.WithoutCancel(ctx), number, gone); err != nil {
		return hint.With(fmt.Errorf("restore the settings that change %d set temporarily: %w", number, err), fmt.Sprintf("plumb undo %d tries again", number))
	}
	return nil
}

// back gives all back, and sees to it that what was loaded is on disk.
func (l *Lender) back(ctx context.Context, p Plan, r *Result) error {
	ctx = context.WithoutCancel(ctx)
	if err := l.giveBack(ctx, r.Number); err != nil {
		return err
	}
	all, err := l.Executor.Changes(ctx)
	for _, c := range all {
		for _, a := range c.Acts {
			if c.Number == r.Number && a.State == change.Left {
				r.Left = append(r.Left, strings.TrimPrefix(a.Why, "changed since by somebody: "))
			}
		}
	}
	if p.Of.Kind == "dataset" {
		_, failed := l.Do.Run(ctx, zfs.SyncPool(zfs.PoolOf(p.Of.Name))...)
		r.Synced = failed == nil
	}
	return err
}
