package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/host/mirror"
	"plumb/internal/host/paths"
	"plumb/internal/host/processes"
	"plumb/internal/host/tree"
	"plumb/internal/units"
)

// moving is one try at a phase of a move, or at taking it back.
type moving struct {
	k    *Executor
	do   host.Streamer
	o    *Move
	c    *Change
	p    *Recorded
	done *mirror.List
}

// step makes a change of files.
func (m *moving) step(ctx context.Context, op, name string, do func() error) error {
	return host.Step(ctx, m.do, op, name, do)
}

// mirrors opens both sides of all pairs.
func (m *moving) mirrors(old, new func(int, Pair) string, do func(*mirror.Mirror) error) error {
	for i, pair := range m.o.Pairs {
		from, err := tree.Open(old(i, pair))
		if err != nil {
			return err
		}
		to, err := tree.Open(new(i, pair))
		if err == nil {
			err = do(&mirror.Mirror{Done: m.done, N: i, Old: from, New: to, Only: pair.Only, Skip: pair.Skip})
			to.Close()
		}
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func atAside(_ int, p Pair) string { return p.Aside }
func atPlace(_ int, p Pair) string { return p.At }
func atOld(_ int, p Pair) string   { return p.Old }

// Rounds of copying while others write: each leaves less for when they stand still.
const (
	mostRounds = 4
	little     = 16 << 20 // bytes that are not worth another round
)

func (m *moving) copy(ctx context.Context) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	last := int64(-1)
	for range mostRounds {
		var all int64
		err := m.mirrors(func(_ int, p Pair) string { return p.From }, atAside, func(r *mirror.Mirror) error {
			r.Live = true
			moved, list, err := r.Pass(ctx)
			if all += moved; err == nil {
				err = m.inside(ctx, m.o.Pairs[r.N], list)
			}
			if err == nil {
				err = m.mountPoints(ctx, r)
			}
			return err
		})
		if err != nil || all <= little || last >= 0 && all > last/2 {
			return err
		}
		last = all
	}
	return nil
}

// mountPoints makes empty directories in the place of those that stay.
func (m *moving) mountPoints(ctx context.Context, r *mirror.Mirror) error {
	names, err := r.Old.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !paths.Matches(r.Skip, name) || r.Old.Kind(name) != 'd' || r.New.Kind(name) == 'd' {
			continue
		}
		if err := m.step(ctx, "make directory", r.New.Path+"/"+name, func() error { return r.New.MakeDir(name) }); err != nil {
			return err
		}
	}
	return nil
}

// begin takes the new places: they are empty, and only root can enter them from then on.
func (m *moving) begin(ctx context.Context) error {
	now, err := identities(m.o.Pairs, func(p Pair) string { return p.Aside })
	if err != nil {
		return err
	}
	if m.p.Identity != "" && now != m.p.Identity {
		return &Refusal{Why: "the place that the data were copied to is not the same filesystem as then", What: "mount it again, or undo this change"}
	}
	var was []string
	ids := strings.Split(now, "\n")
	for i, p := range m.o.Pairs {
		if !strings.HasSuffix(ids[i], tree.Mounted) { // what is mounted on can be given no other name
			if err := staysInPlace(ctx, m.k.Doer, path.Dir(p.Aside)); err != nil {
				return err
			}
		}
		r, err := tree.Open(p.Aside)
		if err != nil {
			return err
		}
		defer r.Close()
		names, err := r.Names()
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return paths.Matches(p.Skip, name) }) // what is mounted in it
		if len(names) > 0 && m.p.Identity == "" {
			return &Refusal{Why: fmt.Sprintf("%s is not empty: it holds %s", p.Aside, units.Some(names, 3)), What: "data can only be moved to an empty filesystem or directory"}
		}
		e, err := r.Itself()
		if err != nil {
			return err
		}
		was = append(was, fmt.Sprintf("%d %d %o", e.UID, e.GID, e.Mode))
	}
	if m.p.Identity == "" {
		if err := m.k.note(ctx, m.c, kindMade, result{N: m.p.N, Got: now, What: strings.Join(was, "\n")}); err != nil {
			return err
		}
	}
	return m.shut(ctx, atAside)
}

