package backup

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
)

// ErrGivenUp is the error of a run whose backup prune has given up, because for long nothing was heard of it, or
// which has ended before. What it had sent counts for nothing.
var ErrGivenUp = errors.New("it stood still for so long that prune gave it up")

// DefaultBeat is how often a run says that it lives. Prune gives up what was silent a hundred times as long.
const DefaultBeat = 10 * time.Minute

// claim is that of a run in one store.
type claim struct {
	in    store.Store
	id    string
	needs []string
	// shared: others may be at the same, as two copies of one backup can be. All write the same objects, so that what another
	// has said in the meantime is no reason to stop.
	shared bool
	// fresh: nobody has used its id, which is random. The first writing of the claim makes sure of that.
	fresh bool
	mu    sync.Mutex
	tag   string // of the claim in the store; "" for none yet
	now   func() time.Time
	last  time.Time // when it was written
}

// claims are those of a run, in every store that it goes to.
type claims struct {
	to *store.Fan
	of map[store.Store]*claim
}

// alive writes the claims of a backup, and keeps them. before: a run before has begun the backup, so that its claims must be there.
func (b *Backup) alive(ctx context.Context, to *store.Fan, id string, before bool, needs []string) (limited context.Context, c *claims, end func(), err error) {
	c = &claims{to: to, of: map[store.Store]*claim{}}
	for _, s := range b.targets() {
		c.of[s] = &claim{in: s, id: id, needs: needs, fresh: !before, now: b.Now}
	}
	limited, end, err = c.keep(ctx, before, b.Beat)
	return limited, c, end, err
}

// keep writes claims before anything of a backup is sent, and writes them anew until end is called. What it
// gives ends when the backup is given up everywhere. every: 0 for DefaultBeat.
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
				if err := c.still(limited); err != nil {
					cancel(err)
				}
			}
		}
	})
	return limited, func() { cancel(nil); all.Wait() }, nil
}

// still says that the run lives wherever that can be said now: of faults of a store the objects tell that are sent. An
// error is that it was given up, everywhere.
func (c *claims) still(ctx context.Context) error {
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

// beat says in every store that the run lives.
func (c *claims) beat(ctx context.Context) error {
	return c.to.Each(ctx, func(s store.Store) error { return c.of[s].beat(ctx) })
}

// dropClaims takes the claims of a backup back where it is whole. One that stays is removed by prune.
func dropClaims(ctx context.Context, to *store.Fan, id string) {
	_ = to.Each(ctx, func(s store.Store) error {
		_ = s.Delete(ctx, manifest.ClaimName(id))
		return nil
	})
}

// begin writes the claim, or takes it up.
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

// take takes up the claim of a run before.
func (c *claim) take(ctx context.Context) error {
	text, tag, err := c.in.Get(ctx, manifest.ClaimName(c.id), make([]byte, manifest.MaxClaim))
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("backup %s: %w", c.id, ErrGivenUp)
	}
	if err != nil {
		return err
	}
	if was, bad := manifest.OpenClaim(text, c.id); bad == nil && was.GivenUp {
		return fmt.Errorf("backup %s: %w", c.id, ErrGivenUp)
	}
	c.tag = tag
	return nil
}

// beat says that the run lives.
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
	word := make([]byte, 16)
	if _, err := rand.Read(word); err != nil {
		return err
	}
	text, err := manifest.Claim{ID: c.id, Needs: c.needs, Beat: hex.EncodeToString(word)}.Write()
	if err != nil {
		return err
	}
	tag, err := store.Settle(ctx, c.in, manifest.ClaimName(c.id), text, store.Put{New: c.tag == "", Was: c.tag})
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrChanged) {
		return fmt.Errorf("backup %s: %w", c.id, ErrGivenUp)
	}
	if err != nil {
		return fmt.Errorf("say in the store that the backup is being made: %w", err)
	}
	c.tag, c.last = tag, c.now().Round(0)
	return nil
}

// young says that the run lives wherever it has not said so lately.
func (c *claims) young(ctx context.Context, lately time.Duration) error {
	return c.to.Each(ctx, func(s store.Store) error {
		if c.of[s].saidWithin(cmp.Or(lately, DefaultBeat)) {
			return nil
		}
		return c.of[s].beat(ctx)
	})
}

// saidWithin goes by the clock on the wall, which goes on while a machine is suspended. Of one that was set back
// nothing is known.
func (c *claim) saidWithin(lately time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ago := c.now().Round(0).Sub(c.last)
	return 0 <= ago && ago < lately
}

// open tells whether the backup can still be ended: neither is it whole, nor given up.
func (c *claim) open(ctx context.Context) error {
	_, _, err := c.in.Get(ctx, manifest.Name(c.id), make([]byte, manifest.MaxStone))
	if err == nil {
		return fmt.Errorf("backup %s: %w", c.id, ErrGivenUp)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// needs gives the backups that the streams of a job begin at.
func (j Job) needs() (all []string) {
	for _, s := range j.Sources {
		if s.Base != nil && !slices.Contains(all, s.Base.Backup) {
			all = append(all, s.Base.Backup)
		}
	}
	return all
}

// lean makes sure that what a backup builds on is in a store, and brings back what prune has decided to remove
// but has not begun to. After that the claim keeps it. It gives all that is built on.
func (b *Backup) lean(ctx context.Context, in store.Store, needs []string) ([]manifest.Manifest, error) {
	v, err := Vault{Store: in}.Own(ctx, b.Do, b.Dir)
	if err != nil {
		return nil, err
	}
	on, err := v.lean(ctx, needs)
	return on, hint.With(err, "back up again: it then builds on another backup, or starts over")
}

// lean does so in a vault.
func (v Vault) lean(ctx context.Context, needs []string) (on []manifest.Manifest, err error) {
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

// rescue reads the manifest of a backup, and puts it in the place of its stone if need be.
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

// ErrNotRemoved is the error of a backup that is to be taken back, and is there.
var ErrNotRemoved = errors.New("it is not being removed")

// TakeBack puts the manifest of a backup that prune has marked back in its place. It is not in time when the backup's objects
// have begun to go.
func (v Vault) TakeBack(ctx context.Context, id string) error {
	text, tag, err := v.Store.Get(ctx, manifest.Name(id), make([]byte, manifest.MaxStone))
	if err != nil {
		return fmt.Errorf("take back backup %s: %w", id, err)
	}
	if !manifest.IsStone(text) {
		return hint.With(fmt.Errorf("take back backup %s: %w", id, ErrNotRemoved), "plumb backup list shows it")
	}
	s, err := v.OpenStone(text, id)
	if err != nil && !errors.Is(err, manifest.ErrStranger) { // it is the manifest in it that must be signed by somebody who is trusted
		return err
	}
	if s.Going || s.Was == nil {
		return fmt.Errorf("take back backup %s: %w, and its objects have begun to go", id, signed.ErrRemoved)
	}
	if _, _, err := v.Open(s.Was, id); err != nil {
		return fmt.Errorf("take back backup %s: %w", id, err)
	}
	if _, err := store.Settle(ctx, v.Store, manifest.Name(id), s.Was, store.Put{Was: tag}); err != nil {
		return fmt.Errorf("take back backup %s: %w", id, err)
	}
	return nil
}
