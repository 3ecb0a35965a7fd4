package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/units"
)

// Done is what came of a prune.
type Done struct {
	Plan    Plan      `json:"-"`
	Marked  []string  `json:"marked"`     // they go when the grace is over
	Back    []string  `json:"taken_back"` // somebody needs them after all
	GivenUp []string  `json:"given_up"`   // they never ended, and are gone
	Removed []string  `json:"removed"`    // all of it is gone
	Objects int64     `json:"objects"`    // removed
	Bytes   int64     `json:"bytes"`
	Logs    []LogDone `json:"logs"` // archived, of which something was marked or removed
	Left    []Trouble `json:"left"` // what was to go, and did not
}

// Trouble says why something did not go.
type Trouble struct {
	ID   string `json:"id"`
	Why  string `json:"why"`
	Hint string `json:"hint,omitempty"`
}

// Carry does what a plan says that was shown. All is looked at again: what goes must go now and by that plan. What
// is not about a rule, such as what killed runs left, goes in any case.
func (p Pruner) Carry(ctx context.Context, shown Plan, o Options) (done Done, err error) {
	defer func() {
		if errors.Is(err, store.ErrFull) {
			err = hint.With(err, "a prune writes small objects before it removes any, and what it marks is removed only after the grace period: make some room first, with a larger quota or by removing what is not Plumb's")
		}
	}()
	p, locks, unknown, err := p.locked(ctx)
	if err != nil {
		return done, err
	}
	at, err := p.clock(ctx)
	if err != nil {
		return done, err
	}
	l, err := p.take(ctx, at, o)
	if err != nil {
		return done, fmt.Errorf("prune %s: %w", p.Store.URL(), err)
	}
	w := work{Pruner: p, locks: locks, lease: l, done: &done}
	defer func() {
		if bad := l.end(context.WithoutCancel(ctx)); err == nil {
			err = bad
		}
		if err != nil {
			err = fmt.Errorf("prune %s: %w", p.Store.URL(), err)
		}
	}()
	s, err := p.look(ctx, at)
	if err != nil {
		return done, err
	}
	if done.Plan, err = p.judge(ctx, s, locks, unknown, o); err != nil || len(done.Plan.Brakes) > 0 {
		return done, err
	}
	if err := w.mark(ctx, s, shown); err != nil {
		return done, err
	}
	if s, err = p.look(ctx, at); err != nil {
		return done, err
	}
	if why := s.doubt(p.Grace); why != nil { // it came while we marked
		return done, why
	}
	if err := w.sweep(ctx, s); err != nil {
		return done, err
	}
	return done, w.pruneLogs(ctx, s, shown)
}

// clock asks the store for the time, and whether it keeps the conditions that all of this rests on.
func (p Pruner) clock(ctx context.Context) (time.Time, error) {
	is, err := store.Conditional(ctx, p.Store)
	if err == nil && is {
		is, err = store.Compares(ctx, p.Store)
	}
	if err == nil && !is {
		err = hint.With(fmt.Errorf("prune %s: the store replaces an object although it was asked not to, so objects that a backup needs could be removed", p.Store.URL()),
			"use a store that honours If-Match and If-None-Match: Amazon S3, MinIO and VersityGW do")
	}
	if err != nil {
		return time.Time{}, err
	}
	return store.Clock(ctx, p.Store)
}

// doubt gives the first thing that cannot be read.
func (s survey) doubt(grace time.Duration) error {
	for _, id := range s.ids {
		if f := s.folders[id]; f.bad != nil && !s.dead(f, grace) {
			return fmt.Errorf("%s cannot be read or is not trusted, and may need any other: %w", what(f), f.bad)
		}
	}
	return nil
}

// work is a prune that is carried out.
type work struct {
	Pruner
	locks store.Locks
	lease *lease
	done  *Done
}

// left notes what does not go. Only what makes going on senseless is an error.
func (w work) left(id string, err error) error {
	if bearable(err) {
		w.done.Left = append(w.done.Left, Trouble{ID: id, Why: err.Error(), Hint: hint.Of(err)})
		return nil
	}
	return err
}

