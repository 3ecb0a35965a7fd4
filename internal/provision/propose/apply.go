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

// most bounds the stages of one run: a rule whose advice does not help would be followed for ever.
const most = 12

// Apply carries a provision out, stage by stage. It goes on where an earlier run was killed.
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
				return hint.With(fmt.Errorf("%s: %w", stage, provision.ErrStands), "plumb stack shows what is seen of it; a server that was started and has ended says why in its log")
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

// session plans and does something with sessions of its own: those to a server that was restarted are
// of no more use. A server that was just started may take a moment to answer.
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

// How long a server that was started may take to answer, and how often it is asked.
const (
	startTime = time.Minute
	pause     = 500 * time.Millisecond
)

// anew opens sessions, and gives what ends them.
func (f Flow) anew() (*change.Executor, func() error, error) {
	d, k, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	return k, d.Close, nil
}

// earlier opens what earlier runs of a provision did.
func (f Flow) earlier(of string) (provision.Run, func() error, error) {
	k, end, err := f.anew()
	return provision.Run{Executor: k, Of: of, Anew: f.anew}, end, err
}

// InForce gives what of a provision is in force, the oldest first.
func (f Flow) InForce(ctx context.Context, of string) ([]*change.Change, error) {
	r, end, err := f.earlier(of)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.Stages(ctx)
}

// Torn gives those of them that an earlier run began and did not end.
func (f Flow) Torn(ctx context.Context, of string) (torn []*change.Change, err error) {
	all, err := f.InForce(ctx, of)
	for _, c := range all {
		if provision.Torn(c) {
			torn = append(torn, c)
		}
	}
	return torn, err
}

// GoOn ends what an earlier run of the same provision began. It needs no server that answers: the journal is enough.
func (f Flow) GoOn(ctx context.Context, of string) (ended int, err error) {
	r, end, err := f.earlier(of)
	if err != nil {
		return 0, err
	}
	defer end()
	return r.GoOn(ctx)
}

// TakeAway takes a provision back, from the journal alone.
func (f Flow) TakeAway(ctx context.Context, of string, o change.UndoOptions) ([]*change.Change, error) {
	r, end, err := f.earlier(of)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.TakeAway(ctx, o)
}
