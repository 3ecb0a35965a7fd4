package space

import (
	"math"
	"math/rand/v2"
	"slices"

	"plumb/internal/forecast"
)

const (
	drawn     = 2000 // futures of a forecast
	drawnPast = 300  // of each way at each day of the past that it is judged by
	judged    = 30   // days of the past by which ways are judged, at most
	judgedBy  = 90   // days ahead by which they are judged, at most
)

// Futures are equally likely courses of what is added.
type Futures struct {
	Courses [][]float64 // each of the same number of days
	Weights []float64   // the part of each way
	Losses  []float64   // of each way, on the past of this series; nil: there is not enough of it
}

// draw makes futures of some days, mixed of all ways by how each did until now.
func (p *past) draw(days int) Futures {
	f := Futures{}
	f.Weights, f.Losses = p.weigh(min(days, judgedBy))
	r := rand.New(rand.NewPCG(uint64(len(p.added)), 23))
	all := make([]float64, drawn*days)
	owed := 0.0
	for w, part := range f.Weights {
		owed += part * drawn
		for range int(math.Round(owed)) - len(f.Courses) {
			course := all[len(f.Courses)*days:][:days:days]
			ways[w].draw(p, r, course)
			f.Courses = append(f.Courses, course)
		}
	}
	return f
}

// weigh judges the ways by what they would have said on earlier days, h days ahead.
// The longer the past is beside h, the more the errors say; where none can be known
// yet, all ways count alike.
func (p *past) weigh(h int) (weights, losses []float64) {
	n := len(p.added)
	weights = make([]float64, len(ways))
	for i := range weights {
		weights[i] = 1 / float64(len(ways))
	}
	first, last := max(leastDays, h), n-h
	if last-first < week {
		return weights, nil
	}
	losses = make([]float64, len(ways))
	step := max(week, (last-first)/judged)
	r := rand.New(rand.NewPCG(uint64(n), 24))
	count := 0.0
	for at := last; at >= first; at -= step {
		then, came := p.until(at), p.level[at+h]-p.level[at]
		for i, w := range ways {
			losses[i] += forecast.Pinball(then.quantilesOf(w, r, h), came)
		}
		count++
	}
	least := slices.Min(losses)
	if least <= 0 {
		return weights, nil
	}
	sum := 0.0
	power := min(10, trust*float64(n)/float64(h))
	for i := range weights {
		weights[i] = math.Pow(losses[i]/least, -power)
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
		losses[i] /= count
	}
	return weights, losses
}

// trust is how much more the better way counts, for each time that as many days
// have passed as are forecast.
const trust = 0.4

func (p *past) quantilesOf(w way, r *rand.Rand, h int) forecast.Quantiles {
	course, ends := make([]float64, h), make([]float64, drawnPast)
	for i := range ends {
		w.draw(p, r, course)
		ends[i] = course[h-1]
	}
	return quantiles(ends)
}

// After gives the quantiles of what is added within some days, at most as many as a course has.
func (f Futures) After(days int) forecast.Quantiles {
	ends := make([]float64, len(f.Courses))
	for i, c := range f.Courses {
		ends[i] = c[days-1]
	}
	return quantiles(ends)
}

func quantiles(x []float64) (q forecast.Quantiles) {
	slices.Sort(x)
	for i, p := range forecast.Levels {
		q[i] = quantile(x, p)
	}
	return q
}
