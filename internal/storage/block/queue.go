package block

import (
	"context"

	"plumb/internal/stack"
)

// queue reads the settings and abilities of the request queue. A partition has
// none of its own and uses its disk's; only the read-ahead is repeated there,
// because that is asked of the device a filesystem lies on.
func (d *device) queue(ctx context.Context, layer string) {
	if layer == "partition" && parentOf(d.real, d.name) != "" {
		dir := "/sys/class/block/" + parentOf(d.real, d.name) + "/queue/"
		d.setFrom(ctx, "read_ahead_kb", dir+"read_ahead_kb")
		d.setFrom(ctx, "logical_sector", dir+"logical_block_size")
		d.setFrom(ctx, "physical_sector", dir+"physical_block_size")
		return
	}
	d.group(ctx, d.dir+"/", "queue/")
	if n, ok := d.thing.Int("discard_max"); ok {
		d.thing.Set("discard", stack.Bool(n > 0), d.dir+"/queue/discard_max_bytes")
	}
}

// geometry reads the size and, for a partition, whether it begins on a
// boundary of the sectors below.
func (d *device) geometry(ctx context.Context, layer string) {
	d.setSectors(ctx, "size")
	if layer == "partition" {
		d.setSectors(ctx, "start")
	}
	d.set(ctx, "alignment_offset", "alignment_offset")
}
