package deaths

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	"plumb/internal/stack"
)

// acts does what a policy asks for, as the command does.
type acts struct {
	s *Scene
	h *Hands
}

// Servers implements policy.Acts.
func (a acts) Servers(context.Context) ([]stack.Ref, error) {
	return []stack.Ref{a.s.Plan.Server.Ref}, nil
}

// Points implements policy.Acts.
func (a acts) Points(ctx context.Context) ([]protect.Point, map[string]keep.Facts, error) {
	all, err := a.h.Keeper.Store.List(ctx, a.h.Keeper.Do)
	return all, nil, err
}

// Do implements policy.Acts.
func (a acts) Do(ctx context.Context, act policy.Act) error {
	switch act.Kind {
	case policy.Take:
		return a.s.take(ctx, a.h)
	case policy.Prove:
		p, err := a.h.Keeper.Store.Get(ctx, a.h.Keeper.Do, act.Point)
		if err == nil {
			_, err = drill.Drill{Maker: a.h.Copies, Memory: 256 << 20}.Run(ctx, p)
		}
		return err
	case policy.Prune:
		if err := swept(ctx, a.h); err != nil {
			return err
		}
		plans, err := a.h.Prune.Plan(ctx, a.h.Keeper.Do, prune.Options{Server: act.Server, Rules: act.Rule.Keep})
		for _, plan := range plans {
			_, failed := a.h.Prune.Carry(ctx, plan)
			err = errors.Join(err, failed)
		}
		return err
	}
	return errors.ErrUnsupported
}

// policy runs a policy of which a point and a drill are due.
func (s *Scene) policy(t *testing.T) Verb {
	file := filepath.Join(filepath.Dir(s.State), "policy.yaml")
	const text = "points:\n  - server: all\n    every: 1h\n    keep: last=9\n    drill: {every: 1h}\n"
	must(t, os.WriteFile(file, []byte(text), 0o600))
	p, err := policy.Parse(file, []byte(text))
	must(t, err)
	memory := filepath.Join(s.State, "protect", "status.json")
	run := func(ctx context.Context, h *Hands) error {
		r := policy.Runner{Do: h.Keeper.Do, Acts: acts{s, h}, File: memory, Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
		did, err := r.Run(ctx, p)
		for _, o := range did.Done {
			if o.Why != "" {
				err = errors.Join(err, errors.New(o.Why))
			}
		}
		return err
	}
	forget := func(context.Context, *Hands) error { return os.RemoveAll(filepath.Dir(memory)) }
	return Verb{Name: "policy", Do: run, Next: []Act{run}, After: []Act{s.destroyOthers, swept, forget}}
}
