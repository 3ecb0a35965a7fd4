package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/host/tree"
)

// compare looks at both sides once more: nobody wrote meanwhile, nothing is missing, each file has been read back,
// and all that is known of one is so of the other.
func (m *Mirror) compare(ctx context.Context, list []tree.Entry) error {
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
		return fmt.Errorf("%s/%s: %w", from.Path, name, ErrChanged)
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
		c, known := m.Done.recs[m.key(list[of].Name)]
		was, made := m.stamps(c)
		same := of != i || was == stampOf(e) // what is noted below of the first name says less of a file of just now
		if !known || !same || have[of].Inode != have[i].Inode || made.size != have[i].Size || !sameTime(made.modified, have[i].Modified) {
			return fmt.Errorf("%s/%s was not read back as it is in %s", to.Path, e.Name, from.Path)
		}
		if now := m.copied(c.sum, settled(e, fresh), settled(have[i], newer)); m.Done.recs[m.key(e.Name)] != now { // giving it a second name has changed its time
			if err := m.Done.note(ctx, to, m.key(e.Name), now, 0); err != nil {
				return err
			}
		}
	}
	return m.Done.flush(ctx, to)
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
