package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
)

// mostDevices bounds how many devices are read each second.
const mostDevices = 256

// devices lists the devices that are read: partitions are counted with their
// disk. Those that servers lie on come first.
func devices(s *stack.Stack) (names []string) {
	all := s.OfKind("block")
	for _, used := range []bool{true, false} {
		for _, d := range all {
			if layer := d.Text("layer"); layer == "partition" || layer == "ram" {
				continue
			}
			if (len(d.List("servers")) > 0) == used {
				names = append(names, d.Ref.Name)
			}
		}
	}
	return names[:min(len(names), mostDevices)]
}

// blockSource reads block devices.
type blockSource struct {
	name    string
	devices []string
}

// Name implements [sample.Source].
func (s blockSource) Name() string { return s.name }

// Every implements [sample.Source].
func (blockSource) Every() time.Duration { return sample.Second }

// Take implements [sample.Source].
func (s blockSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	const src = "/proc/diskstats"
	data, err := h.ReadFile(ctx, src)
	if err != nil {
		return b, err
	}
	all := block.ParseDiskstats(data)
	for _, name := range s.devices {
		of := stack.Ref{Kind: "block", Name: name}
		c, ok := all[strings.ReplaceAll(name, "!", "/")] // as sysfs writes it
		if !ok {
			b.Gap(of, src+" has no line for it: it is gone", "")
			continue
		}
		counted(&b, of, c)
		if err := inFlight(ctx, h, &b, of); err != nil {
			b.Gap(of, err.Error(), "", "reads_in_flight", "writes_in_flight")
		}
	}
	return b, ctx.Err()
}

// sector is the unit of /proc/diskstats in bytes.
const sector = 512

func counted(b *series.Batch, of stack.Ref, c block.Counters) {
	b.Set(of, "reads", float64(c.Reads))
	b.Set(of, "writes", float64(c.Writes))
	b.Set(of, "read_bytes", float64(c.ReadSectors)*sector)
	b.Set(of, "written_bytes", float64(c.WriteSectors)*sector)
	b.Set(of, "read_ms", float64(c.ReadMillis))
	b.Set(of, "write_ms", float64(c.WriteMillis))
	b.Set(of, "busy_ms", float64(c.BusyMillis))
	b.Set(of, "queue_ms", float64(c.QueueMillis))
	b.Set(of, "in_flight", float64(c.InFlight))
	if c.HasDiscards {
		b.Set(of, "discards", float64(c.Discards))
	}
	if c.HasFlushes {
		b.Set(of, "flushes", float64(c.Flushes))
		b.Set(of, "flush_ms", float64(c.FlushMillis))
	}
}

// inFlight reads what is under way. A device that has gone since says nothing:
// the next reading will tell.
func inFlight(ctx context.Context, h host.Reader, b *series.Batch, of stack.Ref) error {
	name := "/sys/class/block/" + of.Name + "/inflight"
	data, err := h.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	reads, writes, ok := parseInFlight(data)
	if !ok {
		return fmt.Errorf("%s is not understood", name)
	}
	b.Set(of, "reads_in_flight", float64(reads))
	b.Set(of, "writes_in_flight", float64(writes))
	return nil
}

func parseInFlight(data []byte) (reads, writes int64, ok bool) {
	f := strings.Fields(string(data))
	if len(f) != 2 {
		return 0, 0, false
	}
	reads, err1 := strconv.ParseInt(f[0], 10, 64)
	writes, err2 := strconv.ParseInt(f[1], 10, 64)
	return reads, writes, err1 == nil && err2 == nil && reads >= 0 && writes >= 0
}
