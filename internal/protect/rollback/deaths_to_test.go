package rollback

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"plumb/internal/change"
	"plumb/internal/protect/replay"
	"plumb/internal/zfs"
	"plumb/test/deaths"
)

// replaying is a rollback to a moment, of a stand-in on two subvolumes.
type replaying struct {
	s *deaths.Scene
	c *checking
}

// TestEveryDeathOfAReplay kills a rollback to a moment: while the copy is made, while the log is replayed, and while
// the copy takes the server's place. A stand-in is in place of the server, see package deaths.
func TestEveryDeathOfAReplay(t *testing.T) {
	s := deaths.OnBtrfs(t)
	r := replaying{s, listener(t, s.Point.Members, zfs.Tools{})}
	stride := deaths.Stride()
	if stride > 100 { // little time: each undo waits until it sees the listener
		stride *= 2
	}
	s.Try(t, deaths.Verb{
		Do:    r.roll,
		Next:  []deaths.Act{again(r.undo, r.roll), r.undo},
		After: []deaths.Act{r.undo, r.sweep, r.clean},
	}, stride)
}

func again(acts ...deaths.Act) deaths.Act {
	return func(ctx context.Context, h *deaths.Hands) (err error) {
		for _, act := range acts {
			err = errors.Join(err, act(ctx, h))
		}
		return err
	}
}

func on(h *deaths.Hands) Rollback {
	return Rollback{Keeper: h.Keeper, Executor: h.Change, Copies: h.Copies}
}

func (r replaying) roll(ctx context.Context, h *deaths.Hands) error {
	plan := *r.c.plan
	plan.Point, plan.Server, plan.copy, plan.to = r.s.Point, r.s.Plan.Server, 256<<20, &replay.Target{Text: "now", GTID: "0-1-1"}
	plan.Server.PID = r.c.plan.Server.PID
	c := &checking{r: on(r.s.Alive()), h: r.c.h, plan: &plan, o: r.c.o}
	if err := c.datasets(ctx); err != nil {
		return err
	}
	plan.make, plan.Way = c.recipe, &replay.Way{}
	res, err := on(h).Run(ctx, plan, change.Begin{})
	if err == nil && len(res.Before) != 2 {
		err = fmt.Errorf("it came to %+v", res)
	}
	return err
}

// undo takes back what is in force, as plumb undo does.
func (r replaying) undo(ctx context.Context, h *deaths.Hands) error {
	return errors.Join(deaths.TakeBack(ctx, h), on(h).Follow(ctx))
}

func (r replaying) sweep(ctx context.Context, h *deaths.Hands) error {
	return errors.Join(h.Clones.Sweep(ctx), on(h).Sweep(ctx))
}

// clean deletes what an undo left, as the manual says, and wants the server to run.
func (r replaying) clean(ctx context.Context, _ *deaths.Hands) error {
	out, err := exec.CommandContext(ctx, "sh", "-ec", fmt.Sprintf(`cd %s; find . -maxdepth 1 -name '*.undone-*' -exec btrfs subvolume delete {} + >&2
! ls -A .plumb-points | grep rollback- >&2; grep -q %s /proc/net/unix`, r.s.Top, r.c.plan.Target.Address)).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}
