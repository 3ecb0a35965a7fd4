package lab

import (
	"context"

	"plumb/internal/host/self"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
)

// counting reads what each layer has done before and after a load.
type counting struct {
	bench   *bench
	ticks   func() self.Ticks // of the machine
	before  map[string]float64
	machine self.Ticks
	begun   bool
}

func (b *bench) counting() *counting { return &counting{bench: b, ticks: self.Machine} }

// begin takes the first reading; a second call does nothing.
func (c *counting) begin(ctx context.Context) {
	if !c.begun {
		c.begun, c.before, c.machine = true, c.bench.counters(ctx), c.ticks()
	}
}

// counters merges what the server, its control group and the volume say.
// What is not known is missing.
func (b *bench) counters(ctx context.Context) map[string]float64 {
	all := b.layout.volume.Counters(ctx)
	if all == nil {
		all = map[string]float64{}
	}
	if cpu, known := b.control.cpu(ctx); known {
		all["server CPU"] = cpu.Seconds()
	}
	if b.server == nil {
		return all
	}
	a, err := b.server.load.Admin(ctx)
	if err != nil {
		return all
	}
	defer a.Close()
	counters, err := b.layout.engine.Counters(ctx, a)
	if err != nil {
		return all
	}
	for name, n := range counters {
		all[name] = n
	}
	return all
}

// perOp says how counters become costs.
var perOp = []struct{ counter, layer, name, unit, from string }{
	{"server CPU", "server", "CPU", "us/op", "its control group"},
	{"server written", "server", "written", "B/op", "the server's own counters"},
	{"server redo written", "server", "redo written", "B/op", "the server's own counters"},
	{"server binlog written", "server", "binlog written", "B/op", "the server's own counters"},
	{"server read", "server", "read", "B/op", "the server's own counters"},
	{"server fsyncs", "server", "fsyncs", "1/op", "the server's own counters"},
	{"server redo fsyncs", "server", "redo fsyncs", "1/op", "the server's own counters"},
	{"device written", "device", "written", "B/op", "/proc/diskstats"},
	{"device read", "device", "read", "B/op", "/proc/diskstats"},
	{"device requests", "device", "requests", "1/op", "the block layer, as a limit counts them"},
	{"device flushes", "device", "flushes", "1/op", "/proc/diskstats"},
}

// levels are states of the volume after the trial.
var levels = []struct{ counter, name, unit, from string }{
	{"space used", "used", "B", "the filesystem"},
	{"compression ratio", "compression", "ratio", "the filesystem"},
}

// stolen gives which part of the processors' time others were given since
// begin; nil when that is not known.
func (c *counting) stolen() *float64 { return c.ticks().StolenSince(c.machine) }

// end takes the second reading and gives the costs of each operation.
func (c *counting) end(ctx context.Context, res *load.Result) (all []experiment.Cost) {
	after := c.bench.counters(ctx)
	ops := float64(res.Total.Done)
	if res.Client.PerOp > 0 {
		all = append(all, experiment.Cost{Layer: "client", Name: "CPU", Unit: "us/op", Value: res.Client.PerOp.Seconds() * 1e6, From: "getrusage of the generator"})
	}
	for _, k := range perOp {
		by, known := grown(c.before, after, k.counter)
		if !known || by < 0 || ops == 0 {
			continue
		}
		value := by / ops
		if k.unit == "us/op" {
			value *= 1e6
		}
		all = append(all, experiment.Cost{Layer: k.layer, Name: k.name, Unit: k.unit, Value: value, From: k.from})
	}
	if busy := c.ticks().Since(c.machine); busy != nil {
		all = append(all, experiment.Cost{Layer: "machine", Name: "processors busy", Unit: "ratio", Value: *busy, From: "/proc/stat"})
	}
	if x, ok := amplification(c.before, after); ok {
		all = append(all, x)
	}
	for _, k := range levels {
		if v, ok := after[k.counter]; ok {
			all = append(all, experiment.Cost{Layer: "space", Name: k.name, Unit: k.unit, Value: v, From: k.from})
		}
	}
	return all
}

// amplification is what the device wrote for each byte the server says it
// wrote.
func amplification(before, after map[string]float64) (experiment.Cost, bool) {
	server, _ := grown(before, after, "server written")
	device, _ := grown(before, after, "device written")
	if server <= 0 || device <= 0 {
		return experiment.Cost{}, false
	}
	return experiment.Cost{Layer: "device", Name: "write amplification", Unit: "ratio", Value: device / server, From: "device written by server written"}, true
}

// grown is by how much a counter grew; not known unless it was read both times.
func grown(before, after map[string]float64, counter string) (by float64, known bool) {
	was, had := before[counter]
	is, has := after[counter]
	if !had || !has {
		return 0, false
	}
	return is - was, true
}
