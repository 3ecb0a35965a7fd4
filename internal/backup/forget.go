package backup

import (
	"context"
	"path"
	"time"

	"plumb/internal/host"
)

// resumable is longer than anybody goes on with a run that was killed: a prune has given it up by then.
const resumable = 30 * 24 * time.Hour

// forget removes what is written down of killed runs that nobody went on with: each point is a job of its own, so that the next night's
// backup goes on with none of them. What runs now is locked.
func (b *Backup) forget(ctx context.Context) error {
	files, err := b.Do.Glob(ctx, path.Join(host.Verbatim(b.Dir), "running", "*.log"))
	if err != nil {
		return err
	}
	for _, file := range files {
		st, err := b.Do.Stat(ctx, file)
		if err != nil || b.Now().Sub(st.Modified) < resumable {
			continue
		}
		unlock, err := b.Do.Lock(ctx, file+".lock")
		if err != nil {
			continue
		}
		err = b.Do.Remove(ctx, file)
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
