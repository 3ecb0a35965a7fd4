package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// folder is what a store has of one backup.
type folder struct {
	id      string
	objects int64     // with names that Plumb gives, but for the manifest
	bytes   int64     // of these, and of the manifest
	newest  time.Time // of these
	oldest  time.Time // of these
	strange int64     // objects with other names
	claimed bool
	proven  bool        // there is a proof; whether it is believed is another question
	holders []string    // who says that it must stay
	head    *store.Info // the manifest, or the stone

	m     *manifest.Manifest // when the backup is there
	stone *manifest.Stone    // when it is being removed
	own   bool               // signed by us
	twin  bool               // by us, and another machine began it
	held  *manifest.Manifest // what the stone holds
	claim manifest.Claim     // of a backup without manifest
	bad   error              // what is there cannot be read, or is not believed
}

// survey reads what a store has, by the ID of each backup.
type survey struct {
	at      time.Time // by the clock of the store
	folders map[string]*folder
	ids     []string // sorted
	newest  store.Info
}

// slack is how far clocks that are set right now and then may be apart.
const slack = 5 * time.Minute

// look reads what the store has.
func (p Pruner) look(ctx context.Context, at time.Time) (survey, error) {
	s := survey{at: at, folders: map[string]*folder{}}
	err := p.Store.List(ctx, manifest.Prefix, func(i store.Info) error {
		s.add(i)
		return ctx.Err()
	})
	for id := range s.folders {
		s.ids = append(s.ids, id)
	}
	slices.Sort(s.ids)
	for _, id := range s.ids {
		if err == nil {
			err = p.read(ctx, s.folders[id], at)
		}
	}
	if err == nil {
		err = p.meet(ctx, s)
	}
	if err != nil {
		return s, fmt.Errorf("look at the backups of %s: %w", p.Store.URL(), err)
	}
	return s, nil
}

// meet finds the backups that another machine began which has the key of this one. Which this one began is read last: it is written down
// before anything of a backup is in the store.
func (p Pruner) meet(ctx context.Context, s survey) error {
	if p.Do == nil {
		return nil
	}
	begun, err := backup.ReadBegun(ctx, p.Do, p.Dir)
	for id, f := range s.folders {
		f.twin = f.m != nil && f.own && begun.Foreign(id)
	}
	return err
}

func (s *survey) add(i store.Info) {
	id, rest := manifest.Split(i.Name)
	if id == "" {
		return // somebody else's
	}
	f := s.folders[id]
	if f == nil {
		f = &folder{id: id}
		s.folders[id] = f
	}
	if i.Modified.After(s.newest.Modified) {
		s.newest = i
	}
	switch {
	case rest == "manifest":
		f.head = &i
		f.bytes += i.Size
		return
	case !manifest.Ours(i.Name):
		f.strange++
		return
	}
	f.objects, f.bytes = f.objects+1, f.bytes+i.Size
	if owner := manifest.Holder(i.Name); owner != "" {
		f.holders = append(f.holders, owner)
	}
	f.claimed, f.proven = f.claimed || rest == "claim", f.proven || rest == "proof"
	if i.Modified.After(f.newest) {
		f.newest = i.Modified
	}
	if f.oldest.IsZero() || i.Modified.Before(f.oldest) {
		f.oldest = i.Modified
	}
}

// read reads what says what a backup is.
func (p Pruner) read(ctx context.Context, f *folder, at time.Time) error {
	if f.head == nil && f.claimed {
		text, _, err := p.Store.Get(ctx, manifest.ClaimName(f.id), make([]byte, manifest.MaxClaim))
		switch {
		case err == nil:
			f.claim, f.bad = manifest.OpenClaim(text, f.id)
			return nil
		case errors.Is(err, store.ErrTooLarge):
			f.bad = err
			return nil
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		f.head = &store.Info{Modified: at} // the run may have ended just now
	}
	if f.head == nil {
		return nil
	}
	text, _, err := store.Read(ctx, p.Store, manifest.Name(f.id), manifest.MaxStone)
	switch {
	case errors.Is(err, store.ErrNotFound):
		f.head = nil
		return nil
	case errors.Is(err, store.ErrTooLarge):
		f.bad = err
		return nil
	case err != nil:
		return err
	case manifest.IsStone(text):
		f.stoneOf(p, text)
		return nil
	}
	if f.m, f.bad = p.open(text, f.id); f.m != nil {
		_, _, err := manifest.Open(text, p.Own...)
		f.own = err == nil
	}
	return nil
}

// open reads a manifest that somebody signed who is believed.
func (p Pruner) open(text []byte, id string) (*manifest.Manifest, error) {
	m, _, err := p.Open(text, id)
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// stoneOf reads a stone. That of another host is believed as a manifest is, and left to that host.
func (f *folder) stoneOf(p Pruner, text []byte) {
	s, err := manifest.OpenStone(text, f.id, p.Own...)
	if f.own = err == nil; !f.own {
		s, err = p.OpenStone(text, f.id)
	}
	if err == nil && s.Was != nil {
		f.held, err = p.open(s.Was, f.id)
	}
	if f.bad = err; err == nil {
		f.stone = &s
	}
}

// old tells whether something has been as it is for longer than the grace.
func (s survey) old(at time.Time, grace time.Duration) bool { return s.at.Sub(at) > grace }

// dead tells whether a backup that never ended was silent for so long that it is given up.
func (s survey) dead(f *folder, grace time.Duration) bool {
	return f.head == nil && f.objects > 0 && s.old(f.newest, grace)
}

// needed gives the backups that another one needs which is there, or is being made, and those with a stone that somebody
// holds; and who it is.
func (s survey) needed(grace time.Duration) map[string]string {
	why := map[string]string{}
	var next []string
	need := func(ids []string, by string) {
		for _, id := range ids {
			if why[id] == "" {
				why[id] = by
				next = append(next, id)
			}
		}
	}
	for _, id := range s.ids {
		if f := s.folders[id]; f.stone != nil && len(f.holders) > 0 {
			need([]string{id}, f.holders[0])
		}
		switch f := s.folders[id]; {
		case f.m != nil:
			need(f.m.Bases(), "backup "+id)
		case f.head == nil && !s.dead(f, grace):
			need(f.claim.Needs, "a backup that is being made ("+id+")")
		}
	}
	for ; len(next) > 0; next = next[1:] {
		if f := s.folders[next[0]]; f != nil && f.held != nil {
			need(f.held.Bases(), "backup "+f.id)
		}
	}
	return why
}

// depth counts what must be restored before a backup.
func (s survey) depth(id string) (n int) {
	seen := map[string]bool{}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		f := s.folders[next[0]]
		if f == nil || f.m == nil || seen[f.id] {
			continue
		}
		seen[f.id] = true
		n++
		next = append(next, f.m.Bases()...)
	}
	return n
}
