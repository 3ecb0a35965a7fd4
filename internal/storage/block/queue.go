package block

import (
	"context"

	"plumb/internal/stack"
)

// attributes of the queue directory, in the order they are read. The settings
// among them are described in knowledge/knobs/block.yaml.
var attributes = []struct {
	fact, file string
	read       reading
}{
	{"scheduler", "scheduler", chosen},
	{"read_ahead_kb", "read_ahead_kb", integer},
	{"nr_requests", "nr_requests", integer},
	{"rq_affinity", "rq_affinity", integer},
	{"nomerges", "nomerges", integer},
	{"wbt_lat_usec", "wbt_lat_usec", integer},
	{"write_cache", "write_cache", text},
	{"iostats", "iostats", integer},
	{"io_timeout", "io_timeout", integer},
	{"max_sectors_kb", "max_sectors_kb", integer},
	{"rotational", "rotational", truth},
	{"fua", "fua", truth},
	{"zoned", "zoned", text},
	{"discard_max", "discard_max_bytes", integer},
	{"optimal_io", "optimal_io_size", integer},
	{"atomic_write_unit_min", "atomic_write_unit_min_bytes", integer},
	{"atomic_write_unit_max", "atomic_write_unit_max_bytes", integer},
	{"atomic_write_max", "atomic_write_max_bytes", integer},
	{"atomic_write_boundary", "atomic_write_boundary_bytes", integer},
}

// queue reads the settings and abilities of the request queue. A partition has
// none of its own and uses its disk's; only the read-ahead is repeated there,
// because that is asked of the device a filesystem lies on.
func (d *device) queue(ctx context.Context, layer string) {
	if layer == "partition" && parentOf(d.real, d.name) != "" {
		dir := "/sys/class/block/" + parentOf(d.real, d.name) + "/queue/"
		d.setFrom(ctx, "read_ahead_kb", dir+"read_ahead_kb", integer)
		d.sectors(ctx, dir)
		return
	}
	dir := d.dir + "/queue/"
	for _, a := range attributes {
		d.setFrom(ctx, a.fact, dir+a.file, a.read)
	}
	d.sectors(ctx, dir)
	if n, ok := d.thing.Int("discard_max"); ok {
		d.thing.Set("discard", stack.Bool(n > 0), dir+"discard_max_bytes")
	}
}

func (d *device) sectors(ctx context.Context, dir string) {
	d.setFrom(ctx, "logical_sector", dir+"logical_block_size", integer)
	d.setFrom(ctx, "physical_sector", dir+"physical_block_size", integer)
}

// geometry reads the size and, for a partition, whether it begins on a
// boundary of the sectors below.
func (d *device) geometry(ctx context.Context, layer string) {
	d.set(ctx, "size", "size", times(512)) // always in units of 512, whatever the sector size
	if layer == "partition" {
		d.set(ctx, "start", "start", times(512))
	}
	d.set(ctx, "alignment_offset", "alignment_offset", integer)
}
