package files

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plumb/internal/load"
	"plumb/internal/stats"
)

// Sweep is the same workload at rising numbers of threads.
type Sweep struct {
	Config IOConfig
	Levels []Level
	Fits   []Fit // one for each kind of operation that was done
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

// Fit is the capacity curve of one kind of operation.
type Fit struct {
	Op       string
	Capacity *stats.Capacity
	Err      error // why there is none
}

// SweepThreads are the levels when none are given.
func SweepThreads() []int { return []int{1, 4, 16, 64, 256} }

// RunSweep runs each level for the time that o gives. What was measured
// before an error or an interruption is given with it. The function done,
// which may be nil, is called after each level.
func RunSweep(ctx context.Context, c IOConfig, threads []int, o load.Options, done func(Level)) (*Sweep, error) {
	if c.Mode == SeqWrite {
		return nil, fmt.Errorf("%s writes its files once: it cannot be swept over threads; %s can", SeqWrite, SeqRewrite)
	}
	threads = slices.Compact(slices.Sorted(slices.Values(threads)))
	s := &Sweep{Config: c}
	for _, n := range threads {
		o.Threads = n
		res, err := runOnce(ctx, c, o)
		if err != nil {
			return s, fmt.Errorf("at %d threads: %w", n, err)
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

// fit fits a capacity curve to each kind of operation. In a mixed load all
// kinds share the threads, so their curves are those of the mixture.
func (s *Sweep) fit() {
	points, names := map[string][]stats.Point{}, []string{}
	for _, l := range s.Levels {
		for _, o := range l.Ops {
			if len(points[o.Name]) == 0 {
				names = append(names, o.Name)
			}
			p := stats.Point{Threads: l.Threads, Rate: o.Rate, Response: o.Summary.Mean.Seconds()}
			if r := l.Result.Rate; r.Value > 0 && r.N > 1 {
				p.Error = (r.High - r.Low) / 2 / r.Value
			}
			points[o.Name] = append(points[o.Name], p)
		}
	}
	for _, name := range names {
		c, err := stats.FitCapacity(points[name])
		s.Fits = append(s.Fits, Fit{name, c, err})
	}
}
