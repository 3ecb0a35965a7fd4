package backup

import (
	"context"
	"path"
	"time"

	"plumb/internal/host"
)

// resumable is how long the record of a killed run is kept. After that it cannot be resumed: prune has given it up.
const resumable = 30 * 24 * time.Hour

// forget removes the records of killed runs that nobody resumed. Each point is a job of its own, so the backup of the next night
// resumes none of them. The record of a run that is alive is locked.
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
		unlock, err := host.LockOnce(ctx, b.Do, file+".lock")
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