func bearable(err error) bool {
	return slices.ContainsFunc([]error{store.ErrDenied, store.ErrChanged, store.ErrExists, store.ErrNotFound, store.ErrTooLarge, signed.ErrRemoved, errStrange}, func(is error) bool { return errors.Is(err, is) })
}

// mark sets stones, first on those that nothing needs: so nothing that is there needs what is not.
func (w work) mark(ctx context.Context, s survey, shown Plan) error {
	now, before := w.done.Plan.Going(), shown.Going()
	slices.SortStableFunc(now, func(a, b string) int { return cmp.Compare(s.depth(b), s.depth(a)) })
	for _, id := range now {
		if !slices.Contains(before, id) {
			continue
		}
		if err := w.lease.renew(ctx); err != nil {
			return err
		}
		if err := w.stone(ctx, s, id); err != nil {
			if err = w.left(id, err); err != nil {
				return err
			}
			continue
		}
		w.done.Marked = append(w.done.Marked, id)
	}
	return nil
}

// stone puts a stone in the place of a manifest.
func (w work) stone(ctx context.Context, s survey, id string) error {
	text, tag, err := store.Read(ctx, w.Store, manifest.Name(id), manifest.MaxSize)
	if err != nil {
		return err
	}
	if _, _, err := w.Open(text, id); err != nil {
		return fmt.Errorf("%w: %w", store.ErrChanged, err)
	}
	return w.put(ctx, manifest.Stone{ID: id, At: s.at, By: w.Host, Why: w.why(id), Was: text}, store.Put{Was: tag})
}

func (w work) why(id string) []string {
	for _, plan := range w.done.Plan.Servers {
		for _, f := range plan.Fates {
			if f.Point.ID == id {
				return f.Why
			}
		}
	}
	return nil
}

func (w work) put(ctx context.Context, s manifest.Stone, o store.Put) error {
	text, err := manifest.SignStone(s, w.Sign)
	if err == nil {
		_, err = store.Settle(ctx, w.Store, manifest.Name(s.ID), text, o)
	}
	return err
}

