package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
	"plumb/internal/dice"
	"plumb/internal/hint"
)

// ErrGivenUp is the error of a run whose backup prune has given up, because the run was silent for too long, or whose backup
// exists already, or is made by another. What it has sent is of no use.
var ErrGivenUp = errors.New("it can no longer be completed")

// Why it cannot: what is in the store tells some of these apart, and others not.
const (
	isDead   = "it made no progress for so long that a prune considered it dead"
	isTaken  = "another run goes on with it, as a copy of this machine would"
	isEither = "a prune considered it dead, or another run has gone on with it"
	isThere  = "it already exists, or a prune has removed it"
)

func givenUp(id, why string) error { return fmt.Errorf("backup %s: %w: %s", id, ErrGivenUp, why) }

// DefaultBeat is how often a run says that it is alive. Prune gives up a run that was silent for a hundred times as long.
const DefaultBeat = 10 * time.Minute

// claim is an object in a store by which a run says that it is making a backup.
type claim struct {
	in    store.Store
	id    string
	needs []string
	// shared: other runs may make the same backup, as when one backup is copied twice at once. All write the same objects, so a
	// claim that another one has changed meanwhile is no reason to stop.
	shared bool
	// fresh: the id is new and random, so that no such backup can exist yet. Writing the claim for the first time proves that.
	fresh bool
	run   *running // writes down each word before it is in the claim, and knows those of runs before it; nil where nobody resumes
	mu    sync.Mutex
	tag   string // of the claim in the store; "" for none yet
	now   func() time.Time
	last  time.Time // when it was written
}

// claims are those of one run, in every store that it writes to.
type claims struct {
	to *store.Fan
	of map[store.Store]*claim
}

// alive writes the claims of a backup, and renews them until end is called. before: an earlier run has begun the backup, so that its
// claims must exist.
func (b *Backup) alive(ctx context.Context, to *store.Fan, r *running, before bool, needs []string) (limited context.Context, c *claims, end func(), err error) {
	c = &claims{to: to, of: map[store.Store]*claim{}}
	for _, s := range b.Stores() {
		c.of[s] = &claim{in: s, id: r.head.ID, needs: needs, fresh: !before, run: r, now: b.Now}
	}
	limited, end, err = c.keep(ctx, before, b.Beat)
	return limited, c, end, err
}

// keep writes the claims, and renews them until end is called. limited is cancelled if the backup is given up in every store.
// every: 0 for DefaultBeat.
func (c *claims) keep(ctx context.Context, before bool, every time.Duration) (limited context.Context, end func(), err error) {
	if err := c.to.Each(ctx, func(s store.Store) error { return c.of[s].begin(ctx, before) }); err != nil {
		return ctx, nil, err
	}
	limited, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for tick := time.NewTicker(cmp.Or(every, DefaultBeat)); ; {
			select {
			case <-limited.Done():
				tick.Stop()
				return
			case <-tick.C:
				if err := c.renew(limited); err != nil {
					cancel(err)
				}
			}
		}
	})
	return limited, func() { cancel(nil); all.Wait() }, nil
}

// renew says that the run is alive in every store that answers; sending objects reports the faults of the others. It is an error
// only if the backup was given up in every store.
func (c *claims) renew(ctx context.Context) error {
	err := c.to.Each(ctx, func(s store.Store) error {
		if err := c.of[s].beat(ctx); errors.Is(err, ErrGivenUp) {
			return err
		}
		return nil
	})
	if errors.Is(err, ErrGivenUp) {
		return err
	}
	return nil
}

// beat says in every store that the run is alive.
func (c *claims) beat(ctx context.Context) error {
	return c.to.Each(ctx, func(s store.Store) error { return c.of[s].beat(ctx) })
}

// dropClaims removes the claims of a backup that exists. If one cannot be removed, prune does it later.
func dropClaims(ctx context.Context, to *store.Fan, id string) {
	_ = to.Each(ctx, func(s store.Store) error {
		_ = s.Delete(ctx, manifest.ClaimName(id))
		return nil
	})
}

// begin writes the claim, or takes over that of an earlier run.
func (c *claim) begin(ctx context.Context, before bool) (err error) {
	if before {
		err = c.take(ctx)
	}
	if err == nil {
		err = c.beat(ctx)
	}
	if err == nil && !c.fresh {
		err = c.open(ctx)
	}
	return err
}

// take takes over the claim of an earlier run of this machine. If it is another's, that one goes on with the backup: a copy of the machine
// that was made amid it, or the machine of which this is a copy. Both would write the same objects.
func (c *claim) take(ctx context.Context) error {
	text, tag, err := c.in.Get(ctx, manifest.ClaimName(c.id), make([]byte, manifest.MaxClaim))
	if errors.Is(err, store.ErrNotFound) {
		return givenUp(c.id, isEither)
	}
	if err != nil {
		return err
	}
	switch was, bad := manifest.OpenClaim(text, c.id); {
	case bad != nil:
	case was.GivenUp:
		return givenUp(c.id, isDead)
	case c.run != nil && !c.run.said[was.Beat]:
		return givenUp(c.id, isTaken)
	}
	c.tag = tag
	return nil
}

// beat says that the run is alive, by writing another random word into the claim.
func (c *claim) beat(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.write(ctx)
	for tries := 0; c.shared && tries < 5 && errors.Is(err, ErrGivenUp); tries++ {
		if err = c.take(ctx); err == nil {
			err = c.write(ctx)
		}
	}
	return err
}

