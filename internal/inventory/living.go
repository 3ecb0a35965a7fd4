package inventory

import (
	"context"
	"fmt"
	"strings"
)

// living are the things of all books that are meant to live.
type living []Thing

// living reads them. A book that cannot be read keeps what is in it, too: it
// is not swept.
func (b Books) living(ctx context.Context, files []string) (all living) {
	for _, file := range files {
		if b.believable(ctx, file) != nil {
			continue
		}
		p, err := b.read(ctx, file)
		if err != nil {
			continue
		}
		for _, e := range p.entries {
			if e.lives() {
				all = append(all, e.Thing)
			}
		}
	}
	return all
}

// within finds a living thing that is another one, or is in it: a file in a
// directory, a dataset below another or in a pool.
func (l living) within(t Thing) (Thing, bool) {
	for _, at := range l {
		if at.Kind == t.Kind && at.Name == t.Name || holdsOthers(t.Kind, at.Kind) && strings.HasPrefix(at.Name, t.Name+"/") {
			return at, true
		}
	}
	return Thing{}, false
}

// holdsOthers tells whether things of one kind can be in one of another, by name.
func holdsOthers(outer, inner string) bool {
	switch outer {
	case Pool, Dataset:
		return inner == Dataset
	case Tree, Mount, Group:
		return inner == File || inner == Tree || inner == Mount || inner == Group
	}
	return false
}

// keepFor keeps a thing for one that lives. The same thing, adopted, is no more
// this book's.
func keepFor(ctx context.Context, e Entry, at Thing, note noting) error {
	if at.Kind == e.Thing.Kind && at.Name == e.Thing.Name {
		return note(ctx, kindLeft, result{N: e.N, Why: "it was adopted"})
	}
	return fmt.Errorf("take %s %s away: %w: %s %s is in it and to be kept", e.Thing.Kind, e.Thing.Name, errInUse, at.Kind, at.Name)
}
