package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/lab/experiment"
)

// contender is one server of an interleaved block.
type contender struct {
	bench  *bench
	record *experiment.Record
	turns  []measured
}

// interleaved carries out one block in which the servers of all arms are up at
// once. Each is warmed up by itself; then they take turns of seconds, forth and
// back through the arms, and those that wait stand still. The speed of a shared
// machine wanders by a third within a minute or two: trials one after the other
// carry that into the difference, turns hardly do. Bulej et al. (Duet
// Benchmarking, ICPE 2020) compare programs that run at the same time for the
// same reason; servers would then share processors and disk with each other.
func (l *Lab) interleaved(ctx context.Context, x experiment.Experiment, rows []*experiment.Record) (err error) {
	var all []*contender
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.bench.close(context.WithoutCancel(ctx)))
		}
	}()
	places := map[string]int{}
	for _, r := range rows {
		key := experiment.LayoutKey(r.Setup)
		places[key]++
		b, err := l.setUp(ctx, r, places[key])
		if err == nil {
			s := &contender{bench: b, record: r}
			all = append(all, s)
			err = s.warmUp(ctx, x)
		}
		if err := recordFailure(ctx, r, err); err != nil {
			return err
		}
	}
	n, _ := experiment.Turns(x)
	for turn := range n {
		for _, s := range forthAndBack(all, turn) {
			if err := recordFailure(ctx, s.record, s.turn(ctx, x, turn)); err != nil {
				return err
			}
		}
	}
	for _, s := range all {
		if err := recordFailure(ctx, s.record, s.end(ctx, x, all)); err != nil {
			return err
		}
	}
	return nil
}

// recordFailure marks a trial that failed; the others of its block go on. What is
// interrupted is an error.
func recordFailure(ctx context.Context, r *experiment.Record, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	r.Mark(experiment.MarkFailed, "%v", err)
	return nil
}

// forthAndBack gives the order of a turn: what drifts steadily falls out of
// every difference.
func forthAndBack(all []*contender, turn int) []*contender {
	all = slices.Clone(all)
	if turn%2 == 1 {
		slices.Reverse(all)
	}
	return all
}

// warmUp drives a server before its first turn, and halts it.
func (s *contender) warmUp(ctx context.Context, x experiment.Experiment) error {
	if err := s.bench.control.mayHalt(); err != nil {
		return err
	}
	s.bench.later(s.bench.resume) // a server that stands still cannot be asked to end
	s.bench.quiet = true
	s.bench.lab.say(Progress{Trial: s.record.Trial, Doing: "warming up", Of: x.Warmup})
	x.Measure = max(x.Warmup, experiment.Settle)
	if _, err := s.bench.measure(ctx, x, s.record.Trial, ^s.record.Seed, 0); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return s.bench.halt(ctx)
}

// turn drives a server once, and halts it.
func (s *contender) turn(ctx context.Context, x experiment.Experiment, number int) error {
	if s.record.Has(experiment.MarkFailed) {
		return nil
	}
	if err := s.bench.resume(ctx); err != nil {
		return err
	}
	n, each := experiment.Turns(x)
	s.bench.lab.say(Progress{Trial: s.record.Trial, Doing: "measuring", Elapsed: time.Duration(number) * each, Of: time.Duration(n) * each})
	x.Measure = each
	m, err := s.bench.measure(ctx, x, s.record.Trial, s.record.Seed+uint64(number), experiment.Settle)
	if err != nil {
		return fmt.Errorf("turn %d: %w", number+1, err)
	}
	s.turns = append(s.turns, m)
	return s.bench.halt(ctx)
}

// end keeps what a server's turns gave, and looks at what it leaves.
func (s *contender) end(ctx context.Context, x experiment.Experiment, all []*contender) error {
	if s.record.Has(experiment.MarkFailed) {
		return nil
	}
	each := x
	each.Unsteady = true // of one turn nothing is told; of all of them, see below
	keepMerged(each, s.record, s.turns)
	if !x.Unsteady {
		steadyBeside(s, all)
	}
	if err := s.bench.resume(ctx); err != nil {
		return err
	}
	s.bench.finish(ctx, x, s.record)
	return nil
}

// steadyBeside marks a trial whose rate drifts against that of the others: its
// cache fills still, say. What all drift by is the machine's doing.
func steadyBeside(s *contender, all []*contender) {
	var rates []float64
	for turn := range s.turns {
		sum, n := 0.0, 0
		for _, o := range all {
			if turn < len(o.turns) {
				sum, n = sum+o.turns[turn].result.Rate.Value, n+1
			}
		}
		if sum > 0 {
			rates = append(rates, s.turns[turn].result.Rate.Value*float64(n)/sum)
		}
	}
	markDrift(s.record, rates)
}
