package rehearse

import (
	"math"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/load"
	"plumb/internal/stats"
)

// Judge turns what the stages showed into a verdict on each step. reports are
// those of the stages that were begun, in their order; ended says why the
// rehearsal ended. It can be called at any time, for what is known so far.
func Judge(p Proposal, reports []report.Report, ended string) Result {
	r := Result{Proposal: p, Reports: reports, Ended: ended, Plan: p.Plan}
	var j judge
	var alone report.Report
	for i, rep := range reports {
		r.Took += rep.Took
		if i < len(p.Stages) && !p.Stages[i].Measures() {
			alone = rep
			continue
		}
		j.reports, j.tails = append(j.reports, rep), append(j.tails, tail(rep))
	}
	r.All = j.verdict(AllAdvice)
	if _, arm := p.whole(reports); arm != AllAdvice {
		refused := r.All.Failed
		r.All = j.verdict(arm)
		r.All.Refused = refused
	}
	r.Plan.Steps = nil
	for i := range p.Steps {
		s := &r.Proposal.Steps[i]
		v := Verdict{Word: NotTried, Rate: unknown(), P99: unknown()}
		if s.Arm != "" {
			v = j.verdict(s.Arm)
		}
		v.Step = s
		v.refused(alone)
		v.decide(r.All)
		r.Steps = append(r.Steps, v)
	}
	r.together()
	for _, v := range r.Steps {
		if v.Keep {
			r.Plan.Steps = append(r.Plan.Steps, v.planned())
		}
	}
	return r
}

// judge looks arms up in the reports.
type judge struct {
	reports, tails []report.Report // tails compare the 99th percentiles
}

// verdict says what an arm showed.
func (j judge) verdict(arm string) Verdict {
	for i, rep := range j.reports {
		k := compared(rep, arm)
		if k < 0 {
			continue
		}
		v := rep.Verdicts[k]
		out := Verdict{Arm: arm, Rate: v.Effect, P99: unknown(), Costs: costs(rep, v.Pair), onTop: v.Baseline != AsIs}
		var tail report.Comparison
		if tails := j.tails[i].Verdicts; k < len(tails) {
			tail = tails[k]
			out.P99 = tail.Effect
		}
		out.Failed, out.Why = failure(rep, v.Pair)
		switch {
		case out.Failed != "":
			out.Word = Harms
		case out.Why != "":
			out.Word = Undecided
		default:
			out.judge(v, tail)
		}
		return out
	}
	return Verdict{Arm: arm, Word: NotTried, Rate: unknown(), P99: unknown()}
}

// judge finds the word. The rate decides; where it is the same, the longest
// response times do.
func (v *Verdict) judge(rate, tail report.Comparison) {
	v.Word = Undecided
	switch rate.Word {
	case report.Better:
		v.Word = Helps
	case report.Worse:
		v.Word = Harms
	case report.Equivalent:
		v.Within = rate.Margin
		switch tail.Word {
		case report.Better:
			v.Word = Helps
		case report.Worse:
			v.Word = Harms
		default:
			v.Word = NoDifference
		}
	default:
		v.More = rate.More
	}
}

