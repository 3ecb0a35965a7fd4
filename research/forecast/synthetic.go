package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
)

// synthetic makes series as disks have them: slopes that change, weekdays, logs
// that are rotated, deletes, bursts. A quarter keeps its slope.
func synthetic(n int) (all []sample) {
	for k := range n {
		r := rand.New(rand.NewPCG(uint64(k), 2026))
		m := maker{r: r, days: 800 + r.IntN(700), rate: 1e9 * math.Exp(r.NormFloat64())}
		m.noise = m.rate * (0.1 + r.Float64())
		for i := range m.week {
			if k%2 == 0 {
				m.week[i] = 0.8 * m.rate * r.NormFloat64()
			}
		}
		switch k % 5 {
		case 0:
			m.burst = 0.02
		case 1:
			m.deletes = 0.01
		case 2:
			m.rotated = 7 * m.rate * r.Float64()
		}
		if k%4 != 0 {
			m.changes = map[int]float64{}
			for range 1 + r.IntN(4) {
				m.changes[r.IntN(m.days)] = math.Exp(r.NormFloat64())
			}
		}
		all = append(all, sample{fmt.Sprintf("synthetic %d", k), m.series(), k%4 != 0})
	}
	return all
}

type maker struct {
	r                       *rand.Rand
	days                    int
	rate, noise             float64
	week                    [7]float64
	burst, deletes, rotated float64
	changes                 map[int]float64
}

func (m maker) series() (days []forecast.Day) {
	slope, level := 1.0, 100e9
	for d := range m.days {
		if v, is := m.changes[d]; is {
			slope = v
		}
		level += slope*m.rate + m.noise*m.r.NormFloat64() + m.week[d%7]
		if m.r.Float64() < m.burst {
			level += 30 * m.rate * m.r.ExpFloat64()
		}
		if m.r.Float64() < m.deletes {
			level -= 50 * m.rate * m.r.Float64()
		}
		level = max(1e7, level) // a filesystem takes some for itself: what is quite empty is another thing afterwards
		days = append(days, day(d, level+m.rotated*float64(d%14)))
	}
	return days
}

func day(d int, v float64) forecast.Day {
	return forecast.Day{Date: time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, d), Value: v}
}

// notices counts how soon a change of slope by twice the daily spread is
// noticed, and how often one is that is none.
func notices() {
	const series, before, after = 400, 200, 7
	in7, wrong, quiet := 0, 0, 0
	for k := range series {
		r := rand.New(rand.NewPCG(uint64(k), 7))
		sign := float64(1 - 2*(k%2))
		var days []forecast.Day
		level := 1e12
		for d := range before + after + 1 {
			rate := 5.0
			if d > before {
				rate += 2 * sign
			}
			level += 1e9 * (rate + r.NormFloat64())
			days = append(days, day(d, level))
		}
		res := space.Of(forecast.Series{Days: days}, space.Ask{Days: 1})
		in7 += truth(res.Slope != nil && !res.Slope.Before(day(before-after, 0).Date))
		days = days[:0]
		for d := range 401 {
			level += 1e9 * (5 + r.NormFloat64())
			days = append(days, day(d, level))
		}
		n := space.Changes(forecast.Series{Days: days})
		wrong += n
		quiet += truth(n <= 1)
	}
	fmt.Printf("\nchange of slope by twice the daily spread, %d series: noticed within 7 days in %.1f %%; %.2f false notices in 400 days, at most one in %.1f %% of series\n"+
		"no rule with one false notice in 400 days can notice more than %.2f %%\n",
		series, 100*float64(in7)/series, float64(wrong)/series, 100*float64(quiet)/series, 100*mostNoticed(1))
}

// mostNoticed is how many changes by twice the daily spread any rule can notice within 7 days
// whose false notices in 400 days are that many, even if it knows the usual and its spread. A
// notice within a week is a test of that week, and of all tests with as many false
// positives that of the sum finds most (J. Neyman and E. S. Pearson, 1933).
func mostNoticed(wrong float64) float64 {
	z := math.Sqrt2 * math.Erfinv(1-wrong*7/400)
	shift := 2 * math.Sqrt(7)
	return (1 + math.Erf((shift-z)/math.Sqrt2)) / 2
}