// sweep removes what nobody needs. s was read after the last stone was set.
func (w work) sweep(ctx context.Context, s survey) error {
	needed := s.needed(w.Grace)
	for _, id := range s.ids {
		if err := errors.Join(ctx.Err(), w.lease.renew(ctx)); err != nil {
			return err
		}
		f := s.folders[id]
		var err error
		switch {
		case f.stone != nil && f.own:
			err = w.leaving(ctx, s, f, needed[id])
		case f.m != nil && f.objects > f.m.Objects()-1+count(f.proven)+int64(len(f.holders)):
			err = w.remove(ctx, id, func(i store.Info) bool { return !f.m.Names(i.Name) && s.old(i.Modified, w.Grace) })
		case s.dead(f, w.Grace) && needed[id] == "":
			err = w.giveUp(ctx, s, f)
		}
		if err != nil {
			if err = w.left(id, err); err != nil {
				return fmt.Errorf("backup %s: %w", id, err)
			}
		}
	}
	if err := w.each(ctx, store.Probes, func(i store.Info) bool { return s.old(i.Modified, w.Grace) }); err != nil {
		return w.left(store.Probes, err)
	}
	return nil
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// leaving goes on with a backup that has a stone of ours.
func (w work) leaving(ctx context.Context, s survey, f *folder, neededBy string) error {
	switch old := s.old(f.head.Modified, w.Grace); {
	case neededBy != "" && !f.stone.Going:
		if err := w.TakeBack(ctx, f.id); errors.Is(err, backup.ErrNotRemoved) {
			return nil // who needs it was faster
		} else if err != nil {
			return err
		}
		w.done.Back = append(w.done.Back, f.id)
		return nil
	case neededBy != "": // a manifest that came from elsewhere: what is still there may help
		w.done.Left = append(w.done.Left, Trouble{ID: f.id, Why: neededBy + " needs it, but some of its objects are already removed"})
		return nil
	case !old && !f.stone.Going:
		return nil
	case !f.stone.Going:
		if err := w.goes(ctx, s, f); err != nil {
			return err
		}
	case f.objects == 0:
		return w.forget(ctx, s, f)
	}
	if err := w.remove(ctx, f.id, func(store.Info) bool { return true }); err != nil {
		return err
	}
	w.done.Removed = append(w.done.Removed, f.id)
	return nil
}

// unlocked refuses an object that the store keeps locked.
func (w work) unlocked(ctx context.Context, name string, at time.Time) error {
	until, err := w.lockedUntil(ctx, name)
	if err == nil && until.After(at) {
		err = fmt.Errorf("%w: the store keeps it locked until %s", store.ErrDenied, units.Moment(until))
	}
	return err
}

// goes says on a stone that the objects go from now on: it can no more be taken back.
func (w work) goes(ctx context.Context, s survey, f *folder) error {
	if err := w.unlocked(ctx, manifest.Name(f.id), s.at); err != nil { // which was written last, and is kept the longest
		return err
	}
	text, tag, err := store.Read(ctx, w.Store, manifest.Name(f.id), manifest.MaxStone)
	if err != nil {
		return err
	}
	if now, err := manifest.OpenStone(text, f.id, w.Own...); err != nil || now.Going || !now.At.Equal(f.stone.At) {
		return fmt.Errorf("%w: it is another stone than was read", store.ErrChanged)
	}
	stone := *f.stone
	stone.Going, stone.Was = true, nil
	return w.put(ctx, stone, store.Put{Was: tag})
}

// forget removes a stone under which nothing has been for long.
func (w work) forget(ctx context.Context, s survey, f *folder) error {
	longer := w.Stay
	if longer == 0 {
		longer = stay
	}
	if f.strange > 0 || !s.old(f.head.Modified, w.Grace+longer) {
		return nil
	}
	return w.Store.Delete(ctx, manifest.Name(f.id))
}

// giveUp ends a backup that never ended: first its claim, so that a run that goes on just now knows; then its
// manifest's place, so that one that stood still before its last step finds it taken.
func (w work) giveUp(ctx context.Context, s survey, f *folder) error {
	o := store.Put{New: true}
	switch _, tag, err := w.Store.Get(ctx, manifest.ClaimName(f.id), make([]byte, manifest.MaxClaim)); {
	case err == nil:
		o = store.Put{Was: tag}
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	// A run that went on before the claim was read shows in this list; one that does so later, by the claim.
	if err := w.Store.List(ctx, manifest.Folder(f.id), func(i store.Info) error {
		if !s.old(i.Modified, w.Grace) {
			return fmt.Errorf("%w: a run continues it", store.ErrChanged)
		}
		return nil
	}); err != nil {
		return err
	}
	text, err := manifest.Claim{ID: f.id, Beat: s.at.String() + w.lease.tag, GivenUp: true}.Write()
	if err != nil {
		return err
	}
	if _, err := store.Settle(ctx, w.Store, manifest.ClaimName(f.id), text, o); err != nil {
		return err
	}
	why := []string{"it never ended, and showed no activity since " + units.Moment(f.newest)}
	if err := w.put(ctx, manifest.Stone{ID: f.id, At: s.at, By: w.Host, Why: why, Going: true}, store.Put{New: true}); err != nil {
		return err
	}
	w.done.GivenUp = append(w.done.GivenUp, f.id)
	return w.remove(ctx, f.id, func(store.Info) bool { return true })
}

// remove removes objects of one backup that Plumb has named, but never what is in the place of its manifest.
func (w work) remove(ctx context.Context, id string, goes func(store.Info) bool) error {
	return w.each(ctx, manifest.Folder(id), func(i store.Info) bool { return manifest.Ours(i.Name) && goes(i) })
}
