package load

import (
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if got < want-within || got > want+within {
		t.Errorf("%s = %g, want %g ± %g", what, got, want, within)
	}
}

func TestClosedLoopCountsWhatEnded(t *testing.T) {
	f := newFake(takes(10 * time.Millisecond))
	inFakeTime(t, f, Options{Threads: 4, Time: 20 * time.Second}, func(res *Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		near(t, "rate", res.Rate.Value, 400, 1)
		near(t, "p99 in ms", res.Total.Response.Summary().P99.Seconds()*1000, 10, 0.05)
		if len(res.Series) != 20 && len(res.Series) != 21 {
			t.Errorf("%d lines for 20 s", len(res.Series))
		}
		if !res.Steady.Reached {
			t.Errorf("a constant rate is not steady: %+v", res.Steady)
		}
		for _, m := range res.Marks {
			t.Errorf("marked %v", m)
		}
	})
}

func TestSameOperationsForAnyNumberOfWorkers(t *testing.T) {
	for _, threads := range []int{1, 4, 64} {
		f := newFake(takes(time.Millisecond))
		inFakeTime(t, f, Options{Threads: threads, Events: 1000}, func(res *Result, err error) {
			if err != nil || res.Total.Done != 1000 {
				t.Fatalf("%d threads: %v, %+v", threads, err, res)
			}
		})
		want := map[int64]int{}
		for n := range int64(1000) {
			want[n] = 1
		}
		if !maps.Equal(f.done, want) {
			t.Errorf("%d threads did not do the operations 0 to 999 once each", threads)
		}
	}
}

// A server that stands still for one second in every ten.
func stalls(f *fake) {
	f.do = func(int64, *Tally) error {
		if at := time.Since(f.start) % (10 * time.Second); at >= 9*time.Second {
			time.Sleep(10*time.Second - at)
		}
		time.Sleep(time.Millisecond)
		return nil
	}
}

func TestStallShowsInResponseNotInService(t *testing.T) {
	for name, pace := range map[string]Pacer{"fixed": Fixed(200), "poisson": Poisson(200, 7)} {
		f := newFake(nil)
		stalls(f)
		inFakeTime(t, f, Options{Threads: 4, Time: time.Minute, Pace: pace}, func(res *Result, err error) {
			if err != nil {
				t.Fatal(err)
			}
			response, service := res.Total.Response.Summary(), res.Total.Service.Summary()
			if response.P99 < 850*time.Millisecond || response.P99 > 1100*time.Millisecond {
				t.Errorf("%s: response p99 = %s, want about 1 s", name, response.P99)
			}
			if service.P99 > 5*time.Millisecond {
				t.Errorf("%s: service p99 = %s, want about 1 ms", name, service.P99)
			}
			if res.Open.Saturated {
				t.Errorf("%s: %d waiting: a stall is no saturation", name, res.Open.Waiting)
			}
			near(t, name+": offered", res.Open.Offered, 200, 10)
		})
	}
}

func TestSaturationIsAResult(t *testing.T) {
	f := newFake(takes(10 * time.Millisecond))
	inFakeTime(t, f, Options{Threads: 2, Time: 20 * time.Second, Pace: Fixed(500)}, func(res *Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		near(t, "served", res.Open.Served, 200, 2)
		near(t, "offered", res.Open.Offered, 500, 2)
		near(t, "waiting", float64(res.Open.Waiting), 6000, 50)
		if !res.Open.Saturated || !marked(res, MarkSaturated) {
			t.Errorf("not saturated: %+v", res.Open)
		}
	})
}