func unknown() stats.Estimate {
	return stats.Estimate{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
}

// failure tells what an arm cannot do that its baseline can; or else why
// nothing can be said of the two. Of all advice against all but one step, the
// step is to blame when the server runs without it alone.
func failure(rep report.Report, pair experiment.Pair) (failed, doubt string) {
	with, without := broken(rep, pair.Arm), broken(rep, pair.Baseline)
	switch {
	case with != "" && without == "" && went(rep, pair.Baseline):
		return with, ""
	case with != "" && without == "":
		return "", "no trial of " + pair.Baseline + " went to its end"
	case without != "":
		return "", pair.Baseline + " failed, so nothing can be compared: " + without
	}
	for _, arm := range []string{pair.Arm, pair.Baseline} {
		if why := spoilt(rep, arm); why != "" {
			return "", why
		}
	}
	return "", ""
}

// broken tells why an arm cannot be used: the server does not start or has
// crashed with it again and again, or has lost rows.
func broken(rep report.Report, arm string) string {
	if why := rep.Arm(arm).Failed; why != "" {
		return plainly(why)
	}
	failed, lost, ran := 0, 0, 0
	text := ""
	for _, rec := range rep.Records {
		if rec.Arm != arm || rec.Has(experiment.MarkCut) {
			continue
		}
		switch {
		case rec.Has(experiment.MarkFailed):
			failed++
			text = rec.Why(experiment.MarkFailed)
		case rec.Has(experiment.MarkInvariant):
			lost++
			text = rec.Why(experiment.MarkInvariant)
		default:
			ran++
		}
	}
	if failed+lost > 1 || lost > 0 && ran == 0 {
		return plainly(text)
	}
	return ""
}

// spoilt tells why no trial of an arm counts, when several were carried out.
func spoilt(rep report.Report, arm string) string {
	if counts(rep, arm) {
		return ""
	}
	n, text := 0, ""
	for _, rec := range rep.Records {
		if rec.Arm == arm && !rec.Has(experiment.MarkCut) && len(rec.Marks) > 0 {
			n++
			text = rec.Marks[0].Text
		}
	}
	if n < 2 {
		return ""
	}
	return "no trial of " + arm + " counts: " + plainly(text)
}

func counts(rep report.Report, arm string) bool {
	return slices.ContainsFunc(rep.Records, func(r experiment.Record) bool { return r.Arm == arm && r.Valid() })
}

// went tells whether a trial of an arm went to its end with all its rows. It
// need not count: a volume that was disturbed does not keep a server from coming
// up.
func went(rep report.Report, arm string) bool {
	return slices.ContainsFunc(rep.Records, func(r experiment.Record) bool {
		return r.Arm == arm && !r.Has(experiment.MarkFailed) && !r.Has(experiment.MarkInvariant) && !r.Has(experiment.MarkCut)
	})
}

// plainly leaves of an error with the end of a log what a person reads: its
// first line, and the first of the log that calls itself an error: what comes
// after follows from it.
func plainly(text string) string {
	const most = 300
	lines := strings.Split(strings.TrimSpace(text), "\n")
	out := strings.TrimSpace(lines[0])
	for _, line := range lines[1:] {
		if strings.Contains(line, "ERROR") || strings.Contains(line, "FATAL") || strings.Contains(line, "PANIC") {
			out += ": " + strings.Join(strings.Fields(line), " ")
			break
		}
	}
	return cut(out, most)
}

// costs gives what an operation took of each layer in the baseline and in the
// arm, where both are known.
func costs(rep report.Report, pair experiment.Pair) (all []Cost) {
	before := rep.Arm(pair.Baseline).Costs
	for _, after := range rep.Arm(pair.Arm).Costs {
		i := slices.IndexFunc(before, after.Same)
		if i >= 0 && before[i].Estimate.N > 0 && after.Estimate.N > 0 {
			all = append(all, Cost{Layer: after.Layer, Name: after.Name, Unit: after.Unit, Before: before[i].Estimate, After: after.Estimate})
		}
	}
	return all
}

// tail is the same report with the 99th percentile of the response time as
// what is compared.
func tail(rep report.Report) report.Report {
	x := rep.Experiment
	x.Metric = "p99"
	records := make([]experiment.Record, 0, len(rep.Records))
	for _, r := range rep.Records {
		p99, ok := p99(r.Ops)
		if !ok {
			r.Marks = append(slices.Clone(r.Marks), experiment.Mark{Kind: experiment.MarkCut, Text: "its response times are not known"})
		}
		r.Metric, r.Ops, r.Series, r.Costs = p99, nil, nil, nil
		records = append(records, r)
	}
	return report.Make(x, records)
}

// p99 reads the 99th percentile of all operations of a trial, in milliseconds.
func p99(ops []experiment.Op) (ms float64, ok bool) {
	all := load.NewLatency()
	for _, op := range ops {
		if len(op.Histogram) == 0 {
			continue
		}
		one, err := load.Unpack(op.Histogram)
		if err != nil {
			return 0, false
		}
		all.Merge(one.Histogram)
	}
	s := all.Summary()
	return 1000 * s.P99.Seconds(), s.N > 0
}
