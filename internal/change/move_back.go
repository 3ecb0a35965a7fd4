package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host/mirror"
	"plumb/internal/host/paths"
	"plumb/internal/host/tree"
)

// lost tells whether what was written in the new places is not copied back: because nobody
// wants it, or because the server never answered there, so that nobody was promised anything, and what it
// left may be why.
func (m *moving) lost() bool {
	if m.c.discard {
		return true
	}
	tried, answered := false, false
	for _, p := range m.c.Acts {
		if p.N > m.p.N && p.Step == m.p.Step && p.Act.Switch != nil && m.given(p.N) {
			tried = tried || p.failed
			answered = answered || p.reached || !p.failed || p.seen == p.Act.Switch.After
		}
	}
	return tried && !answered
}

// given tells whether the server was let into its new places before an act.
func (m *moving) given(before int) bool {
	return slices.ContainsFunc(m.c.Acts, func(g Recorded) bool {
		return g.Act.Move != nil && g.Act.Move.Phase == MoveGive && g.Act.Move.List == m.o.List && g.N < before
	})
}

// movedOn refuses to take back moves whose data somebody has moved on by hand. Nothing is touched then: the server is not
// stopped.
func (c *Change) movedOn(discard bool) error {
	for _, p := range c.Acts {
		if p.Act.Move == nil || p.Act.Move.Phase != MoveGive || p.State != Done || p.Identity == "" {
			continue
		}
		if err := p.Act.Move.inPlace(p.Identity); err != nil {
			return err
		}
		if discard {
			continue
		}
		if err := p.Act.Move.Pairs[0].holds(); err != nil {
			return err
		}
	}
	return nil
}

// inPlace refuses other directories in the new places than the server was let into.
func (o *Move) inPlace(want string) error {
	now, err := identities(o.Pairs, func(p Pair) string { return p.At })
	if err == nil && now != want || errors.Is(err, fs.ErrNotExist) {
		err = Refuse("mount it there again, and undo", "the filesystems mounted where the data were are not the ones from before")
	}
	return err
}

// holds refuses a new place that was emptied: the old files would be made like it. No database is empty.
func (p Pair) holds() error {
	r, err := tree.Open(p.At)
	if err != nil {
		return err
	}
	defer r.Close()
	names, err := r.Names()
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return !paths.Matches(p.Skip, name) }) {
		return err
	}
	return Refuse("move them back there first; or --discard-new, which leaves the old files as they are and starts the server on them",
		"%s, where the data were moved to, is empty: somebody has moved them, and an undo would empty %s too", p.At, p.Old)
}

// take copies back what was written in the new places, while they are in place and whole. Only then is the server
// kept out of them.
func (m *moving) take(ctx context.Context) error {
	if m.p.Identity == "" {
		return nil
	}
	err := m.o.inPlace(m.p.Identity)
	if err == nil {
		err = m.idle(ctx, atPlace, atOld)
	}
	if err == nil {
		err = m.bring(ctx, atOld, atPlace)
	}
	if err != nil {
		return err
	}
	return m.shut(ctx, atPlace)
}

// bring copies back what was written since, unless it is lost. Once that has begun, the old files are of two moments
// until it has ended, so that nobody can lose the rest.
func (m *moving) bring(ctx context.Context, old, place func(int, Pair) string) error {
	if m.lost() && m.p.returning {
		return &Refusal{Why: "part of what was written since has been copied back already, and without the rest the old files are incomplete",
			What: fmt.Sprintf("plumb undo %d without --discard-new copies the rest", m.c.Number)}
	}
	if m.lost() {
		return nil
	}
	if !m.p.returning {
		if err := m.k.note(ctx, m.c, kindReturning, result{N: m.p.N}); err != nil {
			return err
		}
	}
	err := m.mirrors(old, place, func(r *mirror.Mirror) error {
		r.Back = true
		_, err := r.Whole(ctx)
		return err
	})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("copy back what was written since: %w", err)
	if tree.Full(err) {
		err = hint.With(err, fmt.Sprintf("all of it is still in the new place, where the server can run until you make room in the old one: stop it then, and plumb undo %d copies the rest", m.c.Number))
	}
	return err
}

// back gives the old directories their names again, with all that was written since.
func (m *moving) back(ctx context.Context) error {
	at, renamed, err := m.oldNow()
	if err != nil || !renamed {
		return err // the old ones never left, or are there again
	}
	id, err := identities(m.o.Pairs, func(p Pair) string { return p.Aside })
	if err != nil {
		return err
	}
	if id != m.p.Identity {
		return &Refusal{Why: "the filesystems in the new places are not the ones that the server ran on", What: "mount it there, and undo"}
	}
	if err := m.idle(ctx, at, atAside); err != nil {
		return err
	}
	if m.given(math.MaxInt) { // and somebody may have started it there once more; else the old ones have all that was ever written
		if err := m.bring(ctx, at, atAside); err != nil {
			return err
		}
	}
	return m.named(ctx, at)
}

// empty removes the copies, and gives the new places back as they were.
func (m *moving) empty(ctx context.Context) error {
	if m.p.Identity == "" {
		return nil
	}
	id, err := identities(m.o.Pairs, func(p Pair) string { return p.Aside })
	if err != nil {
		return err
	}
	if id != m.p.Identity {
		return &Refusal{Why: "the filesystems in the new places are not the ones that the data were copied to", What: "mount it there, and undo"}
	}
	was := strings.Split(m.p.Kept, "\n")
	for i, p := range m.o.Pairs {
		r, err := tree.Open(p.Aside)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := m.removeAll(ctx, r, p); err != nil {
			return err
		}
		e, err := r.Itself()
		if err == nil && i < len(was) {
			_, err = fmt.Sscanf(was[i], "%d %d %o", &e.UID, &e.GID, &e.Mode)
		}
		if err == nil {
			err = m.step(ctx, "give", r.Path, func() error { return r.Give(e) })
		}
		if err != nil {
			return err
		}
	}
	return m.k.Doer.Remove(ctx, m.o.List)
}

// removeAll removes what was copied to a new place. Of what was skipped only the empty directories are there that
// mountPoints made: they go unless something is mounted on them.
func (m *moving) removeAll(ctx context.Context, r *tree.Root, p Pair) error {
	names, err := r.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if paths.Matches(p.Skip, name) {
			r.RemoveEmpty(name)
			continue
		}
		if err := m.step(ctx, "remove", r.Path+"/"+name, func() error { return r.Remove(name) }); err != nil {
			return err
		}
	}
	return nil
}
