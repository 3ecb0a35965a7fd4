package rollback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/prune"
	"plumb/internal/protect/replay"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// later is an error unless a time is so long after a point that none of what was committed from then on can be in it.
func later(to replay.Target, p protect.Point) error {
	switch t := p.Times; {
	case !to.Time.After(t.Began):
		return fmt.Errorf("%s is before the point %s, which was begun at %s", to.Text, p.ID, units.Instant(t.Began))
	case !to.Time.After(t.Until()):
		return fmt.Errorf("%s is between the beginning of point %s (%s) and its last snapshot (%s): what was committed after that time may be in it",
			to.Text, p.ID, units.Instant(t.Began), units.Instant(t.Until()))
	}
	return nil
}

// Nearest finds the point from which the log of a server is replayed up to Options.To: the newest that was whole before that time,
// is proven, and is still there. passed says why newer ones are not it. It only reads.
func (r Rollback) Nearest(ctx context.Context, h host.Reader, s *stack.Stack, ref stack.Ref, o Options) (p protect.Point, passed []string, err error) {
	e, err := r.Keeper.EngineOf(protect.Server{Ref: ref})
	if err != nil {
		return p, nil, err
	}
	sv, _, err := e.Describe(ctx, h, s, ref)
	if err != nil {
		return p, nil, fmt.Errorf("look at %s: %w", ref, err)
	}
	all, err := r.Keeper.Store.List(ctx, h)
	if err != nil { // an older point leads there as well
		passed = append(passed, err.Error())
	}
	all = slices.DeleteFunc(all, func(p protect.Point) bool {
		return p.Server.Ref != ref || p.Server.Identity != sv.Identity || r.Keeper.Here(p) != nil
	})
	slices.SortStableFunc(all, func(a, b protect.Point) int { return b.Times.Until().Compare(a.Times.Until()) })
	n := slices.IndexFunc(all, func(p protect.Point) bool { return o.To.Time.After(p.Times.Began) })
	if n < 0 {
		return p, passed, nowhere(ref, *o.To, all, passed)
	}
	facts := prune.Pruner{Keeper: r.Keeper}.Facts(ctx, h, all[n:])
	for _, p := range all[n:] {
		why := unfit(p, facts[p.ID], o)
		if why == "" {
			return p, passed, nil
		}
		passed = append(passed, why)
	}
	return p, passed, nowhere(ref, *o.To, all, passed)
}

// unfit says why a point is not where a replay begins; "" when it can be.
func unfit(p protect.Point, known keep.Facts, o Options) string {
	if err := later(*o.To, p); err != nil {
		return err.Error()
	}
	if why := known.Unusable(); why != "" {
		return "point " + p.ID + ": " + why
	}
	if p.Label != protect.Proven && !o.Unproven {
		return fmt.Sprintf("point %s is not proven: it is %s", p.ID, p.Label)
	}
	return ""
}

// nowhere says that no point leads to a time. all are the server's, the newest first.
func nowhere(ref stack.Ref, to replay.Target, all []protect.Point, passed []string) error {
	if len(all) == 0 {
		return hint.With(errors.Join(fmt.Errorf("there is no point of the %s that runs now", ref), text(passed)), "plumb protect list shows all")
	}
	if len(passed) == 0 {
		first := all[len(all)-1]
		return hint.With(fmt.Errorf("%s is before the first point of %s, %s, which was begun at %s", to.Text, ref, first.ID, units.Moment(first.Times.Began)),
			"use an earlier backup: plumb backup list shows them")
	}
	return hint.With(fmt.Errorf("%s cannot be reached from any point of %s: %s", to.Text, ref, strings.Join(passed, "; ")),
		"plumb drill proves a point; --unproven uses one that is not proven")
}

// text is an error that says what was passed over; nil for nothing.
func text(passed []string) error {
	if len(passed) == 0 {
		return nil
	}
	return errors.New(strings.Join(passed, "; "))
}
