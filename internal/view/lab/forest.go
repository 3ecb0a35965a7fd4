package lab

import (
	"fmt"
	"math"

	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// forest is the picture of all comparisons, one below the other on one axis
// of ratios: half and twice are equally far from the middle.
type forest struct {
	Rows    []ForestRow
	X       []Tick
	Label   string
	Margin  string
	Against string // the baseline, when it is the same in all rows
	Bands   []Band
	Rules   []Line
}

// ForestRow is an effect with its interval, a row of a forest plot.
type ForestRow struct {
	Arm, Against, Class string
	Line, Dot           string
	Open                []Line // ends of an interval that lie beyond the picture
	Value, Range, Word  string
}

func forestOf(r report.Report) *forest {
	if len(r.Verdicts) == 0 {
		return nil
	}
	s := RatioScale(r.Verdicts)
	f := &forest{Label: forestLabel(r.Experiment.Metric)}
	same := true
	for _, v := range r.Verdicts {
		same = same && v.Baseline == r.Verdicts[0].Baseline
		f.Rows = append(f.Rows, ForestLine(v, s))
	}
	if same {
		f.Against = r.Verdicts[0].Baseline
	}
	if m := r.Verdicts[0].Margin; m > 0 && m < 1 {
		f.Margin = units.RoundPercent(m)
		f.Bands = []Band{Between(s.Part(-m), s.Part(m), "margin")}
	}
	f.X = s.Ticks()
	for _, t := range f.X {
		f.Rules = append(f.Rules, Line{Path: Upright(t.At / 100), Class: "grid"})
	}
	f.Rules = append(f.Rules, Line{Path: Upright(s.Part(0)), Class: "zero"})
	return f
}

func forestLabel(metric string) string {
	name, _ := metricUnit(metric)
	if higherIsBetter(metric) {
		return name + " a second, against the baseline (more is better)"
	}
	return name + " time, against the baseline (less is better)"
}

// Ratios is an axis of the logarithms of ratios.
type Ratios struct{ low, high float64 }

// RatioScale takes in all intervals, as far as they are known, the margin and
// a little air. An interval more than three times as wide as the effects
// themselves runs out of the picture rather than flatten everything else.
func RatioScale(all []report.Comparison) Ratios {
	s := Ratios{-0.02, 0.02}
	take := func(part float64) {
		if units.IsReal(part) && part > -1 {
			s.low, s.high = math.Min(s.low, math.Log1p(part)), math.Max(s.high, math.Log1p(part))
		}
	}
	for _, v := range all {
		take(1.4 * v.Margin)
		take(-1.4 * v.Margin)
		if units.MeasuredAtAll(v.Effect) {
			take(v.Effect.Value)
		}
	}
	reach := math.Max(math.Log(4), 3*(s.high-s.low))
	bounds := Ratios{s.low - reach, s.high + reach}
	for _, v := range all {
		if units.Ranged(v.Effect) {
			for _, end := range []float64{v.Effect.Low, v.Effect.High} {
				if end > -1 {
					take(math.Expm1(math.Max(bounds.low, math.Min(bounds.high, math.Log1p(end)))))
				}
			}
		}
	}
	air := 0.06 * (s.high - s.low)
	return Ratios{s.low - air, s.high + air}
}

// Part gives where an effect lies between the left end of the scale, 0, and its right end, 1.
func (s Ratios) Part(effect float64) float64 {
	if effect <= -1 {
		return 0
	}
	return math.Max(0, math.Min(1, (math.Log1p(effect)-s.low)/(s.high-s.low)))
}

// Ticks takes the finest of several steps whose labels have room.
func (s Ratios) Ticks() []Tick {
	const room = 0.13
	for _, step := range []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2} {
		if t, ok := s.ticksAt(stepped(step, math.Expm1(s.low), math.Expm1(s.high)), room); ok {
			return t
		}
	}
	for _, set := range [][]float64{{-0.9, -0.75, -0.5, -0.25, 0, 0.5, 1, 2, 4, 9}, {-0.99, -0.98, -0.95, -0.9, -0.8, -0.5, 0, 1, 4, 9, 19, 49, 99}, {-0.99, -0.9, -0.7, 0, 2, 9, 29, 99}} {
		if t, ok := s.ticksAt(set, room); ok {
			return t
		}
	}
	t, _ := s.ticksAt([]float64{-0.999, -0.99, -0.9, 0, 9, 99, 999}, 0)
	return t
}

func stepped(step, low, high float64) (all []float64) {
	if (high-low)/step > 40 {
		return nil
	}
	for i := math.Ceil(low / step); i*step <= high; i++ {
		all = append(all, math.Round(i*step*1e6)/1e6)
	}
	return all
}

func (s Ratios) ticksAt(effects []float64, room float64) (ticks []Tick, ok bool) {
	last := math.Inf(-1)
	for _, e := range effects {
		if l := math.Log1p(e); e <= -1 || l < s.low || l > s.high {
			continue
		}
		at := s.Part(e)
		if at-last < room {
			return nil, false
		}
		last = at
		ticks = append(ticks, Tick{At: PercentAt(at), Text: signedRound(e)})
	}
	return ticks, len(ticks) > 1
}

// signedRound writes a tick: −20 %, 0, +2.5 %, ×10.
func signedRound(effect float64) string {
	switch {
	case effect == 0:
		return "0"
	case effect >= 4:
		return "×" + units.Whole(1+effect)
	}
	return units.Sign(effect) + units.RoundPercent(math.Abs(effect))
}

// ForestLine makes the row of a verdict.
func ForestLine(v report.Comparison, s Ratios) ForestRow {
	row := ForestRow{Arm: v.Arm, Against: v.Baseline, Class: v.Word, Word: VerdictWords(v), Value: "–"}
	e := v.Effect
	if !units.MeasuredAtAll(e) {
		row.Word = "not yet known"
		return row
	}
	row.Value, row.Range = units.Signed(e.Value), units.DiffersRange(e)
	row.Dot = Dot(s.Part(e.Value), 0.5)
	if !units.Ranged(e) {
		row.Open = beyond(stats.Estimate{Low: math.Inf(-1), High: math.Inf(1)}, e.Value, s)
		return row
	}
	row.Open = beyond(e, e.Value, s)
	low, high := s.Part(e.Low), s.Part(e.High)
	if s.runsOutLow(e) {
		low = math.Min(edge, s.Part(e.Value))
	}
	if s.runsOutHigh(e) {
		high = math.Max(1-edge, s.Part(e.Value))
	}
	row.Line = fmt.Sprintf("M%g %dH%g", spot(low), canvas/2, spot(high))
	return row
}

// edge is the part of the picture in which a line that runs out of it is dotted.
const edge = 0.05

func (s Ratios) runsOutLow(e stats.Estimate) bool  { return e.Low <= -1 || math.Log1p(e.Low) < s.low }
func (s Ratios) runsOutHigh(e stats.Estimate) bool { return math.Log1p(e.High) > s.high }

// beyond draws dotted what of an interval lies outside the picture, or is
// not known.
func beyond(e stats.Estimate, value float64, s Ratios) (out []Line) {
	if s.runsOutLow(e) {
		out = append(out, Line{Path: fmt.Sprintf("M0 %dH%g", canvas/2, spot(s.Part(value))), Class: "open"})
	}
	if s.runsOutHigh(e) {
		out = append(out, Line{Path: fmt.Sprintf("M%g %dH%d", spot(s.Part(value)), canvas/2, canvas), Class: "open"})
	}
	return out
}
