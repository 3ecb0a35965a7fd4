package stats

import "math"

// Pace is how fast a long work goes, as it was seen from its beginning on: so many seconds for each of many equal parts of it. From that it
// tells how long the rest takes, if that goes as what is done did. It remembers the same few numbers of a work of any length. The zero value is a
// work that has just begun.
type Pace struct {
	part     float64   // how much work one value stands for, at least
	values   []float64 // seconds for a unit of it, of one part after the other
	open     float64   // work of the part that is not whole yet
	openTook float64   // and its seconds
	work     float64   // of all parts that are whole
	took     float64
}

const (
	mostParts  = 64 // of a work; then each stands for twice as much
	leastParts = 8  // before that an interval is a guess
	leastFree  = 4  // of parts, counted as independent: before that too
)

// Add notes that some work was done in some seconds, behind what was noted before.
func (p *Pace) Add(work, seconds float64) {
	if !(work >= 0 && seconds >= 0) || math.IsInf(work+seconds, 0) {
		return
	}
	p.open, p.openTook = p.open+work, p.openTook+seconds
	if p.open <= 0 || p.open < p.part {
		return
	}
	if p.part == 0 {
		p.part = p.open
	}
	p.values = append(p.values, p.openTook/p.open)
	p.work, p.took = p.work+p.open, p.took+p.openTook
	p.open, p.openTook = 0, 0
	if len(p.values) == mostParts {
		p.values = batches(p.values, 2)
		p.part *= 2
	}
}

// PerSecond is how much work was done in a second, over all of it; NaN when that is not known yet.
func (p *Pace) PerSecond() float64 {
	if work, took := p.work+p.open, p.took+p.openTook; work > 0 && took > 0 {
		return work / took
	}
	return math.NaN()
}

// Left estimates in how many seconds a rest will be done. Its interval is that of one rest, not of the mean of many: a short one may
// fall into a bad moment. With N 0 nothing can be said yet.
func (p *Pace) Left(rest float64) Estimate {
	if len(p.values) < leastParts || !(rest >= 0) || !(p.took > 0) {
		return unknown()
	}
	if rest == 0 {
		return Estimate{N: len(p.values)}
	}
	e := Mean(p.values)
	if e.N < leastFree { // it became slower or faster, and who knows for how long
		return unknown()
	}
	half := (e.High - e.Low) / 2 * math.Sqrt(1+p.work/rest)
	mean := p.took / p.work
	return Estimate{Value: rest * mean, Low: rest * max(0, mean-half), High: rest * (mean + half), N: e.N}
}
