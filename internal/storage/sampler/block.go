package sampler

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// maxDevices bounds the devices that are told of: those below servers, then
// whole disks, then others.
const maxDevices = 64

// blocks reads all devices at once.
type blocks []string

func devices(s *stack.Stack) []sample.Source {
	names := chosen(s)
	if len(names) == 0 {
		return nil
	}
	return []sample.Source{sample.Made(nameOf(names), sample.Second, blocks(names).take)}
}

// chosen are the devices that servers' files lie on and, so that somebody else
// at work shows, all others that are no part of one and no memory.
func chosen(s *stack.Stack) []string {
	under := sample.Below(s)
	var mine, disks, rest []string
	for _, b := range s.OfKind("block") {
		switch layer := b.Text("layer"); {
		case under[b.Ref]:
			mine = append(mine, b.Ref.Name)
		case layer == "disk":
			disks = append(disks, b.Ref.Name)
		case !slices.Contains([]string{"partition", "loop", "ram", "zram"}, layer):
			rest = append(rest, b.Ref.Name)
		}
	}
	all := slices.Concat(mine, disks, rest)
	all = all[:min(len(all), maxDevices)]
	slices.Sort(all)
	return all
}

// nameOf names the source by what it reads, so that one that reads others has
// another name.
func nameOf(names []string) string {
	if len(names) <= 6 {
		return "block " + strings.Join(names, " ")
	}
	sum := fnv.New32a()
	for _, n := range names {
		fmt.Fprintln(sum, n)
	}
	return fmt.Sprintf("block %s and %d others (%08x)", names[0], len(names)-1, sum.Sum32())
}

func (names blocks) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	data, err := h.ReadFile(ctx, "/proc/diskstats")
	if err != nil {
		return err
	}
	all := proc.Diskstats(data)
	for _, name := range names {
		of := stack.Ref{Kind: "block", Name: name}
		c, there := all[strings.ReplaceAll(name, "!", "/")] // as sysfs writes it
		if !there {
			b.Gap(of, "it is not in /proc/diskstats: it was taken away", "")
			continue
		}
		setCounters(b, of, c)
		inFlight(ctx, h, b, of)
	}
	return ctx.Err()
}

func setCounters(b *series.Batch, of stack.Ref, c proc.Disk) {
	for _, v := range []struct {
		name  string
		value uint64
	}{
		{"reads", c.Reads}, {"writes", c.Writes}, {"read_bytes", c.ReadBytes}, {"written_bytes", c.WrittenBytes},
		{"read_ms", c.ReadMillis}, {"write_ms", c.WriteMillis}, {"busy_ms", c.BusyMillis}, {"queue_ms", c.QueueMillis},
		{"in_flight", c.InFlight},
	} {
		b.Set(of, v.name, float64(v.value))
	}
	if c.HasDiscards {
		b.Set(of, "discards", float64(c.Discards))
	}
	if c.HasFlushes {
		b.Set(of, "flushes", float64(c.Flushes))
		b.Set(of, "flush_ms", float64(c.FlushMillis))
	}
}

// inFlight reads what is under way, reads and writes apart. A device without
// requests of its own has no such file, or says nothing.
func inFlight(ctx context.Context, h host.Reader, b *series.Batch, of stack.Ref) {
	data, err := h.ReadFile(ctx, "/sys/class/block/"+of.Name+"/inflight")
	if err != nil {
		return
	}
	if reads, writes, ok := parseInflight(data); ok {
		b.Set(of, "reads_in_flight", float64(reads))
		b.Set(of, "writes_in_flight", float64(writes))
	}
}

// parseInflight reads "       0        1".
func parseInflight(data []byte) (reads, writes uint64, ok bool) {
	f := strings.Fields(string(data))
	if len(f) != 2 {
		return 0, 0, false
	}
	reads, err1 := strconv.ParseUint(f[0], 10, 32)
	writes, err2 := strconv.ParseUint(f[1], 10, 32)
	return reads, writes, err1 == nil && err2 == nil
}
