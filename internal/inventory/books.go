package inventory

import (
	"context"
	"path"
	"time"

	"plumb/internal/host"
)

// Books are all books of a directory: those of runs that live, and of dead ones.
type Books struct {
	Do        host.Doer
	Kinds     Kinds // of what is made and removed
	Directory string
}

const ending = ".book"

func (b Books) files(ctx context.Context) ([]string, error) {
	return b.Do.Glob(ctx, path.Join(host.Verbatim(b.Directory), "*"+ending))
}

// doorTime is how long another may be opening or looking for books.
const doorTime = 10 * time.Second

// doorway makes this process the only one that opens, locks or removes books.
func (b Books) doorway(ctx context.Context) (release func(), err error) {
	return host.LockWithin(ctx, b.Do, path.Join(b.Directory, "lock"), doorTime)
}
