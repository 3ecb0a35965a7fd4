package backup

import (
	"context"
	"sync"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// beside is where a copy reads from. An object that the target has, of the right name and size, is read there: a run that was to back
// up to both can have left one that is another, because it was sealed anew. It is taken from the source where it is.
type beside struct {
	store.Store // the source
	to          store.Store
	locked      func(ctx context.Context, name string) bool // has an object of the target kept for as long as it is to be, if it can

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

// had tells once whether the target has an object, as far as that is known.
func (b *beside) had(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, is := b.has[name]
	delete(b.has, name)
	return is
}
