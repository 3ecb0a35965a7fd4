package backup

import (
	"context"
	"errors"
	"fmt"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// errLate is the error of an object that is another than this run has sent.
var errLate = errors.New("what a run that was killed had on its way arrived after what this one sent")

// settled reads back what a run before this one may still have had on its way when it was killed: a store can take such an
// object late, in place of the one that was sent since, which is of the same size and sealed anew. What the run before had seen
// arrive is not among them.
func (b *Backup) settled(ctx context.Context, r *running, to *store.Fan, m manifest.Manifest) error {
	return to.Each(ctx, func(s store.Store) error {
		for number, of := range m.Streams {
			unsure := r.unsure(number)
			if unsure == nil {
				continue
			}
			err := stream.Read(ctx, stream.Reading{Store: s, ID: m.ID, Stream: number, Of: of, Workers: b.Workers, Sealed: true, Only: unsure}, nil)
			if _, away := errors.AsType[*store.Trouble](err); err != nil && !away && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", errLate, err)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// unsure tells which chunks of a stream a run before this one may have been sending when it died; nil when there are none. They
// are of the last stream that it noted something of, or the next: those before the last that it noted, for one can stand still while
// others go on, and as many behind it as it sent at once.
func (r *running) unsure(number int) func(chunk int64) bool {
	newest, last := -1, int64(-1)
	for at := range r.sent {
		if at.stream > newest {
			newest, last = at.stream, -1
		}
		if at.stream == newest {
			last = max(last, at.chunk)
		}
	}
	if number != newest {
		last = -1
	}
	if number < newest || number > newest+1 {
		return nil
	}
	atOnce := int64(r.head.Workers)
	return func(chunk int64) bool {
		noted := r.sent[place{number, chunk}].Mark != "" // of one that was about to be replaced nobody knows what is there
		return !noted && chunk <= last+atOnce
	}
}
