package rollback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/zfs"
)

// recipe lists what is done, with snapshots of a copy in place of the point's own when there
// are any.
func (c *checking) recipe(from []protect.Member) (change.Recipe, error) {
	for i, m := range c.plan.Point.Members {
		for j := range c.plan.Volumes {
			if c.plan.Volumes[j].Name == m.Name && from != nil {
				c.plan.Volumes[j].from = from[i]
			}
		}
	}
	acts, err := c.acts()
	return change.Recipe{Acts: acts, Effect: "now", Lasts: "the datasets", Notes: c.notes}, err
}

// Moment reads what a person gives as the moment to which a log is replayed.
func Moment(text string) (replay.Target, error) { return replay.Parse(text) }

// way finds what is replayed, from where the point says that it stands: a copy of it tells
// exactly.
func (c *checking) way(ctx context.Context) error {
	if c.o.To.Time.After(c.r.Keeper.Now()) {
		return hint.With(errors.New(c.o.To.Text+" is in the future"), "give a time in the past")
	}
	if !c.o.To.Time.IsZero() {
		if err := later(*c.o.To, c.plan.Point); err != nil {
			return hint.With(err, "use an earlier point: without POINT, plumb rollback finds it")
		}
	}
	e, err := replay.EngineOf(c.r.Keeper, c.plan.Server)
	if err != nil {
		return err
	}
	if c.plan.to == nil {
		c.plan.to = c.o.To
	}
	w, err := e.Way(ctx, c.r.Keeper.Do, c.now.Server, replay.StartOf(c.plan.Point), *c.plan.to)
	c.plan.Way, c.notes = &w, append(c.notes, w.Notes...)
	return err
}

// timeline finds which one the server goes on on, where it has any: newer than all that it was ever on,
// also those that were undone.
func (c *checking) timeline(ctx context.Context) error {
	k := c.r.Keeper
	e, err := k.EngineOf(c.plan.Server)
	if _, ahead := e.(replay.Recoverer); err != nil || !ahead {
		return err
	}
	to := replay.Target{Text: "point " + c.plan.Point.ID}
	if c.o.To != nil {
		to = *c.o.To
	}
	if to.Now, err = e.Position(ctx, c.h, c.plan.Target); err != nil {
		return err
	}
	text, err := c.h.ReadFile(ctx, timelines(k, c.plan.Server))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("0"), nil
	}
	if err != nil {
		return err
	}
	opened, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("read %s: %w", timelines(k, c.plan.Server), err)
	}
	to.Newest = max(to.Now.Timeline, opened)
	c.plan.to, c.plan.Opens = &to, to.Newest+1
	return nil
}

// timelines names the file that keeps the newest timeline that a rollback of a server opened.
func timelines(k *protect.Keeper, sv protect.Server) string {
	return path.Join(k.Store.Dir, "timeline-"+url.PathEscape(sv.Identity))
}

// forward makes the copy that takes the server's place, while that still runs. What it gives is called
// when the change has ended: after one that failed nothing is left of the copy, and after another it
// stays for an undo where clones need it, and takes no room.
func (r Rollback) forward(ctx context.Context, plan *Plan) (func(context.Context, error, Result) error, error) {
	k := r.Keeper
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, host.HeldBy(err, "another Plumb is replaying a log on this host", "wait until it has ended")
	}
	defer unlock()
	k.Tell("remove what an earlier run left", r.sweep(ctx)) // whose names are others
	if plan.Opens > 0 {
		if err := k.Do.Replace(ctx, timelines(k, plan.Server), fmt.Appendf(nil, "%d\n", plan.Opens), 0o600); err != nil {
			return nil, err
		}
	}
	got, err := replay.Recovery{Copies: r.Copies, Point: plan.Point, Now: plan.Server, To: *plan.to, Memory: plan.copy, Doing: r.say}.Run(ctx)
	if err != nil {
		return nil, err
	}
	if plan.Way != nil {
		*plan.Way = got.Way
	}
	if plan.Recipe, err = plan.make(got.Members); err != nil {
		return nil, errors.Join(err, got.Drop(context.WithoutCancel(ctx)))
	}
	return func(ctx context.Context, err error, res Result) error {
		if err != nil && (res.Change == 0 || res.Back == change.TakenBack) {
			return errors.Join(err, got.Drop(context.WithoutCancel(ctx)))
		}
		if err == nil && !slices.ContainsFunc(plan.Volumes, func(v Volume) bool { return v.top == "" }) {
			return got.Drop(context.WithoutCancel(ctx)) // subvolumes do not need what they were copied of
		}
		return err
	}, nil
}

