package rollback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/protect/replay"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// Rollback brings servers back to points.
type Rollback struct {
	Keeper   *protect.Keeper
	Copies   instance.Maker // for Options.To
	Executor *change.Executor
	Doing    func(what string) // told what goes on; nil for nobody
}

// Options say what is allowed, and how the server is stopped and started.
type Options struct {
	Stop, Start []string       // commands in place of the unit's: each returns when it is done, and stopping what does not run is no error
	Service     string         // of service(8), in place of both
	Replicas    bool           // also with replicas or in a cluster, which will not follow; never where that needs a new timeline
	Others      bool           // also when files that are not the server's changed since the point
	Unproven    bool           // allow a point that no drill has proven
	To          *replay.Target // the log is replayed from the point up to it
	Memory      int64          // of the copy into which it is replayed, in bytes
	Within      time.Duration  // until the server must answer; ten minutes when 0
}

// Plan is what a rollback would do.
type Plan struct {
	Point   protect.Point
	Server  protect.Server
	Target  host.Target
	Volumes []Volume
	Moves   []string // snapshots that go with the promoted clones, with their holds, and come back with an undo
	Stay    []string // snapshots taken after the point: they stay with the old datasets
	Clones  []string // of the snapshots that move: they stay as they are
	Others  []string // files that are not the server's, and changed since the point: they go back with it
	Stop    []string // the commands
	Start   []string
	Recipe  change.Recipe
	Way     *replay.Way // what is replayed; nil without a target
	Opens   int         // timeline that the server goes on on; 0 where there are none

	to   *replay.Target
	make func([]protect.Member) (change.Recipe, error)
	copy int64
}

// Aim is where the server goes: a point, or a moment after it.
func (p Plan) Aim() string {
	if p.Way != nil && p.to != nil {
		return p.to.Text + ", by point " + p.Point.ID
	}
	return "point " + p.Point.ID
}

// Volume is one dataset that is swapped.
type Volume struct {
	protect.Member
	Before string // its name afterwards
	Undone string // the name of what replaces it, after an undo

	next     string // the clone's name until they are swapped
	tag      string // in the names of what is made
	guid     string // of the dataset
	root     bool   // it is renamed; others go with the one above them
	own      []string
	reserve  int64          // bytes that are reserved for it
	inherits bool           // its mount point
	said     bool           // that it can be mounted: canmount=on is set on it
	from     protect.Member // snapshot of a copy that was brought forward, in place of the point's

	top, source, options string // of btrfs: where its top is mounted, and how the volume is; no options: it is part of another mount
}

// Plan finds what a rollback to a point does, and refuses what must not be done. It only reads.
func (r Rollback) Plan(ctx context.Context, h host.Reader, s *stack.Stack, p protect.Point, o Options) (Plan, error) {
	plan, err := r.plan(ctx, h, s, p, o)
	if err != nil {
		return plan, fmt.Errorf("roll %s back to point %s: %w", p.Server.Ref, p.ID, err)
	}
	return plan, nil
}

func (r Rollback) plan(ctx context.Context, h host.Reader, s *stack.Stack, p protect.Point, o Options) (plan Plan, err error) {
	if err := r.Keeper.Here(p); err != nil {
		return plan, err
	}
	if p.Label != protect.Proven && !o.Unproven {
		return plan, hint.With(fmt.Errorf("no drill has proven it: it is %s", p.Label), "plumb snapshot --drill proves it")
	}
	now, err := r.Keeper.Plan(ctx, h, s, p.Server.Ref)
	if err != nil {
		return plan, err
	}
	if err := now.Possible(); err != nil {
		return plan, err
	}
	plan = Plan{Point: p, Server: now.Server, Target: now.Target}
	c := checking{r: r, h: h, s: s, now: now, plan: &plan, o: o}
	for _, check := range []func(context.Context) error{c.same, c.alone, c.readable, c.cluster, c.timeline, c.startable, c.snapshots, c.datasets, c.pools, c.mounts, c.users, c.others} {
		if err := check(ctx); err != nil {
			return plan, err
		}
	}
	plan.make, plan.copy = c.recipe, o.Memory
	if o.To != nil {
		if err := c.way(ctx); err != nil {
			return plan, err
		}
	}
	plan.Recipe, err = c.recipe(nil)
	return plan, err
}

// checking is a plan that is being made.
type checking struct {
	r     Rollback
	h     host.Reader
	s     *stack.Stack
	now   protect.Plan
	plan  *Plan
	o     Options
	tools zfs.Tools
	notes []string
	open  map[string]bool // files that the server has open
}

// same refuses a server that is not the point's, or keeps its data elsewhere by now.
func (c *checking) same(context.Context) error {
	p := c.plan.Point
	if p.Server.Identity != c.now.Server.Identity {
		return fmt.Errorf("the server has the identity %q, but the point is of %q", c.now.Server.Identity, p.Server.Identity)
	}
	names := func(vols []protect.Volume) (all []string) {
		for _, v := range vols {
			all = append(all, v.Name+" on "+v.Mountpoint)
		}
		slices.Sort(all)
		return all
	}
	var of []protect.Volume
	for _, m := range p.Members {
		of = append(of, m.Volume)
	}
	if was, is := names(of), names(c.now.Set.Volumes); !slices.Equal(was, is) {
		return hint.With(fmt.Errorf("it now keeps its data on %s, but the point is of %s", strings.Join(is, ", "), strings.Join(was, ", ")),
			"plumb clone starts a copy of the point, beside the server")
	}
	for i, m := range p.Members {
		if !swaps(m.Storage) {
			return hint.With(fmt.Errorf("%s is on %s, but Plumb can only roll back ZFS datasets and btrfs subvolumes", m.Name, m.Storage), "plumb clone starts a copy of the point, beside the server")
		}
		other := slices.IndexFunc(p.Members[:i], func(o protect.Member) bool { return o.Name == m.Name })
		switch {
		case other >= 0 && p.Members[other].Pool != m.Pool:
			return hint.With(fmt.Errorf("two of its subvolumes, on two filesystems, are both called %s, and could be mistaken for each other", m.Name), "plumb clone starts a copy of the point, beside the server")
		case m.Within != "" || other >= 0:
			return fmt.Errorf("%s is mounted in parts or more than once", m.Name)
		}
	}
	c.tools = zfs.Tools{Fuse: p.Members[0].Storage == "zfs-fuse"}
	return nil
}

