package backup

import (
	"context"
	"sync"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// beside is the store that a copy reads from. If the target already has an object of this name and size, that one is read and
// compared. It can differ all the same: a run that backed up to both stores may have encrypted the chunk once more. Then the
// object is taken from the source.
type beside struct {
	store.Store // the source
	to          store.Store
	locked      func(ctx context.Context, name string) bool // locks an object of the target for as long as is asked for, and tells whether that worked

	mu  sync.Mutex
	has map[string]manifest.Chunk // what the target may have
}

// mayHave notes an object that the target has, of this name and size.
func (b *beside) mayHave(name string, of manifest.Chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.has[name] = of
}

// Get implements store.Store.
func (b *beside) Get(ctx context.Context, name string, into []byte) (object []byte, tag string, err error) {
	b.mu.Lock()
	of, is := b.has[name]
	b.mu.Unlock()
	if is {
		if object, err := stream.Fetch(ctx, b.to, name, of, into); err == nil && b.locked(ctx, name) {
			return object, "", nil
		}
	}
	b.had(name)
	return b.Store.Get(ctx, name, into)
}

// had tells whether the target may have an object, and forgets it: only the first call can say yes.
func (b *beside) had(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, is := b.has[name]
	delete(b.has, name)
	return is
}
