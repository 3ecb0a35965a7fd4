package lab

import (
	"slices"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Document is an experiment with all its trials as JSON v1. version is
// that of the program.
func Document(r report.Report, version string) LabJSON {
	d := LabJSON{Plumb: page.JSONVersion, Kind: "lab", Version: version, Experiment: labExperiment(r.Experiment), Answer: r.Answer, Complete: r.Complete, Stopped: r.Stopped,
		Blocks: r.Done, Began: knownTime(r.Began), TookSeconds: r.Took.Seconds(), SmallestEffect: page.Known(r.Smallest),
		Arms: []LabArmJSON{}, Comparisons: []LabVerdictJSON{}, Curves: []LabCurveJSON{}, Trials: []LabTrialJSON{}}
	if r.Smallest == 0 { // no difference at all is none that could be found
		d.SmallestEffect = nil
	}
	if units.MeasuredAtAll(r.Noise) {
		noise := LabEstimate(r.Noise)
		d.Noise = &noise
	}
	for _, a := range r.Arms {
		d.Arms = append(d.Arms, labArm(r, a))
	}
	for _, v := range r.Verdicts {
		j := LabVerdictJSON{Arm: v.Arm, Baseline: v.Baseline, Verdict: v.Word, Effect: LabEstimate(v.Effect), Margin: page.Finite(v.Margin), More: v.More, Sentence: v.Sentence}
		if units.Ranged(v.Effect) {
			j.P = page.Known(v.P)
		}
		d.Comparisons = append(d.Comparisons, j)
	}
	for _, c := range r.Curves {
		d.Curves = append(d.Curves, labCurve(c))
	}
	for _, rec := range r.Records {
		d.Trials = append(d.Trials, labTrial(rec))
	}
	return d
}

func labExperiment(x experiment.Experiment) LabExperimentJSON {
	j := LabExperimentJSON{Name: x.Name, Hash: x.Hash, Question: x.Question, Source: x.Source, Notes: x.Notes, Design: x.Design, LeastBlocks: x.Least, MostBlocks: x.Most,
		WarmupSeconds: x.Warmup.Seconds(), MeasureSeconds: x.Measure.Seconds(), Unsteady: x.Unsteady, Until: page.Finite(x.Until), BudgetSeconds: x.Budget.Seconds(),
		Metric: x.Metric, Margin: page.Finite(x.Margin), Checks: page.NotNil(x.Checks), Seed: page.SeedText(x.Seed), Axes: []LabAxisJSON{}, File: string(x.Text)}
	for _, a := range x.Axes {
		axis := LabAxisJSON{Name: a.Name, Levels: []string{}}
		for _, l := range a.Levels {
			axis.Levels = append(axis.Levels, l.Name)
		}
		j.Axes = append(j.Axes, axis)
	}
	return j
}

func labArm(r report.Report, a report.ArmResult) LabArmJSON {
	j := LabArmJSON{Name: a.Name, Trials: a.Trials, Failed: a.Failed, Risks: a.Risks, Metric: LabEstimate(a.Metric), Setup: map[string]string{}, Costs: []LabCostJSON{}}
	if i := slices.IndexFunc(r.Experiment.Arms, func(arm experiment.Arm) bool { return arm.Name == a.Name }); i >= 0 {
		j.Levels, j.Setup = r.Experiment.Arms[i].Levels, FlatSetup(r.Experiment.Arms[i].Setup)
	}
	if p := a.Published; p != nil {
		j.Published = &LabPublishedJSON{Value: page.Finite(p.Value), Unit: p.Unit, Note: p.Note}
	}
	if a.Trials > 0 {
		j.Variation, j.Stalls = page.Known(a.Variation), page.Known(a.Stalls)
	}
	if d := a.Dips; d != nil {
		j.Dips = &LabDipsJSON{Every: LabEstimate(d.Every), Length: LabEstimate(d.Length), Depth: LabEstimate(d.Depth), Count: d.N, P: page.Finite(d.P)}
	}
	if l := a.Latency; l.N > 0 {
		j.Response = &LabLatencyJSON{N: l.N, Mean: LabEstimate(l.Mean), P50: LabEstimate(l.P50), P95: LabEstimate(l.P95), P99: LabEstimate(l.P99), Max: LabEstimate(l.Max)}
		if hdr, err := page.Encoded(merged(r, a.Name)); err == nil { // an empty one has none
			j.Response.HDR = hdr
		}
	}
	for _, c := range a.Costs {
		j.Costs = append(j.Costs, LabCostJSON{Layer: c.Layer, Name: c.Name, Unit: c.Unit, From: c.From, Estimate: LabEstimate(c.Estimate)})
	}
	return j
}

func labTrial(rec experiment.Record) LabTrialJSON {
	v := rec.Volume
	j := LabTrialJSON{ID: rec.ID, Block: rec.Block, Position: rec.Position, Attempt: rec.Attempt, Arm: rec.Arm, Seed: page.SeedText(rec.Seed), Began: knownTime(rec.Began), Ended: knownTime(rec.Ended),
		Valid: rec.Valid(), Marks: labMarks(rec.Marks), Remarks: labMarks(rec.Remarks), Plumb: rec.Plumb, Program: rec.Program, Rate: LabEstimate(rec.Rate), Effective: rec.Effective, Files: rec.Files,
		Volume: LabVolumeJSON{Filesystem: v.Filesystem, Options: v.Options, Device: v.Device, Properties: v.Properties, Cloned: v.Cloned},
		Ops:    []LabOpJSON{}, Costs: []LabTrialCostJSON{}, Series: []LabSecondJSON{}}
	if rec.Metric > 0 {
		j.Metric = page.Known(rec.Metric)
	}
	for _, o := range rec.Ops {
		j.Ops = append(j.Ops, LabOpJSON{Name: o.Name, Done: o.Done, Failed: o.Failed, Retried: o.Retried, HDR: string(o.Histogram)})
	}
	for _, c := range rec.Costs {
		if units.IsReal(c.Value) {
			j.Costs = append(j.Costs, LabTrialCostJSON{Layer: c.Layer, Name: c.Name, Unit: c.Unit, Value: c.Value})
		}
	}
	for _, l := range v.Limits {
		j.Volume.Limits = append(j.Volume.Limits, LabLimitJSON(l))
	}
	for _, s := range rec.Series {
		j.Series = append(j.Series, LabSecondJSON(s))
	}
	return j
}
