package prune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/dice"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// leaseFor is how long a lease counts that was not renewed.
const leaseFor = 15 * time.Minute

// lease is the right to prune. That two do is not dangerous, as every step replaces only what was read; but they would do everything
// twice.
type lease struct {
	p     Pruner
	keeps time.Duration // how far back the rules reach
	tag   string
	last  time.Time // it was renewed, by this machine's clock
}

// take takes the lease. now is the time of the store.
func (p Pruner) take(ctx context.Context, now time.Time, o Options) (*lease, error) {
	l := &lease{p: p}
	if !o.ShortLock {
		l.keeps = o.Rules.Reach()
	}
	err := l.put(ctx, store.Put{New: true}, false)
	if !errors.Is(err, store.ErrExists) {
		return l, err
	}
	text, tag, err := p.Store.Get(ctx, manifest.LeaseName, make([]byte, manifest.MaxLease))
	if err != nil {
		return nil, fmt.Errorf("read who is pruning: %w", err)
	}
	var at time.Time
	if err := p.Store.List(ctx, manifest.LeaseName, func(i store.Info) error { at = i.Modified; return nil }); err != nil {
		return nil, err
	}
	h := manifest.OpenLease(text)
	if age := now.Sub(at); age < p.leaseFor() && !h.Ended {
		return nil, hint.With(fmt.Errorf("%q is pruning this store, and was active %s ago", h.By, units.Span(max(age, 0))), "wait until it has ended; what was killed is over "+units.Span(p.leaseFor())+" later")
	}
	if err = l.put(ctx, store.Put{Was: tag}, false); errors.Is(err, store.ErrChanged) {
		err = hint.With(errors.New("another prune has begun just now"), "wait until it has ended")
	}
	return l, err
}

func (p Pruner) leaseFor() time.Duration {
	if p.Lease == 0 {
		return leaseFor
	}
	return p.Lease
}

func (l *lease) put(ctx context.Context, o store.Put, ended bool) error {
	text, err := json.Marshal(manifest.Lease{By: l.p.Host, Word: dice.Hex(16), Ended: ended, Keeps: l.keeps})
	if err != nil {
		return err
	}
	l.last = l.p.Now().Round(0)
	l.tag, err = store.Settle(ctx, l.p.Store, manifest.LeaseName, text, o)
	return err
}

// renew says now and then that we are still at it, and fails when another has taken over. It goes by the clock on the wall, which goes on
// while a machine is suspended. When that was set back nobody knows how long ago it was said.
func (l *lease) renew(ctx context.Context) error {
	if ago := l.p.Now().Round(0).Sub(l.last); 0 <= ago && ago < l.p.leaseFor()/10 {
		return nil
	}
	err := l.put(ctx, store.Put{Was: l.tag}, false)
	if errors.Is(err, store.ErrChanged) {
		err = errors.New("another prune has taken over, because this one made no progress for too long")
	}
	return err
}

// end gives it back. It is written and not removed: a store can lock all that is written to it, and another may have taken over.
func (l *lease) end(ctx context.Context) error {
	err := l.put(ctx, store.Put{Was: l.tag}, true)
	if errors.Is(err, store.ErrChanged) {
		return nil
	}
	return err
}
