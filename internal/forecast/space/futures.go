package space

import (
	"math"
	"math/rand/v2"
	"slices"

	"plumb/internal/forecast"
	"plumb/internal/stats"
)

const (
	drawn     = 2000 // futures of a forecast
	drawnPast = 200  // of each way at each day of the past that it is judged by
	judged    = 20   // days of the past by which ways are judged, at most
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
			p.course(ways[w], r, course)
			f.Courses = append(f.Courses, course)
		}
	}
	return f
}

// longBounded is how far back a bounded thing looks: what was kept two seasons
// ago was kept by another rate.
const longBounded = 91

// drawBounded draws levels instead of what is added: of what is emptied as it is
// filled, the level stays about where it was, and only wanders. They are the
// levels that were read, also across gaps of which whole weeks are left out.
func drawBounded(first float64, steps []forecast.Step, days, cycle int) Futures {
	f, n := Futures{Courses: make([][]float64, drawn)}, len(steps)
	level := []float64{first}
	for _, s := range steps {
		level = append(level, s.Level)
	}
	r := rand.New(rand.NewPCG(uint64(n), 25))
	from := max(0, n-longBounded)
	for k := range f.Courses {
		f.Courses[k] = make([]float64, days)
		weeksOfLevels(r, level, f.Courses[k], from, cycle)
	}
	return f
}

// weeksOfLevels fills a course with the levels of weeks since a day.
func weeksOfLevels(r *rand.Rand, level, course []float64, from, cycle int) {
	n := len(level) - 1
	for day := 0; day < len(course); day += week {
		at := aligned(n, from+r.IntN(n-week-from+1), from, n-week, day, cycle)
		for i := range min(week, len(course)-day) {
			course[day+i] = level[at+i+1] - level[n]
		}
	}
}

// rivals tells what each way would say alone, and how it did.
func (f Futures) rivals(p *past, from float64) (list []forecast.Rival) {
	days := len(f.Courses[0])
	r := rand.New(rand.NewPCG(uint64(len(p.added)), 26))
	for i, w := range ways {
		v := forecast.Rival{Name: w.name, Naive: w.rival, Weight: f.Weights[i], Values: levels(p.quantilesOf(w, r, days), from)}
		if f.Losses != nil {
			v.Loss = &f.Losses[i]
		}
		list = append(list, v)
	}
	return list
}

// weigh judges the ways by what they would have said on earlier days, h days
// ahead. Where nothing can be known of that yet, all but the rivals count alike.
func (p *past) weigh(h int) (weights, losses []float64) {
	losses = p.lossesAt(h)
	if losses == nil {
		return alike(), nil
	}
	return weightsOf(losses, min(10, trust*float64(len(p.added))/float64(h))), losses
}

// weightsOf gives each way its part: the less, the more it lost. A rival has one only
// where it lost less than all that are none.
func weightsOf(losses []float64, power float64) []float64 {
	counted, least, best := make([]float64, len(ways)), math.Inf(1), math.Inf(1)
	for i, w := range ways {
		counted[i] = max(losses[i], noLoss)
		if best = min(best, counted[i]); !w.rival {
			least = min(least, counted[i])
		}
	}
	weights, sum := make([]float64, len(ways)), 0.0
	for i, w := range ways {
		if !w.rival || counted[i] < least {
			weights[i] = math.Pow(counted[i]/best, -power) // 1 of the best one: their sum is a number
			sum += weights[i]
		}
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

// noLoss is a loss that is none: less than a byte. Of what repeats exactly one way loses
// nothing and another what rounding leaves, and neither is the better one for that.
const noLoss = 1

func alike() []float64 {
	weights, count := make([]float64, len(ways)), 0.0
	for _, w := range ways {
		if !w.rival {
			count++
		}
	}
	for i, w := range ways {
		if !w.rival {
			weights[i] = 1 / count
		}
	}
	return weights
}

// lossesAt is the mean loss of each way on earlier days; nil where there are none.
func (p *past) lossesAt(h int) []float64 {
	n := len(p.added)
	first, last := max(leastDays, h), n-h
	last -= last % p.each // a day that was read
	if last-first < week {
		return nil
	}
	losses := make([]float64, len(ways))
	step := p.whole(max(week, (last-first)/judged))
	r := rand.New(rand.NewPCG(uint64(n), 24))
	count := 0.0
	for at := last; at >= first; at -= step {
		then, came := p.until(at), p.level[at+h]-p.level[at]
		for i, w := range ways {
			losses[i] += forecast.Pinball(then.quantilesOf(w, r, h), came)
		}
		count++
	}
	for i := range losses {
		losses[i] /= count
	}
	return losses
}

// trust is how much more the better way counts, for each time that as many days
// have passed as are forecast.
const trust = 0.4

func (p *past) quantilesOf(w way, r *rand.Rand, h int) forecast.Quantiles {
	course, ends := make([]float64, h), make([]float64, drawnPast)
	for i := range ends {
		p.course(w, r, course)
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
		q[i] = stats.Quantile(x, p)
	}
	return q
}
