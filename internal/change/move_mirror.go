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
	"time"

	"plumb/internal/host/tree"
)

// mirror makes one directory of a pair like the other.
type mirror struct {
	*moving
	pair     Pair
	n        int // of the pair
	old, new *tree.Root
	back     bool // from the new to the old one
	live     bool // others write in what is copied from

	first map[uint64]string // name of each file that has several
	there map[string]tree.Entry
	also  map[string]bool // names that the server made in a place of Only
}

// errChanged tells that a file of the source was written to.
var errChanged = errors.New("it was written to while it was copied")

// racy is how long before a pass a file must have been left alone to be trusted not to have
// been written to in the same tick of the clock in which it was copied.
const racy = 2 * time.Second

func (m *mirror) sides() (from, to *tree.Root) {
	if m.back {
		return m.new, m.old
	}
	return m.old, m.new
}

// skips tells what of a side is none of the pair's.
func (m *mirror) skips(r *tree.Root) func(string) bool {
	return func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return matches(m.pair.Skip, top) || r == m.old && len(m.pair.Only) > 0 && !matches(m.pair.Only, top) && !m.also[top]
	}
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

func (m *mirror) list(ctx context.Context, r *tree.Root, live bool) ([]tree.Entry, error) {
	return r.List(ctx, tree.Options{Skip: m.skips(r), Live: live})
}

func (m *mirror) key(name string) string { return strconv.Itoa(m.n) + ":" + name }

// stamps gives those of a record in the direction of the mirror.
func (m *mirror) stamps(c copied) (from, to stamp) {
	if m.back {
		return c.new, c.old
	}
	return c.old, c.new
}

func (m *mirror) copied(sum string, from, to stamp) copied {
	if m.back {
		from, to = to, from
	}
	return copied{sum, from, to}
}

// pass copies what is not the same on both sides, removes what has vanished, and gives how many bytes it copied.
func (m *mirror) pass(ctx context.Context) (moved int64, list []tree.Entry, err error) {
	from, to := m.sides()
	sure := time.Now().Add(-racy).UnixNano()
	if m.live { // what a file's memory map was used to write shows in its times only from then on
		if err := from.Sync(); err != nil {
			return 0, nil, err
		}
	}
	if list, err = m.list(ctx, from, m.live); err != nil {
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
		if m.live && (errors.Is(err, fs.ErrNotExist) || tree.Replaced(err)) {
			continue
		}
		if err != nil {
			return moved, list, err
		}
		moved += n
	}
	return moved, list, m.flush(ctx, to)
}

// adopt takes what a server made in a place of Only for the pair's.
func (m *mirror) adopt(list []tree.Entry) {
	m.also = map[string]bool{}
	if !m.back || len(m.pair.Only) == 0 {
		return
	}
	for _, e := range list {
		top, _, _ := strings.Cut(e.Name, "/")
		m.also[top] = top != "."
	}
}

// vanish removes what is there no more.
func (m *mirror) vanish(ctx context.Context, list, there []tree.Entry) error {
	_, to := m.sides()
	is := map[string]byte{}
	for _, e := range list {
		is[e.Name] = e.Kind
	}
	gone := ""
	for _, e := range there {
		if is[e.Name] == e.Kind || gone != "" && below(e.Name, gone) {
			continue
		}
		gone = e.Name
		if err := m.step(ctx, "remove", to.Path+"/"+e.Name, func() error { return to.Remove(e.Name) }); err != nil {
			return err
		}
		for name := range m.there {
			if below(name, gone) {
				delete(m.there, name)
			}
		}
	}
	return nil
}

// entry makes one name what it is on the other side.
func (m *mirror) entry(ctx context.Context, e tree.Entry, sure int64) (moved int64, err error) {
	from, to := m.sides()
	now, is := m.there[e.Name]
	switch {
	case e.Name == ".":
		return 0, nil
	case e.Kind == 'd' && is:
		return 0, nil
	case e.Kind == 'd':
		return 0, m.step(ctx, "make directory", to.Path+"/"+e.Name, func() error { return to.MakeDir(e.Name) })
	case e.Kind == 'l' && is && now.Link == e.Link && now.UID == e.UID && now.GID == e.GID && sameTime(now.Modified, e.Modified):
		return 0, nil
	case e.Kind == 'l':
		return 0, m.step(ctx, "link", to.Path+"/"+e.Name, func() error { return to.MakeLink(e) })
	}
	if of, linked := m.first[e.Inode]; linked && e.Names > 1 {
		return 0, m.name(ctx, of, e, now, is)
	}
	m.first[e.Inode] = e.Name
	c, known := m.recs[m.key(e.Name)]
	was, made := m.stamps(c)
	if known && is && was == stampOf(e) && made == stampOf(now) {
		return 0, nil
	}
	var sum string
	err = m.step(ctx, "copy", to.Path+"/"+e.Name, func() error { sum, now, err = to.Copy(ctx, from, e); return err })
	if err != nil {
		return 0, err
	}
	m.there[e.Name] = now
	stood := stampOf(e)
	if m.live && e.Changed > sure {
		stood.changed = 0 // it is copied again
	}
	return e.Size, m.note(ctx, to, m.key(e.Name), m.copied(sum, stood, stampOf(now)), e.Size)
}