// shut lets nobody but root into the new places.
func (m *moving) shut(ctx context.Context, where func(int, Pair) string) error {
	for i, p := range m.o.Pairs {
		r, err := tree.Open(where(i, p))
		if err != nil {
			return err
		}
		err = m.step(ctx, "shut", r.Path, r.Shut)
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// inside refuses links that lead to what would stay where it is although the server writes there, and those that would name
// a place that is no more.
func (m *moving) inside(ctx context.Context, pair Pair, list []tree.Entry) error {
	for _, e := range list {
		if e.Kind != 'l' {
			continue
		}
		to := e.Link
		if !path.IsAbs(to) {
			to = path.Join(pair.From, path.Dir(e.Name), to)
		}
		in := func(dir string) bool { return paths.Within(path.Clean(to), dir) }
		if goes := m.o.Pairs[0]; path.IsAbs(e.Link) && goes.At != goes.From && in(goes.From) {
			return &Refusal{Why: fmt.Sprintf("the link %s/%s names the directory %s, which will be %s", pair.From, e.Name, goes.From, goes.At), What: "make it a relative link"}
		}
		if in(pair.From) || slices.ContainsFunc(m.o.Pairs, func(p Pair) bool { return in(p.From) }) {
			continue
		}
		st, err := m.do.Stat(ctx, path.Join(pair.From, e.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if st.Mode.IsDir() || int(st.UID) == list[0].UID && st.UID != 0 {
			return &Refusal{Why: fmt.Sprintf("%s/%s leads to %s, which is not among what is moved", pair.From, e.Name, st.Resolved), What: "move it into the data directory first, or give it a volume of its own"}
		}
	}
	return nil
}

// oldNow tells where the old directories are by now.
func (m *moving) oldNow() (func(int, Pair) string, bool, error) {
	was := strings.Split(m.p.Made.Before, "\n")
	if len(was) != len(m.o.Pairs) {
		return nil, false, unknown("a move that does not say what it moved")
	}
	var at []string
	renamed := false
	for i, p := range m.o.Pairs {
		where := ""
		for _, dir := range []string{p.From, p.Old} {
			id, err := identities([]Pair{p}, func(Pair) string { return dir })
			if err == nil && id == was[i] {
				where = dir
				break
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, false, err
			}
		}
		if where == "" {
			return nil, false, &Refusal{Why: fmt.Sprintf("neither %s nor %s is the directory that was to be moved", p.From, p.Old), What: "mount what was there before"}
		}
		renamed = renamed || where != p.From
		at = append(at, where)
	}
	return func(i int, _ Pair) string { return at[i] }, renamed, nil
}

// idle waits until nobody has anything open any more.
func (m *moving) idle(ctx context.Context, where ...func(int, Pair) string) error {
	return await.Until(ctx, sitting, func() (bool, error) {
		for i, p := range m.o.Pairs {
			for _, at := range where {
				if err := unused(ctx, m.k.Doer, at(i, p), !m.k.Doer.About().Root); err != nil {
					return false, err
				}
			}
		}
		return true, nil
	})
}

// aside brings the copies up to what the server left, and takes the old directories out of its way.
func (m *moving) aside(ctx context.Context) error {
	at, _, err := m.oldNow()
	if err != nil {
		return err
	}
	id, err := m.sameAside()
	if err != nil {
		return err
	}
	if err := m.idle(ctx, at); err != nil {
		return err
	}
	again := int64(0) // bytes that were copied while nobody wrote
	if err := m.mirrors(at, atAside, func(r *mirror.Mirror) error {
		err := m.mountPoints(ctx, r)
		moved, failed := r.Whole(ctx)
		again += moved
		return errors.Join(err, failed)
	}); err != nil {
		return err
	}
	if m.p.Identity == "" {
		if err := m.k.note(ctx, m.c, kindMade, result{N: m.p.N, Got: id, What: strconv.FormatInt(again, 10)}); err != nil {
			return err
		}
	}
	if err := m.idle(ctx, at); err != nil {
		return err
	}
	for i, p := range m.o.Pairs {
		if p.Before != "" && at(i, p) == p.From {
			if err := m.k.Doer.Rename(ctx, p.From, p.Before); err != nil {
				return err
			}
		}
	}
	return m.left(ctx)
}

// left gives the old directories their names again where somebody works in them: a watchdog has started the server after they were seen
// to be idle. It would run on there, listening where it is expected, and what it wrote would be lost. Nobody can come in any more.
func (m *moving) left(ctx context.Context) error {
	for _, p := range m.o.Pairs {
		by, _, err := processes.Using(ctx, m.k.Doer, p.Old)
		if by != "" {
			err = Refuse("pause whatever restarts it, and then try again", "%s was started again while it was being moved, as %s", m.o.On, by)
		}
		if err != nil {
			return errors.Join(err, m.named(ctx, atOld))
		}
	}
	return nil
}

// named gives the old directories their names again where they have others.
func (m *moving) named(ctx context.Context, at func(int, Pair) string) error {
	for i, p := range slices.Backward(m.o.Pairs) {
		if p.Before != "" && at(i, p) == p.Old {
			if err := m.k.Doer.Rename(ctx, p.Old, p.From); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameAside gives who is in the new places, and refuses others than were copied to.
func (m *moving) sameAside() (string, error) {
	now, err := identities(m.o.Pairs, func(p Pair) string { return p.Aside })
	if err == nil && now != m.filled() {
		err = &Refusal{Why: "the filesystems in the new places are not the ones that the data were copied to", What: "mount it there, and continue"}
	}
	return now, err
}

// filled gives the identities of what was copied to.
func (m *moving) filled() string {
	for _, p := range m.c.Acts {
		if p.Act.Move != nil && p.Act.Move.Phase == MoveCopy && p.Act.Move.List == m.o.List {
			return p.Identity
		}
	}
	return ""
}

// give lets the server into its new places.
func (m *moving) give(ctx context.Context) error {
	now, err := identities(m.o.Pairs, func(p Pair) string { return p.At })
	if err != nil {
		return err
	}
	if bare := func(s string) string { return strings.ReplaceAll(s, tree.Mounted, "") }; bare(now) != bare(m.filled()) {
		return &Refusal{Why: "the filesystems mounted in the places of the data are not the ones that they were copied to", What: "undo this change"}
	}
	if err := m.k.note(ctx, m.c, kindMade, result{N: m.p.N, Got: now}); err != nil {
		return err
	}
	for i, p := range slices.Backward(m.o.Pairs) {
		old, err := tree.Open(p.Old)
		if err != nil {
			return err
		}
		e, err := old.Itself()
		old.Close()
		if err != nil {
			return err
		}
		to, err := tree.Open(atPlace(i, p))
		if err == nil {
			err = m.step(ctx, "give", to.Path, func() error { return to.Give(e) })
			to.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
