package space

import (
	"math/rand/v2"
)

const week = 7

// past is what is known at some day: what each day until then added.
type past struct {
	added  []float64
	level  []float64 // level[i] is the sum of the first i days; one longer than added
	regime []int     // regime[i]: where the regime began, as it was known after i days
	trends trends
}

// newPast makes it of what each day added.
func newPast(added []float64) *past {
	p := &past{added: added, level: make([]float64, len(added)+1), regime: regimes(added)}
	for i, v := range added {
		p.level[i+1] = p.level[i] + v
	}
	p.trends = newTrends(p.level)
	return p
}

// until is what was known after n days. Nothing of what came later is in it.
func (p *past) until(n int) *past {
	return &past{p.added[:n], p.level[:n+1], p.regime[:n+1], p.trends}
}

// Every so many days a damped trend is made of the past, for its errors.
const trendsEach = 7

// trends are the damped trends that were valid at days of the past.
type trends []trend // trends[i] after i*trendsEach days

// trend goes on with this much a day, which fades.
type trend struct{ jump, slope, phi float64 }

func (t trend) course(i int) float64 { return t.jump + t.slope*fading(t.phi, i+1) }

func newTrends(level []float64) (all trends) {
	f := newHolts(level[0])
	for i := range level {
		if i > 0 {
			f.see(level[i])
		}
		if i%trendsEach == 0 || i == len(level)-1 {
			all = append(all, f.best())
		}
	}
	return all
}

// at is the trend after n days, or the newest before.
func (t trends) at(n int) trend { return t[min(len(t)-1, (n+trendsEach-1)/trendsEach)] }

// drawHolt goes on with the damped trend, and adds the error that the trend of
// some day in the past made.
func (p *past) drawHolt(r *rand.Rand, course []float64) {
	n, h := len(p.added), len(course)
	now := p.trends.at(n)
	first, last := leastDays/trendsEach, (n-h)/trendsEach
	if last <= first { // no time that is as long has passed yet
		stretch(90, 30)(p, r, course)
		return
	}
	then := first + r.IntN(last-first+1)
	for i := range course {
		from := then * trendsEach
		course[i] = now.course(i) + (p.level[from+i+1] - p.level[from]) - p.trends[then].course(i)
	}
}