// alone refuses datasets on which others keep something too: that would go back with it.
func (c *checking) alone(context.Context) error {
	if len(c.now.Set.Others) > 0 {
		return hint.With(fmt.Errorf("%s has files on its datasets too, and would be rolled back with it", strings.Join(c.now.Set.Others, ", ")),
			"plumb clone starts a copy of the point beside it")
	}
	return nil
}

// readable refuses a server of which it could not be told afterwards where it stands.
func (c *checking) readable(ctx context.Context) error {
	e, err := c.r.Keeper.EngineOf(c.plan.Server)
	if err != nil {
		return err
	}
	if _, err := e.Position(ctx, c.h, c.plan.Target); err != nil {
		return hint.With(fmt.Errorf("its position cannot be read: %w", err), "plumb rollback --grants shows the rights that this needs")
	}
	return nil
}

// cluster refuses a server whose state others follow or rely on.
func (c *checking) cluster(context.Context) error {
	db := c.s.Find(c.plan.Server.Ref)
	if db == nil {
		return errors.New("whether it has replicas is not known: it is not in the stack")
	}
	if role, _ := db.Get("replication_role"); c.plan.Point.Position.Timeline > 0 && role.String() == "standby" {
		return hint.With(errors.New("it is a standby, and after a rollback it could no longer follow its primary"), "roll back its primary, or rebuild the standby with plumb clone --replica")
	}
	if c.o.Replicas {
		return nil
	}
	if mode := c.plan.Server.Settings["archive_mode"]; mode != "" && mode != "off" {
		return hint.With(errors.New("its log is archived (archive_mode is "+mode+"), and the archive would contain both what it has written since and what it writes afterwards"),
			"--replicas rolls back anyway: it then writes on a new timeline; take a new backup")
	}
	if _, known := db.Facts["replicas"]; !known {
		return hint.With(errors.New("whether replicas are connected to it is not known"), "plumb rollback --grants shows the rights that this needs; --replicas rolls back anyway")
	}
	for _, f := range following {
		v, known := db.Get(f.fact)
		n, number := v.Number()
		yes, _ := v.Bool()
		text, isText := v.Text()
		if known && (number && n > 0 || yes || isText && slices.Contains(f.texts, text)) {
			return hint.With(fmt.Errorf("%s: they would not be rolled back with it", f.what), "--replicas rolls back anyway; its replicas must then be rebuilt (plumb clone --replica)")
		}
	}
	return nil
}

// following lists what tells that others follow a server or rely on what it wrote.
var following = []struct {
	fact, what string
	texts      []string
}{
	{"replicas", "replicas are connected to it", nil},
	{"is_replica", "it is a replica itself, of a server that keeps running", nil},
	{"replication_role", "it is a replica itself, of a server that keeps running", []string{"standby"}},
	{"galera", "it takes part in a cluster", nil},
	{"group_members", "it takes part in a replication group", nil},
	{"slots", "it has replication slots", nil},
	{"archived", "its log is archived", nil},
}

// snapshots looks whether the point's are still there, and what promoting moves.
func (c *checking) snapshots(ctx context.Context) error {
	for _, m := range c.plan.Point.Members {
		s, err := c.r.Keeper.StorageOf(m.Volume)
		if err != nil {
			return err
		}
		st, err := s.State(ctx, c.h, m)
		if err == nil {
			err = st.Usable(m)
		}
		if err != nil {
			return err
		}
		if m.Storage == onBtrfs {
			continue
		}
		out, err := c.h.Output(ctx, zfs.SnapshotsOf(m.Name)...)
		if err != nil {
			return err
		}
		all := zfs.Names(out)
		at := slices.Index(all, m.Snapshot) + 1
		c.plan.Moves, c.plan.Stay = append(c.plan.Moves, all[:at]...), append(c.plan.Stay, all[at:]...)
	}
	return c.clones(ctx)
}

// clones finds what was made of the snapshots that move.
func (c *checking) clones(ctx context.Context) error {
	var pools []string
	for _, name := range c.plan.Moves {
		if pool := zfs.PoolOf(name); !slices.Contains(pools, pool) {
			pools = append(pools, pool)
		}
	}
	for _, pool := range pools {
		out, err := c.h.Output(ctx, zfs.Origins(pool)...)
		if err != nil {
			return err
		}
		for _, row := range zfs.ParseRows(out, 2) {
			if slices.Contains(c.plan.Moves, row[1]) {
				c.plan.Clones = append(c.plan.Clones, row[0])
			}
		}
	}
	return nil
}

// within is how long the server may take to answer.
func (o Options) within() time.Duration { return cmp.Or(o.Within, 10*time.Minute) }
