package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"plumb/internal/hint"
)

// mayHalt is an error when a server cannot be made to stand still: its
// processes are found by their control group.
func (c control) mayHalt() error {
	if c.made == nil {
		return errTurns()
	}
	return nil
}

func errTurns() error {
	return hint.With(errors.New("servers that take turns need control groups, and none can be made here"), "run it as root, or with design: blocks")
}

// halt makes the server stand still: no checkpoint of one weighs on another's
// turn. A process may begin another while signals are sent, so it is looked
// again until all that are there were stopped.
func (b *bench) halt(ctx context.Context) error {
	var stopped []int
	for range 10 {
		running, err := b.control.made.Processes(ctx, b.lab.Box.Do)
		if err != nil {
			return fmt.Errorf("halt the server: %w", err)
		}
		if !slices.ContainsFunc(running, func(pid int) bool { return !slices.Contains(stopped, pid) }) {
			return nil
		}
		if err := b.signal(ctx, "STOP", running); err != nil {
			return fmt.Errorf("halt the server: %w", err)
		}
		stopped = running
	}
	return errors.New("halt the server: it begins processes faster than they are stopped")
}

// resume lets the server go on. It does nothing to one that runs.
func (b *bench) resume(ctx context.Context) error {
	all, err := b.control.made.Processes(ctx, b.lab.Box.Do)
	if err == nil {
		err = b.signal(ctx, "CONT", all)
	}
	if err != nil {
		return fmt.Errorf("let the server go on: %w", err)
	}
	return nil
}

// signal sends a signal to processes; those that have ended meanwhile are none.
// The shell has the command; small systems have no other.
func (b *bench) signal(ctx context.Context, name string, pids []int) error {
	argv := []string{"sh", "-c", `for pid; do kill -s "$0" "$pid" 2>/dev/null || [ ! -d "/proc/$pid" ] || exit 1; done`, name}
	for _, pid := range pids {
		argv = append(argv, strconv.Itoa(pid))
	}
	_, err := b.lab.Box.Do.Run(ctx, argv...)
	return err
}
