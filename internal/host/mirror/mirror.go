package mirror

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/host/tree"
)

// Mirror makes one directory like the other.
type Mirror struct {
	Done     *List // which may be of several mirrors
	N        int   // the number of this one of them
	Old, New *tree.Root
	Back     bool // from the new to the old one
	Live     bool // others write in what is copied from
	// Of patterns (path.Match), for names in Old itself: only these are copied; those are left out on both sides, with all below.
	Only, Skip []string

	first map[uint64]string // name of each file that has several
	there map[string]tree.Entry
	also  map[string]bool // names that were made in New, which Only does not know
}

// ErrChanged tells that a file of the source was written to.
var ErrChanged = errors.New("it was written to while it was being copied")

// racy is how long before a pass a file must have been left alone to be trusted not to have
// been written to in the same tick of the clock in which it was copied.
const racy = 2 * time.Second

func (m *Mirror) sides() (from, to *tree.Root) {
	if m.Back {
		return m.New, m.Old
	}
	return m.Old, m.New
}

// skips tells what of a side is left out.
func (m *Mirror) skips(r *tree.Root) func(string) bool {
	return func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return paths.Matches(m.Skip, top) || r == m.Old && len(m.Only) > 0 && !paths.Matches(m.Only, top) && !m.also[top]
	}
}

func (m *Mirror) list(ctx context.Context, r *tree.Root, live bool) ([]tree.Entry, error) {
	return r.List(ctx, tree.Options{Skip: m.skips(r), Live: live})
}

// key names a file in the list.
func (m *Mirror) key(name string) string { return strconv.Itoa(m.N) + ":" + name }

// stamps gives those of a record in the direction of the mirror.
func (m *Mirror) stamps(c copied) (from, to stamp) {
	if m.Back {
		return c.new, c.old
	}
	return c.old, c.new
}

func (m *Mirror) copied(sum string, from, to stamp) copied {
	if m.Back {
		from, to = to, from
	}
	return copied{sum, from, to}
}

// step changes a name on the side that is written to.
func (m *Mirror) step(ctx context.Context, op, name string, do func() error) error {
	_, to := m.sides()
	return host.Step(ctx, m.Done.do, op, to.Path+"/"+name, do)
}

// Pass copies what is not the same on both sides, removes what has vanished, and gives how many bytes it copied.
func (m *Mirror) Pass(ctx context.Context) (moved int64, list []tree.Entry, err error) {
	from, to := m.sides()
	sure := time.Now().Add(-racy).UnixNano()
	if m.Live { // what a file's memory map was used to write shows in its times only from then on
		if err := from.Sync(); err != nil {
			return 0, nil, err
		}
	}
	if list, err = m.list(ctx, from, m.Live); err != nil {
		return 0, nil, err
	}
	m.adopt(list)
	there, err := m.list(ctx, to, false)
	if err != nil {
		return 0, nil, err
	}
	m.there, m.first = map[string]tree.Entry{}, map[uint64]string{}
	for _, e := range there {
		m.there[e.Name] = e
	}
	if err := m.vanish(ctx, list, there); err != nil {
		return 0, nil, err
	}
	for _, e := range list {
		n, err := m.entry(ctx, e, sure)
		if m.Live && (errors.Is(err, fs.ErrNotExist) || tree.Replaced(err)) {
			continue
		}
		if err != nil {
			return moved, list, err
		}
		moved += n
	}
	return moved, list, m.Done.flush(ctx, to)
}

// adopt takes what was made in New while it was in use for what is copied back, whatever Only says.
func (m *Mirror) adopt(list []tree.Entry) {
	m.also = map[string]bool{}
	if !m.Back || len(m.Only) == 0 {
		return
	}
	for _, e := range list {
		top, _, _ := strings.Cut(e.Name, "/")
		m.also[top] = top != "."
	}
}

// vanish removes what is no more on the side that is copied. With a directory all below it is gone, which the list need not name
// next: "db-old" comes between "db" and "db/a".
func (m *Mirror) vanish(ctx context.Context, list, there []tree.Entry) error {
	_, to := m.sides()
	is := map[string]byte{}
	for _, e := range list {
		is[e.Name] = e.Kind
	}
	for _, e := range there {
		if _, still := m.there[e.Name]; !still || is[e.Name] == e.Kind {
			continue
		}
		if err := m.step(ctx, "remove", e.Name, func() error { return to.Remove(e.Name) }); err != nil {
			return err
		}
		for name := range m.there {
			if paths.Within(name, e.Name) {
				delete(m.there, name)
			}
		}
	}
	return nil
}

// entry makes one name what it is on the other side.
func (m *Mirror) entry(ctx context.Context, e tree.Entry, sure int64) (moved int64, err error) {
	from, to := m.sides()
	now, is := m.there[e.Name]
	switch {
	case e.Name == ".":
		return 0, nil
	case e.Kind == 'd' && is:
		return 0, nil
	case e.Kind == 'd':
		return 0, m.step(ctx, "make directory", e.Name, func() error { return to.MakeDir(e.Name) })
	case e.Kind == 'l' && is && now.Link == e.Link && now.UID == e.UID && now.GID == e.GID && sameTime(now.Modified, e.Modified):
		return 0, nil
	case e.Kind == 'l':
		return 0, m.step(ctx, "link", e.Name, func() error { return to.MakeLink(e) })
	}
	if of, linked := m.first[e.Inode]; linked && e.Names > 1 {
		return 0, m.name(ctx, of, e, now, is)
	}
	m.first[e.Inode] = e.Name
	c, known := m.Done.recs[m.key(e.Name)]
	was, made := m.stamps(c)
	if known && is && was == stampOf(e) && made == stampOf(now) {
		return 0, nil
	}
	var sum string
	err = m.step(ctx, "copy", e.Name, func() error { sum, now, err = to.Copy(ctx, from, e); return err })
	if err != nil {
		return 0, err
	}
	m.there[e.Name] = now
	stood := stampOf(e)
	if m.Live && e.Changed > sure {
		stood.changed = 0 // it is copied again
	}
	return e.Size, m.Done.note(ctx, to, m.key(e.Name), m.copied(sum, stood, stampOf(now)), e.Size)
}

// name gives a file that was copied another of its names.
func (m *Mirror) name(ctx context.Context, of string, e, now tree.Entry, is bool) error {
	_, to := m.sides()
	if first := m.there[of]; is && first.Inode == now.Inode {
		return nil
	}
	err := m.step(ctx, "link", e.Name, func() error { return to.MakeName(of, e.Name) })
	if err == nil {
		m.there[e.Name] = m.there[of]
	}
	return err
}

// Whole makes the one side like the other, gives directories what is theirs, and compares all
// of both. Nobody may write on either. It gives how many bytes it copied.
func (m *Mirror) Whole(ctx context.Context) (moved int64, err error) {
	moved, list, err := m.Pass(ctx)
	if err != nil {
		return moved, err
	}
	_, to := m.sides()
	have, err := m.list(ctx, to, false)
	if err != nil {
		return moved, err
	}
	is := map[string]tree.Entry{}
	for _, e := range have {
		is[e.Name] = e
	}
	for _, e := range slices.Backward(list) {
		if e.Kind != 'd' || e.Name == "." || unlike(e, is[e.Name]) == "" {
			continue
		}
		if err := m.step(ctx, "give", e.Name, func() error { return to.Give(e) }); err != nil {
			return moved, err
		}
	}
	if err := to.Sync(); err != nil {
		return moved, err
	}
	return moved, m.compare(ctx, list)
}
