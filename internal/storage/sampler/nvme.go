package sampler

import (
	"context"
	"maps"
	"slices"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
)

// drive reads the health log of an NVMe drive: wear and bytes written.
type drive struct{ of stack.Ref }

func drives(s *stack.Stack) []sample.Source {
	var out []sample.Source
	for _, b := range s.OfKind("block") {
		virtual, _ := b.Bool("virtual_disk")
		if b.Text("layer") == "disk" && b.Text("transport") == "nvme" && !virtual && len(out) < maxOfKind {
			out = append(out, sample.Made("nvme "+b.Ref.Name, sample.Minute, drive{b.Ref}.take))
		}
	}
	return out
}

func (d drive) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	if !h.About().Root {
		b.Gap(d.of, "only root can read the health log of a drive", "run as root")
		return nil
	}
	log, _, err := block.AskHealth(ctx, h, d.of.Name)
	if err != nil {
		b.Gap(d.of, err.Error(), hintFor(err), "nvme_written", "nvme_read", "nvme_used")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(log)) {
		if n, ok := log[name].Number(); ok {
			b.Set(d.of, name, n)
		}
	}
	return nil
}
