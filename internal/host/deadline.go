package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxStuck bounds the threads left behind in operations that never return.
const maxStuck = 64

// stuckCount counts operations that were left behind and have not returned.
type stuckCount struct{ n atomic.Int32 }

var errManyStuck = errors.New("too many operations hang on this machine")

// within runs f and leaves it behind when the time is over: a read from a
// dead NFS server or a suspended pool cannot be interrupted, only abandoned.
// f must not touch anything its caller still uses.
func within[T any](ctx context.Context, stuck *stuckCount, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if stuck.n.Load() >= maxStuck {
		return none, kindError{text: errManyStuck.Error(), kind: context.DeadlineExceeded}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	type answer struct {
		value T
		err   error
	}
	var left atomic.Bool
	done := make(chan answer, 1)
	go func() {
		value, err := f(ctx)
		done <- answer{value, err}
		if left.Swap(true) {
			stuck.n.Add(-1)
		}
	}()
	defer cancel()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
	}
	stuck.n.Add(1)
	if left.Swap(true) { // it ended just now
		stuck.n.Add(-1)
	}
	return none, ctx.Err()
}

// hungPaths remembers the paths an operation hung on. What lies below one will
// hang as well, and a check that waits its five seconds again for each of a
// dead filesystem's files never ends.
type hungPaths struct {
	mu    sync.Mutex
	names []string
}

// above gives the remembered path that is name or lies above it, or "".
func (h *hungPaths) above(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hung := range h.names {
		if rest, ok := strings.CutPrefix(name, hung); ok && (rest == "" || rest[0] == '/') {
			return hung
		}
	}
	return ""
}

// add remembers a path. Below /proc, /sys and /dev every file stands for
// itself, so one that hangs says nothing of the next.
func (h *hungPaths) add(name string) {
	name = strings.TrimRight(name, "/")
	_, root, _ := splitRoot(name)
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if root == "" && (name == "" || name == kernel || strings.HasPrefix(name, kernel+"/")) {
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.names) < 1000 {
		h.names = append(h.names, name)
	}
}

// onFile runs an operation on a path with the rights that the context asks for,
// within the time for one file, but not
// below a path that hung before. One that hangs is remembered, if single: a
// glob reads many directories, and it is not known which one hung.
func onFile[T any](ctx context.Context, l *Live, name string, single bool, f func(context.Context) (T, error)) (T, error) {
	if hung := l.hung.above(name); hung != "" {
		var none T
		return none, kindError{fmt.Sprintf("%s does not answer", hung), context.DeadlineExceeded}
	}
	started := time.Now()
	value, err := within(ctx, &l.stuck, l.options.FileTime, func(ctx context.Context) (T, error) {
		return withRights(ctx, func() (T, error) { return f(ctx) })
	})
	// A caller in a hurry has not seen it hang.
	if single && errors.Is(err, context.DeadlineExceeded) && time.Since(started) >= min(time.Second, l.options.FileTime) {
		l.hung.add(name)
	}
	return value, err
}
