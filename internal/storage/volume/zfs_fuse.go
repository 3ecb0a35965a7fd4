package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/group"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

// daemon is a zfs-fuse of ours. There can be one on a machine, and it has one
// ARC. Pools that want another size of it have to be exported while it is
// started anew.
type daemon struct {
	box     lab.Workspace
	arc     experiment.Bytes  // 0 for its own default
	thing   inventory.Thing   // the process; without a name when it does not run
	process host.Running      // the same, while thing has a name
	group   []inventory.Thing // its control group
	limit   group.Group       // the same
	pools   []*pool           // that lie on it, imported or not
}

// startTime is how long zfs-fuse may take until it answers.
const startTime = 15 * time.Second

// serve makes zfs-fuse run with the ARC of a pool. The caller has m.mu.
func (m *maker) serve(ctx context.Context, p *pool) error {
	if p.open {
		return nil
	}
	if m.fuse == nil {
		if _, err := p.do.Run(ctx, zfs.Pools()...); err == nil {
			return hint.With(errors.New("a zfs-fuse is already running on this machine, and it may have pools of others"), "stop it, if nobody needs it")
		}
		m.fuse = &daemon{box: p.box}
	}
	d := m.fuse
	if !slices.Contains(d.pools, p) {
		d.pools = append(d.pools, p)
	}
	if d.thing.Name != "" && d.arc == p.v.ARC {
		return nil
	}
	if err := d.stop(ctx); err != nil {
		return err
	}
	return d.start(ctx, p.v.ARC)
}

func (d *daemon) start(ctx context.Context, arc experiment.Bytes) error {
	argv := []string{fuseProgram, "--no-daemon", "--no-kstat-mount", "--pidfile", filepath.Join(d.box.Dir, "zfs-fuse.pid")}
	if arc > 0 {
		argv = append(argv, "--max-arc-size", strconv.FormatInt(int64(arc>>20), 10))
	}
	groups, err := d.bound(ctx, arc)
	if err != nil {
		return firstOf(fmt.Errorf("start zfs-fuse: %w", err), d.unbound(context.WithoutCancel(ctx)))
	}
	t := inventory.Thing{Kind: inventory.Process, Proof: map[string]string{"argv": strings.Join(argv, " ")}}
	t, err = d.box.Book.Make(ctx, t, func(t *inventory.Thing) (err error) {
		d.process, err = d.box.Do.Start(ctx, host.Process{Argv: argv, Groups: groups, Log: filepath.Join(d.box.Dir, "zfs-fuse.log")})
		if err != nil {
			return err
		}
		return kinds.Proven(ctx, d.box.Do, t, d.process.PID())
	})
	if err == nil {
		d.thing, d.arc = t, arc
		err = d.answers(ctx)
	} else {
		err = firstOf(err, d.unbound(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return hint.With(fmt.Errorf("start zfs-fuse: %w", err), "it needs /dev/fuse and the kernel's fuse; its log is zfs-fuse.log in the lab's directory")
	}
	return nil
}

func (d *daemon) answers(ctx context.Context) error {
	return await.Answer(ctx, d.process, startTime, func(ctx context.Context) error {
		_, err := d.box.Do.Run(ctx, zfs.Pools()...)
		return err
	})
}

// stop exports all pools and ends the daemon.
func (d *daemon) stop(ctx context.Context) error {
	if d.thing.Name == "" {
		return nil
	}
	for _, p := range d.pools {
		if err := p.export(ctx); err != nil {
			return err
		}
	}
	// It has nothing left to write, and would take four seconds to end when it is asked to.
	_ = d.process.Signal(host.Kill) // or else it is asked to
	if err := d.box.Book.Remove(ctx, d.thing); err != nil {
		return fmt.Errorf("stop zfs-fuse: %w", err)
	}
	d.thing = inventory.Thing{}
	return d.unbound(ctx)
}

// renew ends the daemon and starts it again, with the pools that it had. It gives no memory back: after loading
// one pool and copying to three more, one with an ARC of 128 MB had 437 MB of its own, and was killed for it.
func (d *daemon) renew(ctx context.Context) error {
	var open []*pool
	for _, p := range d.pools {
		if p.open {
			open = append(open, p)
		}
	}
	if err := d.stop(ctx); err != nil {
		return err
	}
	if err := d.start(ctx, d.arc); err != nil {
		return err
	}
	for _, p := range open {
		if err := p.imported(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fuseNeeds is what zfs-fuse has in memory besides its ARC: the program with
// its stacks, and what is on its way to the disks.
const fuseNeeds experiment.Bytes = 320 << 20

// fuseLoads is the same while data are made, which nobody measures: copying 2 GB of PostgreSQL's to a second pool took
// more than fuseNeeds, and zfs-fuse was killed for it.
const fuseLoads experiment.Bytes = 2 << 30

// loads gives the daemon the memory that making data takes. The next trial begins with another, which has no more than
// it needs.
func (d *daemon) loads(ctx context.Context) error {
	if len(d.group) == 0 {
		return nil
	}
	return d.limit.LimitMemory(ctx, d.box.Do, int64(d.arc+fuseLoads))
}

// bound makes a control group for a daemon whose ARC has a limit. It reads and
// writes its devices through the page cache, which would hold whole pools: an
// arm on it would then have all the memory of the machine, and others not.
func (d *daemon) bound(ctx context.Context, arc experiment.Bytes) (dirs []string, err error) {
	tree, err := group.Find(ctx, d.box.Do)
	if arc == 0 || errors.Is(err, group.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g := tree.Group("plumb-lab-" + d.box.Run + "-zfs-fuse")
	for _, dir := range g.Dirs() {
		t, err := d.box.Book.Make(ctx, inventory.Thing{Kind: inventory.Group, Name: dir}, func(*inventory.Thing) error {
			_, err := d.box.Do.Run(ctx, "mkdir", "--", dir)
			return err
		})
		if err != nil {
			return nil, err
		}
		d.group = append(d.group, t)
	}
	d.limit = g
	return g.Dirs(), g.LimitMemory(ctx, d.box.Do, int64(arc+fuseNeeds))
}

// unbound removes the control group.
func (d *daemon) unbound(ctx context.Context) error {
	err := removeThings(ctx, d.box, d.group)
	if err == nil {
		d.group = nil
	}
	return err
}

// leave takes a pool off the daemon, which ends with the last. The caller has
// m.mu.
func (m *maker) leave(ctx context.Context, p *pool) error {
	d := m.fuse
	if d == nil {
		return nil
	}
	d.pools = slices.DeleteFunc(d.pools, func(q *pool) bool { return q == p })
	if len(d.pools) > 0 {
		return nil
	}
	err := d.stop(ctx)
	if err == nil {
		m.fuse = nil
	}
	return err
}
