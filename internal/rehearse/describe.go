package rehearse

import (
	"fmt"
	"slices"

	"plumb/internal/lab/experiment"
	"plumb/internal/units"
)

// describe tells what the sandbox is like, and how it differs from the real thing.
func (d *draft) describe() []string {
	out := slices.Clone(d.remarks)
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	l := d.load()
	d.describeSizes(add)
	load := l.Script + " of sysbench"
	if l.Kind == experiment.TPCC {
		load = "a load like TPC-C's"
	}
	add("The load is %s with %s, not the statements of the real clients.", load, units.Count(l.Threads, "session"))
	pace, filled := d.pace(), "from a cold cache"
	if pace.fill > 0 {
		filled = fmt.Sprintf("and %s without the volume's limit, which fill the cache", units.Span(pace.fill))
	}
	add("A trial lasts %s after %s of warm-up %s: effects that take longer, such as rare checkpoints, are seen only in part or not at all.", units.Span(pace.measure), units.Span(pace.warmup), filled)
	if d.design(d.allArms(d.tried)) == experiment.Interleaved {
		add("The compared servers take turns of about %s, while the others are suspended: whatever makes this machine faster or slower for a while affects all of them alike.", units.Span(experiment.Turn))
	}
	if group := d.group(); group != nil {
		if cpus, ok := group.Number("cpu_limit"); ok && cpus > 0 {
			add("The server may use %.3g CPUs; the sandbox may use all.", cpus)
		}
	}
	return append(out, d.excluded...)
}

// describeSizes tells of memory and data, here and there.
func (d *draft) describeSizes(add func(format string, args ...any)) {
	z := d.size
	if d.want.Like != nil { // it is like nothing but itself
		add("It has %s of memory, and %s of data.", units.Bytes(z.memory), units.Bytes(z.data))
		return
	}
	memory := fmt.Sprintf("It has %s of memory", units.Bytes(z.memory))
	switch {
	case z.realMemory == 0:
		memory += "; how much the server may take is not known"
	case z.realMemory > z.memory+z.memory/50:
		memory += fmt.Sprintf(", the server %s", units.Bytes(z.realMemory))
	default:
		memory += ", as the server"
	}
	data := fmt.Sprintf("%s of data", units.Bytes(z.data))
	switch {
	case z.realData >= leastData && z.realData-z.data < z.data/50:
		data += ", as the server"
	case z.realData >= leastData:
		data += fmt.Sprintf(", the server %s", units.Bytes(z.realData))
	case z.realData > 0:
		data += "; the server holds hardly any"
	default:
		data += "; how much the server holds is not known"
	}
	add("%s, and %s.", memory, data)
	if z.scale < 1 {
		add("Caches whose size is a share of memory are scaled to %s of their size in all arms, so that they have the same proportion to the data as the real ones.", units.Percent(z.scale))
	} else if z.realMemory > z.memory+z.memory/50 {
		add("That is enough for its caches and data, so all sizes are the real ones.")
	}
}