func TestWarmUpIsLeftOut(t *testing.T) {
	var f *fake
	f = newFake(func(_ int64, tally *Tally) error {
		tally.Reads++
		if time.Since(f.start) < 5*time.Second {
			time.Sleep(90 * time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
		return nil
	})
	inFakeTime(t, f, Options{Threads: 1, Time: 15 * time.Second, Warmup: 5 * time.Second}, func(res *Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		near(t, "max in ms", res.Total.Response.Summary().Max.Seconds()*1000, 10, 0.1)
		near(t, "rate", res.Rate.Value, 100, 0.5)
		near(t, "reads", float64(res.Total.Reads), 1500, 2)
		if len(warmup(res.Series)) != 5 || res.Series[0].Reads == 0 {
			t.Errorf("warm-up has %d lines: %+v", len(warmup(res.Series)), res.Series[0])
		}
	})
}

func TestBacklogOfWarmUpDoesNotCount(t *testing.T) {
	var f *fake
	f = newFake(func(int64, *Tally) error {
		if time.Since(f.start) < 5*time.Second {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		return nil
	})
	inFakeTime(t, f, Options{Threads: 1, Time: 15 * time.Second, Warmup: 10 * time.Second, Pace: Fixed(100)}, func(res *Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		near(t, "done", float64(res.Total.Done), 1500, 2)
		near(t, "offered", res.Open.Offered, 100, 0.2)
		near(t, "p999 in ms", res.Total.Response.Summary().P999.Seconds()*1000, 1, 0.1)
	})
}

func TestWarmUpUntilSteady(t *testing.T) {
	var slow, never *fake
	slow = newFake(func(int64, *Tally) error {
		time.Sleep(max(10*time.Millisecond, 100*time.Millisecond-time.Since(slow.start)/200))
		return nil
	})
	rule := SteadyRule{Window: 5 * time.Second, Range: 0.2, Slope: 0.1, Limit: time.Minute}
	inFakeTime(t, slow, Options{Threads: 1, Time: 20 * time.Second, Until: rule}, func(res *Result, err error) {
		if err != nil || res.Warmup < 18*time.Second || res.Warmup > 30*time.Second {
			t.Errorf("steady after %s (%v), want 18 s to 30 s", res.Warmup, err)
		}
	})
	never = newFake(func(n int64, _ *Tally) error {
		time.Sleep(time.Duration(1+(time.Since(never.start)/time.Second)%3) * 10 * time.Millisecond)
		return nil
	})
	inFakeTime(t, never, Options{Threads: 1, Time: 20 * time.Second, Until: rule}, func(res *Result, err error) {
		if err != nil || res.Warmup != time.Minute || !marked(res, MarkNotSteady) || res.Steady.Reached {
			t.Errorf("warm-up %s, steady %+v, marks %v, %v", res.Warmup, res.Steady, res.Marks, err)
		}
	})
}

func marked(res *Result, kind string) bool {
	for _, m := range res.Marks {
		if m.Kind == kind {
			return true
		}
	}
	return false
}

func TestRetriesAndFailuresAreCountedApart(t *testing.T) {
	var tries atomic.Int64
	f := newFake(func(n int64, tally *Tally) error {
		time.Sleep(10 * time.Millisecond)
		switch {
		case n%10 == 1 && tries.Add(1)%2 == 1: // fails once
			return &Failure{Class: Retry, Code: "1213"}
		case n%10 == 2: // always fails
			return &Failure{Class: Retry, Code: "1205"}
		case n%10 == 3:
			tally.RolledBack = true
		}
		return nil
	})
	inFakeTime(t, f, Options{Threads: 1, Events: 1000, Retries: 3}, func(res *Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		got := res.Total
		if got.Done != 800 || got.Retried != 100+300 || got.Failed != 100 || got.RolledBack != 100 {
			t.Errorf("done %d retried %d failed %d rolled back %d", got.Done, got.Retried, got.Failed, got.RolledBack)
		}
		near(t, "longest with its retry, ms", got.Response.Summary().Max.Seconds()*1000, 20, 0.1)
		if got.Response.TotalCount() != 900 {
			t.Errorf("%d latencies, want those of the 900 that succeeded", got.Response.TotalCount())
		}
		if len(res.Errors) != 2 || res.Errors[0].Code != "1205" || res.Errors[0].N != 400 || res.Errors[1].N != 100 {
			t.Errorf("errors %+v", res.Errors)
		}
		if !marked(res, MarkErrors) {
			t.Error("failures are not marked")
		}
	})
}

func TestFatalFailureEndsTheRun(t *testing.T) {
	f := newFake(func(n int64, _ *Tally) error {
		time.Sleep(10 * time.Millisecond)
		if n == 500 {
			return &Failure{Class: Fatal, Code: "1146", Message: "no such table", Doing: "SELECT 1"}
		}
		return nil
	})
	inFakeTime(t, f, Options{Threads: 4, Time: time.Minute}, func(res *Result, err error) {
		if err != nil || res.Ended == nil || !strings.Contains(res.Ended.Error(), "no such table") {
			t.Fatalf("ended %v, %v", res.Ended, err)
		}
		near(t, "measured seconds", res.Measured.Seconds(), 1.26, 0.1)
	})
}

func TestLostSessionIsOpenedAgain(t *testing.T) {
	f := newFake(func(n int64, _ *Tally) error {
		time.Sleep(10 * time.Millisecond)
		if n == 500 {
			return &Failure{Class: Lost, Message: "server has gone away"}
		}
		return nil
	})
	inFakeTime(t, f, Options{Threads: 4, Time: 15 * time.Second}, func(res *Result, err error) {
		if err != nil || res.Ended != nil || f.opened.Load() != 5 || !marked(res, MarkLost) {
			t.Fatalf("ended %v, opened %d, marks %v, %v", res.Ended, f.opened.Load(), res.Marks, err)
		}
	})
}

func TestServerThatWentEndsTheRunWithWhatWasMeasured(t *testing.T) {
	gone := errors.New("connection refused")
	var down atomic.Bool
	f := newFake(func(n int64, _ *Tally) error {
		time.Sleep(10 * time.Millisecond)
		if n >= 500 {
			down.Store(true)
			return &Failure{Class: Lost, Message: "server has gone away"}
		}
		return nil
	})
	f.open = func(int) error {
		if down.Load() {
			return gone
		}
		return nil
	}
	inFakeTime(t, f, Options{Threads: 4, Time: time.Hour, Reconnect: 5 * time.Second}, func(res *Result, err error) {
		if err != nil || res.Ended == nil || !marked(res, MarkLost) || res.Total.Done != 500 {
			t.Fatalf("ended %v, done %d, marks %v, %v", res.Ended, res.Total.Done, res.Marks, err)
		}
		near(t, "measured seconds", res.Measured.Seconds(), 6.5, 1.5)
	})
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	f := newFake(takes(10 * time.Millisecond))
	f.do = func(n int64, _ *Tally) error {
		time.Sleep(10 * time.Millisecond)
		if time.Since(f.start) > 12*time.Second {
			f.cancel()
		}
		return nil
	}
	inFakeTime(t, f, Options{Threads: 2, Time: time.Hour, OnSecond: func(Second) {}}, func(res *Result, err error) {
		if err != nil || !marked(res, MarkInterrupted) {
			t.Fatalf("marks %v, %v", res.Marks, err)
		}
		near(t, "done", float64(res.Total.Done), 2400, 10)
	})
}

func TestHangingServerIsLeft(t *testing.T) {
	f := newFake(nil)
	f.do = func(n int64, _ *Tally) error {
		if n == 100 {
			<-f.closed // hangs until its session is closed
			return &Failure{Class: Lost, Message: "closed"}
		}
		time.Sleep(10 * time.Millisecond)
		return nil
	}
	inFakeTime(t, f, Options{Threads: 2, Time: 15 * time.Second, Grace: 3 * time.Second}, func(res *Result, err error) {
		if err != nil || !marked(res, MarkStuck) {
			t.Fatalf("marks %v, %v", res.Marks, err)
		}
		near(t, "measured seconds", res.Measured.Seconds(), 15, 0.1)
	})
}

// The last operation of each worker meets a deadlock after the end. One that
// meets them for ever is ended by closing its session.
func TestTheLastOperationIsTriedAgain(t *testing.T) {
	f := newFake(nil)
	var met atomic.Int64
	f.do = func(n int64, _ *Tally) error {
		time.Sleep(70 * time.Millisecond)
		if time.Since(f.start) > 15*time.Second && met.Add(1) <= 2 {
			return &Failure{Class: Retry, Code: "1020"}
		}
		return nil
	}
	inFakeTime(t, f, Options{Threads: 2, Time: 15 * time.Second, Grace: 3 * time.Second, Retries: 100}, func(res *Result, err error) {
		if err != nil || res.Total.Failed != 0 || res.Total.Retried == 0 {
			t.Fatalf("%d failed, %d were tried again, %v", res.Total.Failed, res.Total.Retried, err)
		}
	})
	f = newFake(nil)
	f.do = func(n int64, _ *Tally) error {
		time.Sleep(70 * time.Millisecond)
		if time.Since(f.start) > 15*time.Second {
			return &Failure{Class: Retry, Code: "1213", Message: "Deadlock found"}
		}
		return nil
	}
	inFakeTime(t, f, Options{Threads: 2, Time: 15 * time.Second, Grace: 3 * time.Second, Retries: math.MaxInt32}, func(res *Result, err error) {
		said := slices.ContainsFunc(res.Marks, func(m Mark) bool { return m.Kind == MarkErrors && strings.Contains(m.Text, "Deadlock found") })
		if err != nil || res.Total.Failed != 2 || !marked(res, MarkStuck) || !said {
			t.Fatalf("%d failed, marks %v, %v", res.Total.Failed, res.Marks, err)
		}
	})
}

func TestClockThatJumpsIsMarked(t *testing.T) {
	start := time.Now()
	c := clocks{wall: start, read: func() time.Time { return start.Add(7 * time.Second) }}
	c.compare(7 * time.Second)
	if c.jumped != 0 {
		t.Errorf("jumped %s without a jump", c.jumped)
	}
	c.compare(3 * time.Second)
	if c.jumped != 4*time.Second {
		t.Errorf("jumped %s, want 4s", c.jumped)
	}
	c.compare(3 * time.Second)
	if c.jumped != 4*time.Second {
		t.Errorf("the largest jump is forgotten: %s", c.jumped)
	}
}

func TestOpenErrorsStopBeforeTheStart(t *testing.T) {
	f := newFake(takes(time.Millisecond))
	f.open = func(worker int) error {
		if worker == 3 {
			return errors.New("too many connections")
		}
		return nil
	}
	inFakeTime(t, f, Options{Threads: 8, Time: time.Second}, func(res *Result, err error) {
		if res != nil || err == nil || !strings.Contains(err.Error(), "worker 4 of 8: too many connections") {
			t.Errorf("%v, %v", res, err)
		}
	})
	for _, o := range []Options{{Threads: 0, Time: 1}, {Threads: 1}} {
		if _, err := Run(t.Context(), f, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestTerminalsThinkOutsideTheResponse(t *testing.T) {
	f := newFake(takes(10 * time.Millisecond))
	f.keying, f.thinking = 70*time.Millisecond, 20*time.Millisecond
	inFakeTime(t, f, Options{Threads: 3, Time: 20 * time.Second}, func(res *Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		near(t, "rate", res.Rate.Value, 30, 1)
		near(t, "p99 in ms", res.Total.Response.Summary().P99.Seconds()*1000, 10, 0.05)
		for n := range int64(300) { // terminal n mod 3 does its operations in order
			if f.done[n] != 1 {
				t.Fatalf("operation %d was done %d times", n, f.done[n])
			}
		}
	})
}

func TestNothingIsAllocatedPerOperation(t *testing.T) {
	f := noop{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := Run(t.Context(), f, Options{Threads: 2, Events: 200_000})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if perOp := float64(after.Mallocs-before.Mallocs) / float64(res.Total.Done); perOp > 0.01 {
		t.Errorf("%.4f allocations an operation", perOp)
	}
}

type noop struct{}

func (noop) Name() string                            { return "noop" }
func (noop) Ops() []string                           { return []string{"noop"} }
func (noop) Open(context.Context, int) (Work, error) { return noop{}, nil }
func (noop) Do(n int64, t *Tally) error              { return nil }
func (noop) Close() error                            { return nil }

func BenchmarkEngine(b *testing.B) {
	b.ReportAllocs()
	if _, err := Run(b.Context(), noop{}, Options{Threads: 2, Events: int64(b.N)}); err != nil {
		b.Fatal(err)
	}
}
