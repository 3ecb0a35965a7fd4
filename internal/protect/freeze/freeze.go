// Package freeze makes a server's processes stand still for as long as a copy of its files
// takes, on a filesystem without snapshots.
//
// Before anything stands still, a process of its own waits for the end of its input: it lets the
// server go on when we close that, when we die, however that is, and when the time is up. It is told how
// to take a step back before each step is done.
//
// Where the freezer of control groups serves, the kernel stops all threads at once: in version
// 1 in a group made for it, in version 2 in the server's own, if nobody else is in that. Elsewhere
// each process gets SIGSTOP. Reads and writes that are under way are waited for: a thread stands still only
// between its calls, and a file that is being written asynchronously cannot be reflinked before that ended.
package freeze

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/heir"
)

// Freezer implements protect.Freezer.
type Freezer struct {
	Signals bool // use SIGSTOP, even where there is something better
}

var _ protect.Freezer = Freezer{}

// frozen is a server that stands still, or is about to.
type frozen struct {
	d     host.Launcher
	pid   int
	still func(ctx context.Context) (bool, error) // whether it stands still
	steps []step                                  // back, in the order in which what they undo was done
	mark  string                                  // how often its threads have run

	man *heir.Switch // reads steps back
}

// Freeze implements protect.Freezer.
func (z Freezer) Freeze(ctx context.Context, d host.Launcher, sv protect.Server, limit time.Duration) (protect.Frozen, error) {
	f, err := z.freeze(ctx, d, sv, limit)
	if err != nil {
		return nil, fmt.Errorf("make %s stand still: %w", sv.Ref, err)
	}
	return f, nil
}

func (z Freezer) freeze(ctx context.Context, d host.Launcher, sv protect.Server, limit time.Duration) (*frozen, error) {
	if sv.PID <= 1 {
		return nil, errors.New("it has no process on this host")
	}
	f := &frozen{d: d, pid: sv.PID, still: func(context.Context) (bool, error) { return false, nil }}
	if err := f.arm(ctx, limit); err != nil {
		return nil, hint.With(fmt.Errorf("start the process that lets it continue if this one dies: %w", err), "it needs root, and setsid, timeout and sh")
	}
	within, cancel := context.WithTimeout(ctx, limit/2) // the other half is for the copy
	defer cancel()
	err := z.stop(within, f)
	if err == nil {
		err = settled(within, f.still)
	}
	if err == nil {
		f.mark, err = f.runs(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Thaw(context.WithoutCancel(ctx)))
	}
	return f, nil
}

// stop makes the processes stand still by the best means that there is.
func (z Freezer) stop(ctx context.Context, f *frozen) error {
	if z.Signals {
		return f.signal(ctx)
	}
	for _, way := range []func(context.Context) (bool, error){f.ownGroup, f.newGroup} {
		if done, err := way(ctx); done || err != nil {
			return err
		}
	}
	return f.signal(ctx)
}

// settled waits until something stands still.
func settled(ctx context.Context, still func(context.Context) (bool, error)) error {
	for {
		is, err := still(ctx)
		if err != nil || is {
			return err
		}
		if await.Pause(ctx, time.Millisecond) != nil {
			return hint.With(errors.New("it did not stop in time: a thread is waiting for the disk"), "try again when there is less to write, or allow it longer")
		}
	}
}

// Whole implements protect.Frozen. A thread that ran has been switched to.
func (f *frozen) Whole(ctx context.Context) error {
	if ended, err := f.man.Ended(); ended {
		return errors.Join(errors.New("the process that lets it continue has ended, so it continued in the middle"), err)
	}
	still, err := f.still(ctx)
	if err == nil && !still {
		err = errors.New("it runs")
	}
	if err != nil {
		return err
	}
	mark, err := f.runs(ctx)
	if err == nil && mark != f.mark {
		err = errors.New("a thread of it has run")
	}
	return err
}

// Thaw implements protect.Frozen. All is done by us and then once more by the one who waits for our end:
// to let go what goes on already is no harm.
func (f *frozen) Thaw(ctx context.Context) error {
	var failed error
	for _, s := range slices.Backward(f.steps) {
		if err := s.back(ctx, f.d); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if failed = errors.Join(failed, f.man.Wait(ctx)); failed == nil {
		return nil
	}
	if still, err := f.still(ctx); err == nil && !still || errors.Is(err, fs.ErrNotExist) {
		return nil // the other did it
	}
	return fmt.Errorf("let the server continue: %w", failed)
}

// runs tells how often each thread of the server was given a processor: a text that changes
// when one of them runs.
func (f *frozen) runs(ctx context.Context) (string, error) {
	pids, err := family(ctx, f.d, f.pid)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, pid := range pids {
		tasks, err := f.d.Glob(ctx, fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil {
			return "", err
		}
		for _, task := range tasks {
			text, err := f.d.ReadFile(ctx, task)
			if err != nil {
				return "", err
			}
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, "voluntary_ctxt_switches") {
					fmt.Fprint(&all, task, line)
				}
			}
		}
	}
	return all.String(), nil
}
