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
	if _, err := drive(ctx, w, b.target(), b.data, ^r.Seed, load.Options{Time: x.Fill}); err != nil {
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

// useLogs has the server make its logs, and writes them through once, as they
// are some time after they were made. A filesystem notes of space that was only
// reserved which part was written since: through the first pass, each flush of
// such a log is a commit of the filesystem's journal as well. A log of 1 GB is in
// that state for minutes or hours, and a trial would see nothing else. It comes
// before the volume's limit, which would make it last.
func (b *bench) useLogs(ctx context.Context, t experiment.Trial) error {
	if b.setup.Server == nil || !b.setup.Server.UsedLogs {
		return nil
	}
	b.lab.say(Progress{Trial: t, Doing: "writing the logs through"})
	s, err := b.lab.start(ctx, b.layout, *b.setup.Server, b.data, b.control)
	if err != nil {
		return err
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	if err := b.rewrite(ctx, b.layout.engine.ReservedLogs()); err != nil {
		return fmt.Errorf("write the logs through: %w", err)
	}
	return nil
}

// rewrite writes files of the data over with what they have.
func (b *bench) rewrite(ctx context.Context, names []string) error {
	argv := append([]string{"find", b.data, "-type", "f"}, named(names)...)
	argv = append(argv, "-exec", "sh", "-c", `for f; do dd if="$f" of="$f" bs=1M conv=notrunc,fsync status=none || exit 1; done`, "sh", "{}", "+")
	_, err := b.lab.Box.Do.Run(ctx, argv...)
	return err
}
