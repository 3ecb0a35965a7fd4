package watch

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/stack"
	"plumb/internal/view/metrics"
)

// seen passes what is seen to an exporter, and has each picture of the host checked.
type seen struct {
	*metrics.Exporter
	look *looker
}

// Picture implements watch.Sink.
func (s seen) Picture(at time.Time, st *stack.Stack) {
	s.Exporter.Picture(at, st)
	s.look.at(st)
}

// looker checks a picture of the host, and reads what is written down about points and backups, beside the sampling and
// once at a time.
type looker struct {
	ctx   context.Context // the command's
	e     *metrics.Exporter
	shell *shell.Shell
	with  feed.Adapters

	mu   sync.Mutex
	busy bool
	done sync.WaitGroup
}

// at starts to look at a picture, unless the one before is still being looked at.
func (l *looker) at(s *stack.Stack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return
	}
	l.busy = true
	l.done.Go(func() {
		defer func() { l.mu.Lock(); l.busy = false; l.mu.Unlock() }()
		l.check(s)
		feed.Kept(l.e, l.with.Storages)
		debug.FreeOSMemory()
	})
}

func (l *looker) check(s *stack.Stack) {
	found, err := l.with.Findings(l.ctx, l.shell, s)
	if err != nil {
		if l.ctx.Err() == nil {
			l.shell.Warn("check", err)
		}
		return
	}
	l.e.Checked(found)
}
