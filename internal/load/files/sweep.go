package files

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plumb/internal/load"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// Sweep is the same workload at rising numbers of threads.
type Sweep struct {
	Config IOConfig
	Levels []Level
	Fit    Fit
}

// Level is one number of threads.
type Level struct {
	Threads int
	Result  *IOResult
	Ops     []LevelOp // those that were done
}

// LevelOp is one kind of operation at one level. Slowdowns are against the
// lowest level, which ought to be one thread.
type LevelOp struct {
	Name     string
	Rate     float64 // a second
	Summary  load.Summary
	Slower   float64 // mean latency by the lowest level's
	Slower50 float64 // medians
	Slower99 float64 // 99th percentiles
	Parallel float64 // operations that effectively progress at once: threads by Slower
}

// Fit is the capacity curve of the operations.
type Fit struct {
	Op       string // the kind, when there is only one; "all" otherwise
	Capacity *stats.Capacity
	Err      error // why there is none
}

// RunSweep runs each level for the time that o gives. What was measured
// before an error or an interruption is given with it. The function done,
// which may be nil, is called after each level.
func RunSweep(ctx context.Context, c IOConfig, threads []int, o load.Options, done func(Level)) (*Sweep, error) {
	if c.Mode == SeqWrite {
		return nil, fmt.Errorf("%s writes its files only once, so it cannot run with several numbers of threads; %s can", SeqWrite, SeqRewrite)
	}
	threads = slices.Compact(slices.Sorted(slices.Values(threads)))
	s := &Sweep{Config: c}
	for _, n := range threads {
		o.Threads = n
		res, err := runOnce(ctx, c, o)
		if err != nil {
			return s, fmt.Errorf("at %s: %w", units.Count(n, "thread"), err)
		}
		s.Levels = append(s.Levels, s.level(n, res))
		if done != nil {
			done(s.Levels[len(s.Levels)-1])
		}
		if ctx.Err() != nil || res.Ended != nil {
			break
		}
	}
	s.fit()
	return s, ctx.Err()
}

func runOnce(ctx context.Context, c IOConfig, o load.Options) (res *IOResult, err error) {
	w, err := NewIO(c)
	if err != nil {
		return nil, err
	}
	res, err = Run(ctx, w, o)
	if closing := w.Close(); err == nil {
		err = closing
	}
	return res, err
}

// level compares a result with the lowest level.
func (s *Sweep) level(threads int, res *IOResult) Level {
	l := Level{Threads: threads, Result: res}
	for _, op := range res.Ops {
		if op.Done == 0 {
			continue
		}
		o := LevelOp{Name: op.Name, Rate: float64(op.Done) / res.Measured.Seconds(), Summary: op.Response.Summary(), Slower: 1, Slower50: 1, Slower99: 1}
		if base, ok := s.lowest(op.Name); ok {
			o.Slower = ratio(o.Summary.Mean, base.Summary.Mean)
			o.Slower50, o.Slower99 = ratio(o.Summary.P50, base.Summary.P50), ratio(o.Summary.P99, base.Summary.P99)
		}
		if o.Slower > 0 {
			o.Parallel = float64(threads) / o.Slower
		}
		l.Ops = append(l.Ops, o)
	}
	return l
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

func (s *Sweep) lowest(op string) (LevelOp, bool) {
	for _, l := range s.Levels {
		for _, o := range l.Ops {
			if o.Name == op {
				return o, true
			}
		}
	}
	return LevelOp{}, false
}

// fit fits a capacity curve to the requests. In a mixed load all kinds share
// the threads, so there is one curve, of all together.
func (s *Sweep) fit() {
	if len(s.Levels) == 0 {
		return
	}
	name := "all"
	if ops := s.Levels[0].Ops; len(ops) == 1 {
		name = ops[0].Name
	}
	var points []stats.Point
	for _, l := range s.Levels {
		r := l.Result.Rate
		p := stats.Point{Threads: l.Threads, Rate: r.Value, Response: l.Result.Total.Response.Summary().Mean.Seconds()}
		if r.Value > 0 && r.N > 1 {
			p.Error = (r.High - r.Low) / 2 / r.Value
		}
		points = append(points, p)
	}
	c, err := stats.FitCapacity(points)
	s.Fit = Fit{name, c, err}
}
