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
var quietTime = 30 * time.Second // but for tests

// quiet ends a request when nothing has moved for too long. What is read through watch moves.
func quiet(ctx context.Context) (limited context.Context, watch func(io.Reader) io.Reader, end func()) {
	limited, timer, end := still(ctx)
	return limited, func(r io.Reader) io.Reader { return &watched{r, timer} }, end
}

// still ends a request unless its timer is set anew in time.
func still(ctx context.Context) (limited context.Context, timer *time.Timer, end func()) {
	limited, cancel := context.WithCancelCause(ctx)
	timer = time.AfterFunc(quietTime, func() {
		cancel(&store.Trouble{Err: fmt.Errorf("nothing moved for %s", units.Span(quietTime))})
	})
	return limited, timer, func() {
		timer.Stop()
		cancel(nil)
	}
}

// cause gives why a request was ended, where that was ours.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

type watched struct {
	io.Reader
	timer *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.timer.Reset(quietTime)
	}
	return n, err
}
