package sampler

import (
	"context"
	"path"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/system/process"
)

// groupTime reads each second what a group had of processors and devices, and
// how long it waited.
type groupTime struct{ group }

// Name implements [sample.Source].
func (g *groupTime) Name() string { return g.name }

// Every implements [sample.Source].
func (g *groupTime) Every() time.Duration { return sample.Second }

// Take implements [sample.Source].
func (g *groupTime) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	if err := g.find(ctx, h); err != nil {
		return b, err
	}
	g.processors(ctx, h, &b)
	g.waits(ctx, h, &b)
	g.counts(ctx, h, &b)
	return b, ctx.Err()
}

// waits reads pressure, which version 1 does not have by group. Who is in no
// group shares that of the host.
func (g *groupTime) waits(ctx context.Context, h host.Reader, b *series.Batch) {
	p, err := g.at("memory")
	switch {
	case err != nil:
		b.Gap(g.of, err.Error(), "", allStalls()...)
	case p.version == 1:
		b.Gap(g.of, "control groups of version 1 have no pressure of their own", "", allStalls()...)
	case p.isRoot():
		b.Gap(g.of, "it is in no control group but the root, whose pressure is the host's", "", allStalls()...)
	default:
		pressure(ctx, h, b, g.of, path.Join(p.dirs[0], "%.pressure"), "the kernel does not account pressure of control groups")
	}
}

// groupState reads every 10 s what is dearer to read or changes seldom.
type groupState struct{ group }

// Name implements [sample.Source].
func (g *groupState) Name() string { return g.name + " memory and limits" }

// Every implements [sample.Source].
func (g *groupState) Every() time.Duration { return sample.Ten }

// Take implements [sample.Source].
func (g *groupState) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	if err := g.find(ctx, h); err != nil {
		return b, err
	}
	g.memory(ctx, h, &b)
	g.deviceLimits(ctx, h, &b)
	return b, ctx.Err()
}

// inGroup are the readings of memory.
var inGroup = []string{"memory_current", "memory_anon", "memory_file", "memory_shmem", "oom_kills"}

func (g *groupState) memory(ctx context.Context, h host.Reader, b *series.Batch) {
	p, err := g.at("memory")
	if err != nil {
		b.Gap(g.of, err.Error(), "", inGroup...)
		return
	}
	current, killed := "memory.current", "memory.events"
	keys := map[string]string{"memory_anon": "anon", "memory_file": "file", "memory_shmem": "shmem"}
	if p.version == 1 {
		current, killed = "memory.usage_in_bytes", "memory.oom_control"
		keys = map[string]string{"memory_anon": "total_rss", "memory_file": "total_cache", "memory_shmem": "total_shmem"}
	} else if p.isRoot() {
		b.Gap(g.of, "it is in no control group but the root, of which the kernel counts no memory", "", inGroup...)
		return
	}
	dir := p.dirs[0]
	if data, ok := read(ctx, h, b, g.of, path.Join(dir, current), "memory_current"); ok {
		if n, ok := process.ParseNumber(data); ok {
			b.Set(g.of, "memory_current", float64(n))
		}
	}
	keyed := func(name string, keys map[string]string) {
		data, ok := read(ctx, h, b, g.of, path.Join(dir, name), names(keys)...)
		for fact, key := range keys {
			if n, found := process.ParseKeyed(data, key); ok && found {
				b.Set(g.of, fact, float64(n))
			}
		}
	}
	keyed("memory.stat", keys)
	keyed(killed, map[string]string{"oom_kills": "oom_kill"})
}

func names(keys map[string]string) (out []string) {
	for name := range keys {
		out = append(out, name)
	}
	return out
}
