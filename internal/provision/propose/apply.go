package propose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/advise"
	"plumb/internal/await"
	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/provision"
	"plumb/internal/provision/predict"
	"plumb/internal/provision/spec"
)

// Result is what came of a provision.
type Result struct {
	Stages []Carried
	Acts   int              // that were done
	Left   []advise.Finding // above a note, of the server and what it lies on, once all is done
	Notes  []advise.Finding
	Last   Proposal
}

// Carried is a stage that was carried out.
type Carried struct {
	Name   string
	Change int // its number in the journal
	Acts   int
	Took   time.Duration
}

// most bounds the stages of one run, because a rule whose advice changes nothing would be followed for ever.
const most = 12

// Apply carries a provision out, stage by stage, and continues where an earlier run was killed. The error names the stage that
// failed; what was done before it is in the result.
func (f Flow) Apply(ctx context.Context, sp spec.Spec, doing func(stage string, a change.Act, done bool)) (res Result, err error) {
	before := ""
	for range most {
		stage := ""
		err = f.session(ctx, sp, len(res.Stages) > 0, doing, func(r provision.Run, p Proposal) error {
			res.Last = p
			next := p.Next()
			if next == nil {
				return nil
			}
			if stage = next.Name; stage == before && stage != "settings" {
				return hint.With(fmt.Errorf("%s: %w", stage, provision.ErrStands), "plumb stack shows what Plumb sees of it; if it was started and has ended, its log says why")
			}
			began := time.Now()
			out, err := r.Stage(ctx, *next)
			c := Carried{Name: next.Name, Change: out.Number, Took: time.Since(began), Acts: acts(next)}
			if out.Number > 0 {
				res.Stages, res.Acts = append(res.Stages, c), res.Acts+c.Acts
			}
			return err
		})
		if err != nil || stage == "" {
			break
		}
		before = stage
	}
	if err == nil && res.Last.Next() != nil {
		err = hint.With(fmt.Errorf("after %d stages there is still something to do", most), "plumb provision again does it; plumb check says what it is")
	}
	if err == nil {
		res.Left, res.Notes = predict.Left(res.Last.Stack, res.Last.Layout, f.Know.Catalog, f.Know.Verdicts)
	}
	return res, err
}

func acts(s *provision.Stage) (n int) {
	for _, step := range s.Steps {
		n += len(step.Recipe.Acts)
	}
	return n
}

// session makes a plan and calls do with it, in database sessions of its own, because the restart of a server breaks earlier ones.
// With started it waits a moment for a server that was just started.
func (f Flow) session(ctx context.Context, sp spec.Spec, started bool, doing func(string, change.Act, bool), do func(provision.Run, Proposal) error) error {
	end := time.Now().Add(startTime)
	for {
		d, k, err := f.Open()
		if err != nil {
			return err
		}
		p, err := f.Propose(ctx, d, k.Dir, sp)
		if err == nil {
			err = do(provision.Run{Executor: k, Of: p.Of, Begin: change.Begin{Host: p.Stack.Hostname(), User: d.About().User}, Doing: doing}, p)
			d.Close()
			return err
		}
		d.Close()
		if !started || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		if await.Pause(ctx, pause) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// How long a server that was just started may take to answer, and the pause between two tries.
const (
	startTime = time.Minute
	pause     = 500 * time.Millisecond
)

// anew opens new sessions, and gives the function that closes them.
func (f Flow) anew() (*change.Executor, func() error, error) {
	d, k, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	return k, d.Close, nil
}

// earlier opens the journal of a provision's earlier runs, and gives the function that closes it.
func (f Flow) earlier(of string) (provision.Run, func() error, error) {
	k, end, err := f.anew()
	return provision.Run{Executor: k, Of: of, Anew: f.anew}, end, err
}

// InForce gives the changes of a provision that are in force, the oldest first.
func (f Flow) InForce(ctx context.Context, of string) ([]*change.Change, error) {
	r, end, err := f.earlier(of)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.Stages(ctx)
}

// Torn gives those changes of a provision that an earlier run began and did not complete.
func (f Flow) Torn(ctx context.Context, of string) (torn []*change.Change, err error) {
	all, err := f.InForce(ctx, of)
	for _, c := range all {
		if provision.Torn(c) {
			torn = append(torn, c)
		}
	}
	return torn, err
}

// GoOn completes what an earlier run of the same provision began, from the journal alone: no server needs to answer. It gives the
// number of changes that it completed.
func (f Flow) GoOn(ctx context.Context, of string) (ended int, err error) {
	r, end, err := f.earlier(of)
	if err != nil {
		return 0, err
	}
	defer end()
	return r.GoOn(ctx)
}

// TakeAway undoes a provision, from the journal alone, and gives the changes that are undone.
func (f Flow) TakeAway(ctx context.Context, of string, o change.UndoOptions) ([]*change.Change, error) {
	r, end, err := f.earlier(of)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.TakeAway(ctx, o)
}
