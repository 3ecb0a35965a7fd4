package load

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a workload made of a function.
type fake struct {
	ops              []string
	keying, thinking time.Duration
	do               func(n int64, t *Tally) error
	open             func(worker int) error

	mu     sync.Mutex
	done   map[int64]int
	opened atomic.Int64
	closed chan struct{}
	start  time.Time
	cancel func() // interrupts the run
}

func newFake(do func(n int64, t *Tally) error) *fake {
	return &fake{ops: []string{"op"}, do: do, done: map[int64]int{}, closed: make(chan struct{}, 1000)}
}

func (f *fake) Name() string  { return "fake" }
func (f *fake) Ops() []string { return f.ops }

func (f *fake) Open(_ context.Context, worker int) (Work, error) {
	f.opened.Add(1)
	if f.open != nil {
		if err := f.open(worker); err != nil {
			return nil, err
		}
	}
	return fakeWork{f}, nil
}

type fakeWork struct{ *fake }

func (w fakeWork) Do(n int64, t *Tally) error {
	err := w.do(n, t)
	w.mu.Lock()
	w.fake.done[n]++
	w.mu.Unlock()
	return err
}

func (w fakeWork) Close() error {
	select {
	case w.closed <- struct{}{}:
	default:
	}
	return nil
}

// inFakeTime runs a workload where time passes only when everybody waits.
func inFakeTime(t *testing.T, f *fake, o Options, check func(*Result, error)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		f.cancel = cancel
		f.start = time.Now()
		f.closed = make(chan struct{}, 1000)
		var w Workload = f
		if f.keying > 0 {
			w = thinking{f}
		}
		r, err := newRun(w, o)
		if err != nil {
			check(nil, err)
			return
		}
		r.sleeper = func() (func(time.Duration), func()) { return time.Sleep, func() {} }
		defer r.closeWorkers()
		if err := r.open(ctx); err != nil {
			check(nil, err)
			return
		}
		check(r.drive(ctx), nil)
	})
}

func takes(d time.Duration) func(int64, *Tally) error {
	return func(int64, *Tally) error { time.Sleep(d); return nil }
}

// thinking is a fake with people at terminals.
type thinking struct{ *fake }

func (f thinking) Think(int64) (time.Duration, time.Duration) { return f.keying, f.fake.thinking }