// name gives a file that was copied another of its names.
func (m *mirror) name(ctx context.Context, of string, e, now tree.Entry, is bool) error {
	_, to := m.sides()
	if first := m.there[of]; is && first.Inode == now.Inode {
		return nil
	}
	err := m.step(ctx, "link", to.Path+"/"+e.Name, func() error { return to.MakeName(of, e.Name) })
	if err == nil {
		m.there[e.Name] = m.there[of]
	}
	return err
}

// whole makes the one side like the other, gives directories what is theirs, and compares all
// of both. Nobody may write on either.
func (m *mirror) whole(ctx context.Context) error {
	moved, list, err := m.pass(ctx)
	if err != nil {
		return err
	}
	m.again += moved
	_, to := m.sides()
	have, err := m.list(ctx, to, false)
	if err != nil {
		return err
	}
	is := map[string]tree.Entry{}
	for _, e := range have {
		is[e.Name] = e
	}
	for _, e := range slices.Backward(list) {
		if e.Kind != 'd' || e.Name == "." || unlike(e, is[e.Name]) == "" {
			continue
		}
		if err := m.step(ctx, "give", to.Path+"/"+e.Name, func() error { return to.Give(e) }); err != nil {
			return err
		}
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return m.compare(ctx, list)
}

// compare looks at both sides once more: nobody wrote meanwhile, nothing is missing, each file has been read back,
// and all that is known of one is so of the other.
func (m *mirror) compare(ctx context.Context, list []tree.Entry) error {
	from, to := m.sides()
	again, err := m.list(ctx, from, false)
	if err != nil {
		return err
	}
	have, err := m.list(ctx, to, false)
	if err != nil {
		return err
	}
	if name := differ(list, again, func(a, b tree.Entry) string {
		if stampOf(a) != stampOf(b) || a.Inode != b.Inode {
			return "it"
		}
		return ""
	}); name != "" {
		return fmt.Errorf("%s/%s: %w", from.Path, name, errChanged)
	}
	if name := differ(list, have, unlike); name != "" {
		return fmt.Errorf("%s/%s is not like that in %s", to.Path, name, from.Path)
	}
	first, fresh, newer := map[uint64]int{}, recent(list), recent(have)
	for i, e := range list {
		if e.Kind != 'f' {
			continue
		}
		of := i
		if e.Names > 1 {
			if at, linked := first[e.Inode]; linked {
				of = at
			} else {
				first[e.Inode] = i
			}
		}
		c, known := m.recs[m.key(list[of].Name)]
		was, made := m.stamps(c)
		same := of != i || was == stampOf(e) // what is noted below of the first name says less of a file of just now
		if !known || !same || have[of].Inode != have[i].Inode || made.size != have[i].Size || !sameTime(made.modified, have[i].Modified) {
			return fmt.Errorf("%s/%s was not read back as it is in %s", to.Path, e.Name, from.Path)
		}
		if now := m.copied(c.sum, settled(e, fresh), settled(have[i], newer)); m.recs[m.key(e.Name)] != now { // giving it a second name has changed its time
			if err := m.note(ctx, to, m.key(e.Name), now, 0); err != nil {
				return err
			}
		}
	}
	return m.flush(ctx, to)
}

// sameTime tells whether two times are the same, as far as a filesystem keeps them: some keep whole seconds.
func sameTime(a, b int64) bool {
	const second = int64(time.Second)
	return a == b || (a%second == 0 || b%second == 0) && a/second == b/second
}

// recent is the time from which on a file may have been written to, or is soon, in the tick of the clock in which it was
// looked at. A filesystem that keeps whole seconds is told by its times.
func recent(list []tree.Entry) int64 {
	tick := 50 * time.Millisecond
	if !slices.ContainsFunc(list, func(e tree.Entry) bool { return e.Changed%int64(time.Second) != 0 }) {
		tick = racy
	}
	return time.Now().Add(-tick).UnixNano()
}

// settled gives what shows that a file was written to. One of just now is copied again, whatever it shows.
func settled(e tree.Entry, recent int64) stamp {
	s := stampOf(e)
	if e.Changed > recent {
		s.changed = 0
	}
	return s
}

// differ gives the first name in which two lists differ.
func differ(a, b []tree.Entry, unlike func(a, b tree.Entry) string) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			return a[i].Name
		case i >= len(a):
			return b[i].Name
		case a[i].Name == ".":
		case a[i].Name != b[i].Name:
			return min(a[i].Name, b[i].Name)
		}
		if what := unlike(a[i], b[i]); what != "" && a[i].Name != "." {
			return a[i].Name + " (" + what + ")"
		}
	}
	return ""
}

// unlike says in what two entries differ.
func unlike(a, b tree.Entry) string {
	switch {
	case a.Kind != b.Kind:
		return "what it is"
	case a.Size != b.Size:
		return "its size"
	case a.Kind != 'l' && a.Mode != b.Mode:
		return "its mode"
	case a.UID != b.UID || a.GID != b.GID:
		return "its owner"
	case !sameTime(a.Modified, b.Modified):
		return "its time"
	case a.Link != b.Link:
		return "where it leads"
	}
	for name, value := range a.Extended {
		if now, is := b.Extended[name]; !is || now != value {
			return "its attribute " + name
		}
	}
	for name := range b.Extended {
		if _, is := a.Extended[name]; !is && !strings.HasPrefix(name, "security.") {
			return "its attribute " + name
		}
	}
	return ""
}
