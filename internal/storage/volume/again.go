package volume

import "context"

// Again puts the profile in force with new credits, as Limit left it, without
// measuring it anew.
func (l *limiter) Again(ctx context.Context) error {
	if l.profile.None() {
		return nil
	}
	return l.begin(ctx, l.profile)
}

// Again implements lab.Volume: there is no limit.
func (d *directory) Again(context.Context) error { return nil }

// Again implements lab.Volume: there is no limit.
func (d *dataset) Again(context.Context) error { return nil }

// Again implements lab.Volume.
func (l *loop) Again(ctx context.Context) error { return l.limits.Again(ctx) }

// Again implements lab.Volume.
func (p *pool) Again(ctx context.Context) error {
	if p.limits == nil {
		return nil
	}
	return p.limits.Again(ctx)
}
