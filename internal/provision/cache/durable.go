package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load/files"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// Durable is how long a write of 4 KiB to a log took until it was durable, in seconds: one after the other, as commits are.
type Durable struct {
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Writes int64   `json:"writes"`
}

// Write makes durable writes in a directory for a while.
func Write(ctx context.Context, dir string, d time.Duration) (*Durable, error) {
	row := files.FsyncRow{Name: "log", By: files.ByFdatasync, Append: true, Threads: 1, Shared: true, WriteBytes: 4096}
	r, err := files.Fsync(ctx, files.FsyncConfig{Dir: dir, Time: d, Size: 4 << 20, Rows: []files.FsyncRow{row}}, nil)
	if err == nil && len(r.Rows) == 1 {
		err = r.Rows[0].Err
	}
	if err != nil {
		return nil, fmt.Errorf("time durable writes in %s: %w", dir, files.WithHint(err, dir))
	}
	if len(r.Rows) != 1 || r.Rows[0].Summary.N == 0 {
		return nil, hint.With(fmt.Errorf("no write in %s was durable within %s", dir, units.Span(d)), "make the turns longer with --every")
	}
	s := r.Rows[0].Summary
	return &Durable{Median: s.P50.Seconds(), P99: s.P99.Seconds(), Writes: s.N}, nil
}

// Turn is a time with the device in its pool, or without it.
type Turn struct {
	With bool
	Durable
}

// Order gives the turns of a comparison: with, without, without, with, so often. What drifts steadily falls out of the difference.
func Order(times int) (with []bool) {
	for range times {
		with = append(with, true, false, false, true)
	}
	return with
}

// Compare tells how much longer a durable write takes with the device than without, of neighbours in the order.
func Compare(turns []Turn) stats.Comparison {
	var pairs []stats.Paired
	for i := 0; i+1 < len(turns); i += 2 {
		with, without := turns[i], turns[i+1]
		if without.With {
			with, without = without, with
		}
		pairs = append(pairs, stats.Paired{Block: i / 2, A: with.Median, B: without.Median})
	}
	return stats.Compare(pairs)
}

// Uses wants a directory in which durable writes go to the log devices of a pool.
func Uses(ctx context.Context, h host.Reader, s *stack.Stack, pool, dir string) error {
	st, err := h.Stat(ctx, dir)
	if err != nil {
		return err
	}
	mounts, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return err
	}
	m, ok := observe.Holding(mounts, st.Resolved)
	if !ok || !strings.HasSuffix(m.Type, "zfs") || zfs.PoolOf(m.Source) != pool {
		return hint.With(fmt.Errorf("%s is not in the pool %s", dir, pool), "name a directory of a dataset of it")
	}
	t := s.Find(stack.Ref{Kind: "dataset", Name: m.Source})
	if t == nil {
		return fmt.Errorf("the dataset %s was not seen", m.Source)
	}
	switch {
	case t.Text("sync") == "disabled":
		return errors.New("sync of " + m.Source + " is disabled: no write there is durable, with a log device or without")
	case t.Text("logbias") == "throughput":
		return errors.New("logbias of " + m.Source + " is throughput: its writes do not go to a log device")
	}
	return nil
}