func (r Rollback) lock(ctx context.Context) (unlock func(), err error) {
	return r.Keeper.Do.Lock(ctx, path.Join(r.Keeper.Store.Dir, "replay-lock"))
}

// Sweep takes away what killed runs left of copies that were to take a server's place. While another Plumb replays
// a log, nothing is.
func (r Rollback) Sweep(ctx context.Context) error {
	unlock, err := r.lock(ctx)
	if errors.Is(err, host.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	return r.sweep(ctx)
}

// sweep takes away copies of runs that were killed before there was anything to swap, and of changes that were taken
// back.
func (r Rollback) sweep(ctx context.Context) error {
	k := r.Keeper
	books, err := kinds.Books(k.Do, k.Books).List(ctx)
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, book := range books {
		for _, t := range book.All() { // also half of a copy
			if t.Life == nil || !strings.HasPrefix(t.Life.Owner, replay.Owner) {
				continue
			}
			owner := t.Life.Owner
			stays[owner] = stays[owner] || t.Kind == inventory.Dataset && r.needed(ctx, t.Name, strings.TrimPrefix(owner, replay.Owner))
		}
	}
	for owner, stay := range stays {
		if !stay {
			err = errors.Join(err, k.Forgo(ctx, owner, nil))
		}
	}
	return err
}

// needed tells whether a copy was swapped in, or can still be: it is a clone of the snapshot that it had, or has it and
// no change that was to swap it in is over. What was written to a clone before an undo stays, and then needs it too.
func (r Rollback) needed(ctx context.Context, dataset, id string) bool {
	k := r.Keeper
	origin, err := k.Do.Output(ctx, zfs.Value("origin", dataset)...)
	own, err2 := k.Do.Output(ctx, zfs.SnapshotsOf(dataset)...)
	all, err3 := k.Do.Output(ctx, zfs.Columns("name,origin", zfs.PoolOf(dataset))...)
	switch {
	case err != nil || err2 != nil || err3 != nil || strings.Contains(string(origin), "@"+protect.SnapshotName(id)):
		return true
	case len(zfs.Names(own)) == 0:
		return false
	}
	return strings.Contains(string(all), "\t"+dataset+"@") || !r.takenBack(ctx, "@"+protect.ReadyName(id))
}

// takenBack tells whether there was a change that made clones of snapshots of this name, and nothing of it is in force.
func (r Rollback) takenBack(ctx context.Context, name string) bool {
	all, err := r.Executor.Changes(ctx)
	there := false
	for _, c := range all {
		if !slices.ContainsFunc(c.Acts, func(a change.Recorded) bool { return a.Act.Make != nil && clones(a.Act.Make.Do, name) }) {
			continue
		}
		if there = true; c.Damage != nil || c.Open() || c.Forgotten() > 0 || !c.Ended {
			return false
		}
	}
	return err == nil && there
}

// clones tells whether one of some commands names a snapshot of this name.
func clones(do []change.Op, name string) bool {
	return slices.ContainsFunc(do, func(o change.Op) bool {
		return slices.ContainsFunc(o.Argv, func(word string) bool { return strings.HasSuffix(word, name) })
	})
}

// adopt gives the clone the snapshot that it was made of: the copy is a clone of that then. Which
// snapshot it is a clone of stays the same whatever is renamed or promoted later.
func adopt(v Volume) change.Switch {
	look := change.Inspection{Argv: zfs.Columns("name,origin", v.from.Name), Match: `^` + regexp.QuoteMeta(v.from.Name) + `\t[^@]*@(.*)$`}
	_, after, _ := strings.Cut(v.from.Snapshot, "@")
	return change.Exactly("origin of "+v.from.Name, look, after, zfs.Promote(v.next), zfs.Promote(v.from.Name))
}