func (c *claim) write(ctx context.Context) error {
	beat := dice.Hex(16)
	if c.run != nil {
		if err := c.run.note(ctx, kindBeat, beat); err != nil {
			return err
		}
	}
	text, err := manifest.Claim{ID: c.id, Needs: c.needs, Beat: beat}.Write()
	if err != nil {
		return err
	}
	tag, err := store.Settle(ctx, c.in, manifest.ClaimName(c.id), text, store.Put{New: c.tag == "", Was: c.tag})
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrChanged) {
		return givenUp(c.id, isEither)
	}
	if err != nil {
		return fmt.Errorf("record in the store that the backup is being made: %w", err)
	}
	c.tag, c.last = tag, c.now().Round(0)
	return nil
}

// beatUnlessRecent says that the run is alive, in every store where it has not said so lately.
func (c *claims) beatUnlessRecent(ctx context.Context, lately time.Duration) error {
	return c.to.Each(ctx, func(s store.Store) error {
		if c.of[s].saidWithin(cmp.Or(lately, DefaultBeat)) {
			return nil
		}
		return c.of[s].beat(ctx)
	})
}

// saidWithin tells whether the last beat was less than so long ago. It goes by the wall clock, which counts the time in which the machine
// was suspended; if that was set back, the answer is no.
func (c *claim) saidWithin(lately time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ago := c.now().Round(0).Sub(c.last)
	return 0 <= ago && ago < lately
}

// open is an error if the backup cannot be completed any more: it exists already, or was given up.
func (c *claim) open(ctx context.Context) error {
	_, _, err := store.Read(ctx, c.in, manifest.Name(c.id), manifest.MaxStone)
	if err == nil {
		return givenUp(c.id, isThere)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// needs lists the backups that the streams of a job build on.
func (j Job) needs() (all []string) {
	for _, s := range j.Sources {
		if s.Base != nil && !slices.Contains(all, s.Base.Backup) {
			all = append(all, s.Base.Backup)
		}
	}
	return all
}

// keepBases makes sure that the backups which this one builds on, and those which these need, are in a store, and takes back
// those which prune has marked but not begun to remove. After that the claim protects them. It gives all of them.
func (b *Backup) keepBases(ctx context.Context, in store.Store, needs []string) ([]manifest.Manifest, error) {
	v, err := Vault{Store: in}.Own(ctx, b.Do, b.Dir)
	if err != nil {
		return nil, err
	}
	on, err := v.keepBases(ctx, needs)
	return on, hint.With(err, "back up again: it then builds on another backup, or starts over")
}

// keepBases does so in a vault.
func (v Vault) keepBases(ctx context.Context, needs []string) (on []manifest.Manifest, err error) {
	for seen := []string{}; len(needs) > 0; needs = needs[1:] {
		if slices.Contains(seen, needs[0]) {
			continue
		}
		seen = append(seen, needs[0])
		m, err := v.rescue(ctx, needs[0])
		if err != nil {
			return nil, fmt.Errorf("it builds on backup %s: %w", needs[0], err)
		}
		on, needs = append(on, m), append(needs, m.Bases()...)
	}
	return on, nil
}

// rescue reads the manifest of a backup; if prune has replaced it by a stone, it puts the manifest back first.
func (v Vault) rescue(ctx context.Context, id string) (m manifest.Manifest, err error) {
	for range 5 { // prune may be at it
		if m, err = v.Get(ctx, id); !errors.Is(err, signed.ErrRemoved) {
			return m, err
		}
		if err = v.TakeBack(ctx, id); err != nil && !errors.Is(err, store.ErrChanged) && !errors.Is(err, ErrNotRemoved) {
			return m, err
		}
	}
	return m, err
}

// ErrNotRemoved is the error of taking back a backup that is not being removed.
var ErrNotRemoved = errors.New("it is not being removed")

// TakeBack puts the manifest of a backup that prune has marked back in its place. The error is ErrNotRemoved if it is not marked,
// signed.ErrRemoved if prune has begun to remove its objects, and otherwise the store's.
func (v Vault) TakeBack(ctx context.Context, id string) error {
	text, tag, err := store.Read(ctx, v.Store, manifest.Name(id), manifest.MaxStone)
	if err != nil {
		return fmt.Errorf("bring back backup %s: %w", id, err)
	}
	if !manifest.IsStone(text) {
		return hint.With(fmt.Errorf("bring back backup %s: %w", id, ErrNotRemoved), "plumb backup list shows it")
	}
	s, err := v.OpenStone(text, id)
	if err != nil && !errors.Is(err, manifest.ErrStranger) { // it is the manifest in it that must be signed by somebody who is trusted
		return err
	}
	if s.Going || s.Was == nil {
		return fmt.Errorf("bring back backup %s: %w, and some of its objects are already removed", id, signed.ErrRemoved)
	}
	if _, _, err := v.Open(s.Was, id); err != nil {
		return fmt.Errorf("bring back backup %s: %w", id, err)
	}
	if _, err := store.Settle(ctx, v.Store, manifest.Name(id), s.Was, store.Put{Was: tag}); err != nil {
		return fmt.Errorf("bring back backup %s: %w", id, err)
	}
	return nil
}
