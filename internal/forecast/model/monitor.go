package model

import (
	"math"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// Monitoring is what is to be watched.
type Monitoring struct {
	Hosts     float64
	Series    stats.Estimate // of each host; Value 0: not measured
	Interval  float64        // seconds between scrapes
	Retention float64        // days kept
}

// Rules of thumb of those who measured or sell it.
const (
	usualSeries   = 2500.0 // node_exporter has about 1,000, and a server's exporter as many
	fewSeries     = 1000.0 // Percona (2017) saw 1,000 to 7,000 a node
	manySeries    = 7000.0
	perGiBSamples = 15000.0  // seed:pmm-01, samples a second
	perCore       = 100000.0 // seed:pmm-01, samples a second
	hostsPerGiB   = 8.0      // seed:pmm-01
	hostsPerCore  = 50.0     // seed:pmm-01
	carefulHosts  = 12.0     // of a core: PMM 3's own table, its least
	carefulGiB    = 6.25     // hosts to a GiB, likewise
	carefulCores  = 4.0      // of its smallest server, for up to 30 hosts
	carefulLeast  = 8.0      // GiB of that
	leastGiB      = 2.0
	bytesASample  = 1.5 // Prometheus says 1 to 2
)

// Of Prometheus: what was scraped lately is in a log until it is a block.
const (
	logBytes   = 12.0          // of a sample in it: two short numbers and a float64 (tsdb/docs/format/wal.md)
	logPacked  = 0.5           // with compression, as it comes
	logSeconds = 3 * 3600.0    // until a block of two hours is made of it: the head spans one and a half (Head.compactable)
	logLeast   = 3 * 128 << 20 // three segments are kept in any case
)

// Predict forecasts what a monitoring server needs.
func (m Monitoring) Predict() Result {
	if !(m.Hosts >= 1) {
		return refused("give their number: --hosts 100", "the number of hosts is not known")
	}
	if !(m.Interval > 0) {
		return refused("give it: --interval 15s", "the scrape interval is not known")
	}
	r := Result{Model: "hosts × series ÷ interval", Assumptions: []string{
		"what a host exports does not change: the number of series depends on versions, tables and concurrency, and differs tenfold and more",
		"few series end: those of a container that is gone, or a statement that is no longer run, stay in memory for up to three hours, so --series counts all of that time",
		"queries and alerts take no more than in the published figures",
	}}
	each := m.Series
	if each.Value == 0 {
		each = between(usualSeries, fewSeries, manySeries)
		r.Warnings = append(r.Warnings, "the number of series per host was not measured: count the lines that its exporters return, and give --series")
	}
	series := each.Times(m.Hosts)
	samples := series.Times(1 / m.Interval)
	r.add("series", Count, series, "%s × %s", units.Count(int(m.Hosts), "host"), units.PerSecond(each.Value))
	r.add("samples", PerSecond, samples, "%s series / %s", units.PerSecond(series.Value), units.Time(1e6*m.Interval))
	memory := stats.Estimate{
		Value: max(m.Hosts/hostsPerGiB, samples.Value/perGiBSamples, leastGiB) * gibibyte,
		Low:   max(leastGiB*gibibyte, series.Low*3*1024),
		High:  max(carefulLeast*gibibyte, m.Hosts/carefulGiB*gibibyte, samples.High/perGiBSamples*gibibyte, series.High*8*1024),
	}
	memory.Low, memory.High = min(memory.Low, memory.Value), max(memory.High, memory.Value)
	r.add("memory", Bytes, memory, "the larger of 8 hosts and of 15,000 samples a second to a GiB, as published for PMM; low: 3 KiB a series, high: PMM 3's own table")
	cores := between(math.Ceil(max(m.Hosts/hostsPerCore, samples.Value/perCore)), math.Ceil(max(1, samples.Low/perCore)), math.Ceil(max(carefulCores, m.Hosts/carefulHosts, samples.High/perCore)))
	r.add("cores", Count, cores, "the larger of 50 hosts and of 100,000 samples a second to a core, as published for PMM; high: PMM 3's own table")
	if m.Retention > 0 {
		kept := 86400 * m.Retention
		disk := samples.Times(bytesASample*kept + logBytes*logPacked*logSeconds)
		disk.Low, disk.High = samples.Low*kept, samples.High*(2*1.25*kept+logBytes*logSeconds)+logLeast
		r.add("disk", Bytes, disk, "%.0f days at 1.5 bytes a sample, from 1 to 2, and three hours at 6 in the write-ahead log; high: a quarter more, for the index and merging, and the log not compressed", m.Retention)
	}
	return r
}

const gibibyte = 1 << 30
