package load

import (
	"fmt"
	"time"

	"plumb/internal/load"
	"plumb/internal/view/page"
)

// Document is a run as JSON v1.
func Document(r Report) (LoadJSON, error) {
	res := r.Result
	d := LoadJSON{Plumb: page.JSONVersion, Kind: "load", Version: r.Version, Workload: res.Workload, Place: r.Place,
		Options: map[string]string{}, Warnings: page.NotNil(r.Warnings), Headline: r.Headline,
		Began: res.Began, WarmupSeconds: res.Warmup.Seconds(), MeasuredSeconds: res.Measured.Seconds(), Threads: res.Threads,
		Seed: page.SeedText(res.Seed), Pace: res.Pace, Rate: estimateJSON(res.Rate), Steady: steadyJSON(res.Steady),
		Client: clientJSON(res.Client), Marks: []page.MarkJSON{}, Ops: []OpJSON{}, Notes: []NoteJSON{}, Errors: []ErrorJSON{}, Series: []SecondJSON{}}
	if r.Server != nil {
		d.Server = loadServerJSON(*r.Server)
	}
	for _, o := range r.Options {
		if o.Name != "" {
			d.Options[o.Name] = o.Value
		}
	}
	for _, m := range res.Marks {
		d.Marks = append(d.Marks, page.MarkJSON(m))
	}
	for _, n := range res.Notes {
		d.Notes = append(d.Notes, NoteJSON(n))
	}
	for _, e := range res.Errors {
		d.Errors = append(d.Errors, ErrorJSON(e))
	}
	for _, b := range r.Audit {
		d.Audit = append(d.Audit, BandJSON(b))
	}
	for _, s := range res.Series {
		d.Series = append(d.Series, secondJSON(s))
	}
	if res.Ended != nil {
		d.Ended = res.Ended.Error()
	}
	return d, d.distributions(res)
}

// distributions adds what has histograms.
func (d *LoadJSON) distributions(res *load.Result) error {
	total, err := opJSON(res.Total, res.Open != nil)
	if err != nil {
		return err
	}
	d.Total = total
	for _, o := range res.Ops {
		j, err := opJSON(o, res.Open != nil)
		if err != nil {
			return err
		}
		d.Ops = append(d.Ops, j)
	}
	if o := res.Open; o != nil {
		lag, err := latencyJSON(o.Lag)
		if err != nil {
			return err
		}
		d.Open = &OpenLoopJSON{Offered: o.Offered, Served: o.Served, Waiting: o.Waiting, Saturated: o.Saturated, Lag: lag}
	}
	return nil
}

func opJSON(o load.OpResult, open bool) (OpJSON, error) {
	j := OpJSON{Name: o.Name, Done: o.Done, RolledBack: o.RolledBack, Skipped: o.Skipped, Failed: o.Failed, Retried: o.Retried,
		Reads: o.Reads, Writes: o.Writes, Other: o.Other, ReadBytes: o.ReadBytes, WriteBytes: o.WriteBytes}
	var err error
	if j.Response, err = latencyJSON(o.Response); err != nil {
		return j, err
	}
	if open {
		s, err := latencyJSON(o.Service)
		j.Service = &s
		return j, err
	}
	return j, nil
}

func latencyJSON(l load.Latency) (LatencyJSON, error) {
	hdr, err := page.Encoded(l)
	if err != nil {
		return LatencyJSON{}, fmt.Errorf("encode a histogram: %w", err)
	}
	return LatencyJSON{timesJSON(l.Summary()), hdr}, nil
}

func timesJSON(s load.Summary) LoadTimesJSON {
	return LoadTimesJSON{N: s.N, Mean: page.Ms(s.Mean), Min: page.Ms(s.Min), P50: page.Ms(s.P50), P90: page.Ms(s.P90), P95: page.Ms(s.P95), P99: page.Ms(s.P99), P999: page.Ms(s.P999), Max: page.Ms(s.Max)}
}

func secondJSON(s load.Second) SecondJSON {
	j := SecondJSON{AtSeconds: s.At.Seconds(), Seconds: s.Length.Seconds(), Warmup: s.Warmup, Done: s.Done, Failed: s.Failed,
		Retried: s.Retried, Reads: s.Reads, Writes: s.Writes, Other: s.Other, Lost: s.Lost, Waiting: s.Waiting,
		Response: timesJSON(s.Response), Ops: []int64{}}
	for _, o := range s.Ops {
		j.Ops = append(j.Ops, o.Done)
	}
	return j
}

func loadServerJSON(a load.About) *LoadServerJSON {
	j := &LoadServerJSON{Product: a.Product, Version: a.Version, Address: a.Address, Database: a.Database, Isolation: a.Isolation,
		Local: a.Local, Settings: map[string]string{}}
	for _, s := range a.Settings {
		j.Settings[s.Name] = s.Value
	}
	return j
}

func steadyJSON(s load.Steadiness) SteadyJSON {
	return SteadyJSON{Reached: s.Reached, FromSeconds: s.From.Seconds(), Range: page.Finite(s.Range), Slope: page.Finite(s.Slope), Why: s.Why}
}

func clientJSON(c load.Client) ClientJSON {
	return ClientJSON{CPUSeconds: c.CPU.Seconds(), Cores: c.Cores, Share: page.Finite(c.Share), Machine: c.Machine,
		PerOpMicros: float64(c.PerOp) / float64(time.Microsecond), Bound: c.Bound, BoundBecause: c.BoundWhy}
}
