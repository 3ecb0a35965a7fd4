package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/group"
	"plumb/internal/inventory"
	"plumb/internal/lab/experiment"
)

// control is the control group of a trial's server; the zero value is none.
type control struct {
	of   host.Reader
	made *group.Group
}

func (c control) dirs() []string {
	if c.made == nil {
		return nil
	}
	return c.made.Dirs()
}

func (c control) cpu(ctx context.Context) (time.Duration, bool) {
	if c.made == nil {
		return 0, false
	}
	return c.made.CPU(ctx, c.of)
}

func (c control) kills(ctx context.Context) (int64, bool) {
	if c.made == nil {
		return 0, false
	}
	return c.made.Kills(ctx, c.of)
}

// limitMemory gives the trial's server its memory. Of the sum that all arms
// have alike, the ARC gets its part: it is not charged to the group.
func (b *bench) limitMemory(ctx context.Context, r *experiment.Record) error {
	s := b.setup.Server
	if s == nil {
		return nil
	}
	if !b.lab.Box.Do.About().Root {
		if s.Memory > 0 {
			r.Remark("no-memory-limit", "without root the server's memory could not be limited to %s", s.Memory)
		}
		return nil
	}
	tree, err := group.Find(ctx, b.lab.Box.Do)
	if errors.Is(err, group.ErrNone) && s.Memory == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("limit the server's memory to %s: %w", s.Memory, err)
	}
	g := tree.Group("plumb-lab-" + b.lab.Box.Run + placeName(b.layout.place))
	for _, dir := range g.Dirs() {
		if err := b.makeGroup(ctx, dir); err != nil {
			return err
		}
	}
	b.control = control{b.lab.Box.Do, &g}
	most := int64(s.Memory - b.setup.Volume.ARC)
	if s.Memory == 0 {
		return nil
	}
	if most <= 0 {
		return fmt.Errorf("the ARC takes %[2]s of %[1]s of memory: nothing is left for the server", s.Memory, b.setup.Volume.ARC)
	}
	return g.LimitMemory(ctx, b.lab.Box.Do, most)
}

func (b *bench) makeGroup(ctx context.Context, dir string) error {
	box := b.lab.Box
	t, err := box.Book.Make(ctx, inventory.Thing{Kind: inventory.Group, Name: dir}, func(*inventory.Thing) error {
		_, err := box.Do.Run(ctx, "mkdir", dir)
		return err
	})
	if err == nil {
		b.later(func(ctx context.Context) error { return box.Book.Remove(ctx, t) })
	}
	return err
}

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
	return errors.New("halt the server: it starts processes faster than they are stopped")
}

// resume lets the server go on. It does nothing to one that runs.
func (b *bench) resume(ctx context.Context) error {
	all, err := b.control.made.Processes(ctx, b.lab.Box.Do)
	if err == nil {
		err = b.signal(ctx, "CONT", all)
	}
	if err != nil {
		return fmt.Errorf("let the server continue: %w", err)
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
