package s3

import (
	"context"
	"fmt"
	"io"
	"time"

	"plumb/internal/backup/store"
	"plumb/internal/units"
)

// quietTime is how long nothing may move. There is no limit for a whole request: on a slow line it
// would cut off what goes well.
const quietTime = 30 * time.Second

// still is a request that is ended unless something moves in time.
type still struct {
	timer *time.Timer
	time  time.Duration
}

// moving ends a request when nothing has moved for too long.
func (b *Bucket) moving(ctx context.Context) (limited context.Context, s *still, end func()) {
	limited, cancel := context.WithCancelCause(ctx)
	s = &still{time: b.quiet}
	s.timer = time.AfterFunc(s.time, func() {
		cancel(&store.Trouble{Err: fmt.Errorf("nothing moved for %s", units.Span(s.time))})
	})
	return limited, s, func() {
		s.timer.Stop()
		cancel(nil)
	}
}

// moved is told that something has moved.
func (s *still) moved() { s.timer.Reset(s.time) }

// cause gives why a request was ended, where that was ours.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watched is what moves as it is read.
type watched struct {
	io.Reader
	of *still
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.of.moved()
	}
	return n, err
}
