package lab

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/host"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
)

// syncTime ends a sync of what filled the caches.
const syncTime = time.Hour

// fill drives the load without the volume's limit, as fast as it goes. A cache
// of half a gigabyte takes minutes to fill through 200 requests a second; what
// is asked about is how a server does when it has run for long.
func (b *bench) fill(ctx context.Context, x experiment.Experiment, r *experiment.Record) error {
	if x.Fill == 0 {
		return nil
	}
	b.lab.say(Progress{Trial: r.Trial, Doing: "filling caches", Of: x.Fill})
	v := b.layout.volume
	if err := v.Unlimit(ctx); err != nil {
		return err
	}
	w := b.setup.Load
	w.Rate = 0
	var s load.Server
	if b.server != nil {
		s = b.server.load
	}
	if _, err := drive(ctx, w, s, b.data, ^r.Seed, load.Options{Time: x.Fill}); err != nil {
		return fmt.Errorf("fill caches: %w", err)
	}
	// What the kernel has not written yet would go through the limit first, and
	// all that is measured then is that. A sync shows nothing while it writes.
	if _, err := b.lab.Box.Do.Pipe(ctx, host.Pipe{Argv: []string{"sync", "-f", "--", b.data}, Progress: syncTime}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("fill caches: %w", err)
	}
	if err := v.Again(ctx); err != nil {
		r.Mark(experiment.MarkThrottle, "%v", err)
	}
	return nil
}
