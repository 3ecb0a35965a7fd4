package backup

import (
	"context"
	"time"

	"plumb/internal/zfs"
)

// estimateTime is how long it may take to find out how much there will be: nothing is sent meanwhile.
const estimateTime = time.Minute

// estimated is roughly how many bytes the streams of a job will have, as their producers say; 0 if one does not say. It is only
// shown to people.
func (b *Backup) estimated(ctx context.Context, job Job) (bytes int64) {
	if b.Doing == nil {
		return 0
	}
	ctx, end := context.WithTimeout(ctx, estimateTime)
	defer end()
	for _, s := range job.Sources {
		n, known := int64(len(s.Text)), s.Text != nil
		if s.Estimate != nil {
			out, err := b.Do.Run(ctx, s.Estimate...)
			n, known = zfs.ParseEstimate(out)
			known = known && err == nil
		}
		if !known {
			return 0
		}
		bytes += n
	}
	return bytes
}
