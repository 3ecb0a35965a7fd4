package sampler

import (
	"context"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	zfscmd "plumb/internal/zfs"
)

// scanSource reads whether a pool is scrubbed or resilvered. zpool waits while a
// pool is suspended: each pool has its own source, so that one holds up no other.
type scanSource struct {
	pool  stack.Ref
	tools zfscmd.Tools
}

// Name implements [sample.Source].
func (s scanSource) Name() string { return "scan of " + s.pool.Name }

// Every implements [sample.Source].
func (scanSource) Every() time.Duration { return sample.Ten }

// Take implements [sample.Source].
func (s scanSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	text, err := h.Output(ctx, s.tools.Status(s.pool.Name)...)
	if err != nil {
		return b, err
	}
	for _, st := range zfscmd.ParseStatus(text) {
		if st.Pool != s.pool.Name {
			continue
		}
		if !st.ScanRead {
			b.Gap(s.pool, "the line of zpool status about the last scan was not understood", "", "scanning")
			return b, nil
		}
		running := 0.0
		if strings.HasSuffix(st.ScanWord(), "ing") {
			running = 1
		}
		b.Set(s.pool, "scanning", running)
		return b, nil
	}
	b.Gap(s.pool, "zpool status does not show it: it was exported", "", "scanning")
	return b, nil
}

// spaceSource reads the space of all pools.
type spaceSource struct{ tools zfscmd.Tools }

// Name implements [sample.Source].
func (s spaceSource) Name() string { return "space of pools" }

// Every implements [sample.Source].
func (spaceSource) Every() time.Duration { return sample.Minute }

// Take implements [sample.Source].
func (s spaceSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	text, err := h.Output(ctx, s.tools.Space()...)
	if err != nil {
		return b, err
	}
	for _, row := range zfscmd.ParseRows(text, 8) {
		of := stack.Ref{Kind: "pool", Name: row[0]}
		for i, name := range []string{"allocated", "free", "capacity", "fragmentation"} {
			if name == "fragmentation" && s.tools.Fuse {
				continue
			}
			if n, ok := zfscmd.ParseSize(strings.TrimSuffix(row[i+2], "%")); ok {
				b.Set(of, name, float64(n))
			}
		}
	}
	return b, nil
}
