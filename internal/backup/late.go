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
var errLate = errors.New("an object that a killed run was still sending arrived after this run's")

// settled reads back the objects that an earlier run may have been sending when it was killed. A store can accept such an object
// late, and put it in place of the one that this run has sent since: that has the same size, but was encrypted anew. Objects whose
// arrival the earlier run has noted are not read.
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

// unsure tells which chunks of a stream an earlier run may have been sending when it died; nil if there are none. They belong to
// the last stream of which it noted anything, or to the next one: any chunk before the last one noted, because one can be slow
// while others overtake it, and as many after that as were sent at once.
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
		noted := r.sent[place{number, chunk}].Mark != "" // without a mark it was about to be replaced: either object may be there
		return !noted && chunk <= last+atOnce
	}
}
