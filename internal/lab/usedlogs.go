package lab

import (
	"context"
	"fmt"

	"plumb/internal/lab/experiment"
)

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
	argv := []string{"find", b.data, "-type", "f", "("}
	for i, name := range names {
		if i > 0 {
			argv = append(argv, "-o")
		}
		argv = append(argv, "-name", name)
	}
	argv = append(argv, ")", "-exec", "sh", "-c", `for f; do dd if="$f" of="$f" bs=1M conv=notrunc,fsync status=none || exit 1; done`, "sh", "{}", "+")
	_, err := b.lab.Box.Do.Run(ctx, argv...)
	return err
}
