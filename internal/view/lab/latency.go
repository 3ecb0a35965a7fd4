package lab

import (
	"fmt"
	"math"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/load"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// merged is the distribution of all operations of all trials of an arm that
// count. Histograms that cannot be read are left out; the report warns of them.
func merged(r report.Report, arm string) load.Latency {
	whole := load.NewLatency()
	for _, rec := range r.Records {
		if rec.Arm == arm && rec.Valid() {
			whole.Merge(trialLatency(rec).Histogram)
		}
	}
	return whole
}

// trialLatency is the distribution of all operations of a trial.
func trialLatency(rec experiment.Record) load.Latency {
	whole := load.NewLatency()
	for _, op := range rec.Ops {
		if one, err := load.Unpack(op.Histogram); err == nil {
			whole.Merge(one.Histogram)
		}
	}
	return whole
}

// perMS turns the nanoseconds of histograms into milliseconds.
const perMS = 1e6

// LatencyCharts draws the response times of all arms: one curve of
// percentiles for each, and one histogram for each. key names the lines.
func LatencyCharts(r report.Report) (curve *Chart, histograms []Chart) {
	all := make([]load.Latency, len(r.Arms))
	low, high, most := math.Inf(1), 0.0, int64(0)
	for i, a := range r.Arms {
		all[i] = merged(r, a.Name)
		if n := all[i].TotalCount(); n > 0 {
			low = math.Min(low, float64(all[i].ValueAtQuantile(0.1))/perMS)
			high = math.Max(high, float64(all[i].Max())/perMS)
			most = max(most, n)
		}
	}
	if most == 0 {
		return nil, nil
	}
	curve = percentileChart(r, all, most)
	for i, a := range r.Arms {
		if all[i].TotalCount() > 0 {
			histograms = append(histograms, histogramChart(a, i, all[i], low, high))
		}
	}
	return curve, histograms
}

// behind is how many operations must lie behind a percentile for it to be
// drawn: further out a curve shows single operations.
const behind = 10

// percentileChart has a logarithmic axis of what lies beyond: 90 %, 99 % and
// 99.9 % are equally far apart.
func percentileChart(r report.Report, all []load.Latency, most int64) *Chart {
	end := math.Max(1, math.Log10(float64(most)/behind))
	x := scale{high: end}
	low, high := math.Inf(1), 0.0
	curves := make([][]Point, len(all))
	for i, l := range all {
		n := float64(l.TotalCount())
		if n == 0 {
			continue
		}
		for k := 0; k <= 160; k++ {
			beyond := float64(k) / 160 * end
			if n*math.Pow(10, -beyond) < behind {
				break
			}
			v := float64(l.ValueAtQuantile(100*(1-math.Pow(10, -beyond)))) / perMS
			if k > 0 { // the shortest of all says little and takes up room
				low, high = math.Min(low, v), math.Max(high, v)
				curves[i] = append(curves[i], Point{beyond, v})
			}
		}
	}
	y, ticks := logarithmic(low*0.9, high*1.1, units.Tick)
	c := &Chart{Title: "Response time by percentile", Sub: "all trials that count, merged; both axes are logarithmic", XLabel: "part of the operations that were no slower", YLabel: "response time", Y: ticks,
		Alt: fmt.Sprintf("response time by percentile of %s", units.Count(len(r.Arms), "arm"))}
	c.Grid()
	for _, q := range []struct {
		beyond float64
		text   string
	}{{math.Log10(2), "50 %"}, {1, "90 %"}, {2, "99 %"}, {3, "99.9 %"}, {4, "99.99 %"}, {5, "99.999 %"}} {
		if q.beyond <= end {
			c.X = append(c.X, Tick{At: PercentAt(x.At(q.beyond)), Text: q.text})
			c.Lines = append(c.Lines, Line{Path: Upright(x.At(q.beyond)), Class: "grid"})
		}
	}
	for i, points := range curves {
		for k, p := range points {
			points[k] = Point{x.At(p.X), y.At(p.Y)}
		}
		if len(points) > 0 {
			c.Lines = append(c.Lines, Line{Path: PathOf(points), Class: "curve " + armClass(i), Title: r.Arms[i].Name})
		}
	}
	return c
}

const (
	histogramBars = 72
	headroom      = 1.25 // above the highest bar, for what is written there
)

// histogramChart shows how the operations of an arm spread, in bars of equal
// width on a logarithmic axis that all arms share.
func histogramChart(a report.ArmResult, i int, l load.Latency, low, high float64) Chart {
	x, ticks := logarithmic(low*0.9, high*1.1, units.Tick)
	bars, top := [histogramBars]float64{}, 0.0
	for _, b := range l.Distribution() {
		if b.Count > 0 {
			at := x.At((float64(b.From) + float64(b.To)) / 2 / perMS)
			k := max(0, min(histogramBars-1, int(at*histogramBars)))
			bars[k] += float64(b.Count) / float64(l.TotalCount())
			top = math.Max(top, bars[k])
		}
	}
	c := Chart{Title: a.Name, Sub: units.Grouped(l.TotalCount()) + " operations", XLabel: "response time", YLabel: "share of the operations", X: ticks, Low: true,
		Y: []Tick{{At: 0, Text: "0"}, {At: PercentAt(1 / headroom), Text: units.Percent(top)}}, Alt: "distribution of the response times of " + a.Name}
	c.Grid()
	for k, v := range bars {
		if v > 0 {
			h := v / top / headroom
			c.Bands = append(c.Bands, Band{X: spot(float64(k) / histogramBars), W: spot(1.0 / histogramBars), Y: spot(1 - h), H: spot(h), Class: "bar " + armClass(i)})
		}
	}
	for _, q := range []struct {
		e    stats.Estimate
		name string
	}{{a.Latency.P50, "p50"}, {a.Latency.P99, "p99"}} {
		if units.MeasuredAtAll(q.e) && q.e.Value > 0 {
			at := x.At(q.e.Value)
			c.Lines = append(c.Lines, Line{Path: Upright(at), Class: "rule"})
			c.Notes = append(c.Notes, note{X: PercentAt(at), Text: q.name + " " + units.Spaced(q.e.Value), Class: q.name})
		}
	}
	return c
}

// curveChart shows throughput by number of threads, with the fitted curve.
func curveChart(c report.Curve) *Chart {
	if len(c.Points) == 0 {
		return nil
	}
	top, most := 0.0, 1
	for _, p := range c.Points {
		top, most = math.Max(top, p.Rate*(1+p.Error)), max(most, p.Threads)
	}
	y, ticks := Linear(top, units.PerSecond)
	x := scale{low: 0.9, high: float64(most) * 1.1, log: true}
	out := &Chart{Title: c.Name, Sub: curveText(c), XLabel: "threads", YLabel: "operations, /s", Y: ticks, Alt: "operations a second by number of threads: " + c.Name}
	out.Grid()
	if c.Capacity != nil {
		out.Lines = append(out.Lines, fittedLines(c.Capacity, most, x, y)...)
	}
	for _, p := range c.Points {
		at := x.At(float64(p.Threads))
		out.X = append(out.X, Tick{At: PercentAt(at), Text: fmt.Sprint(p.Threads)})
		if p.Error > 0 {
			out.Lines = append(out.Lines, Line{Path: fmt.Sprintf("M%g %gV%g", spot(at), spot(1-y.At(p.Rate*(1-p.Error))), spot(1-y.At(p.Rate*(1+p.Error)))), Class: "whisker"})
		}
		out.Lines = append(out.Lines, Line{Path: Dot(at, y.At(p.Rate)), Class: "dot a0", Title: units.PerSecond(p.Rate)})
	}
	return out
}

// fittedLines draws a capacity curve and, dotted, how it might have come out.
func fittedLines(k *stats.Capacity, most int, x, y scale) []Line {
	var curve, low, high []Point
	for n := 1; n <= most; n += 1 + n/24 {
		e, at := k.Predict(n), x.At(float64(n))
		curve = append(curve, Point{at, y.At(e.Value)})
		if units.Ranged(e) {
			low, high = append(low, Point{at, y.At(e.Low)}), append(high, Point{at, math.Min(1, y.At(e.High))})
		}
	}
	return []Line{{Path: PathOf(low), Class: "open"}, {Path: PathOf(high), Class: "open"}, {Path: PathOf(curve), Class: "curve fitted", Title: k.Model}}
}
