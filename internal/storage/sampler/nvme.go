package sampler

import (
	"context"
	"errors"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
)

// wearSource reads how worn an NVMe drive is. A drive that does not answer holds
// its command up: each has its own source.
type wearSource struct{ of stack.Ref }

// drives makes the sources of NVMe drives that no hypervisor made up.
func drives(s *stack.Stack) (out []sample.Source) {
	const most = 64
	for _, d := range s.OfKind("block") {
		virtual, known := d.Bool("virtual_disk")
		if d.Text("layer") == "disk" && d.Text("transport") == "nvme" && known && !virtual && len(out) < most {
			out = append(out, wearSource{d.Ref})
		}
	}
	return out
}

// Name implements [sample.Source].
func (w wearSource) Name() string { return "health of " + w.of.Name }

// Every implements [sample.Source].
func (wearSource) Every() time.Duration { return sample.Minute }

// Take implements [sample.Source].
func (w wearSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	hint := ""
	if !h.About().Root {
		hint = "run as root"
	}
	log, _, err := block.ReadHealth(ctx, h, w.of.Name)
	if err != nil {
		if errors.Is(err, host.ErrNoCommand) {
			hint = "install nvme-cli"
		}
		b.Gap(w.of, err.Error(), hint, "nvme_critical_warning", "nvme_spare", "nvme_used", "nvme_media_errors", "nvme_written", "nvme_read", "nvme_temperature")
		return b, nil
	}
	for name, v := range log {
		if n, ok := v.Number(); ok {
			b.Set(w.of, name, n)
		}
	}
	return b, nil
}
