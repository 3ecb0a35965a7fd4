package forecast

import (
	"math"
	"slices"
	"time"
)

// Day is what a quantity was at the end of one day, UTC.
type Day struct {
	Date  time.Time // midnight, UTC
	Value float64
}

// Series is a quantity day by day. A day of which nothing is known is not in
// it: that is not a day on which nothing was added.
type Series struct {
	Quantity Quantity
	Days     []Day // in order of date, one each
}

// Daily makes a series of readings at any moments: of each day the last one
// counts. What is no number is dropped.
func Daily(q Quantity, readings []Day) Series {
	kept := slices.DeleteFunc(slices.Clone(readings), func(d Day) bool { return math.IsNaN(d.Value) || math.IsInf(d.Value, 0) })
	slices.SortStableFunc(kept, func(a, b Day) int { return a.Date.Compare(b.Date) })
	s := Series{Quantity: q}
	for _, d := range kept {
		d.Date = d.Date.UTC().Truncate(24 * time.Hour)
		if n := len(s.Days); n > 0 && s.Days[n-1].Date.Equal(d.Date) {
			s.Days[n-1] = d
			continue
		}
		s.Days = append(s.Days, d)
	}
	return s
}

// Last is the newest day that is known.
func (s Series) Last() Day { return s.Days[len(s.Days)-1] }

// IsFull tells whether so little is left of a size that servers cannot go on: one extends its files, or begins a new one,
// by many pages at once.
func IsFull(used, size float64) bool { return size > 0 && used >= 0.999*size }

// week is the length of the pattern that days repeat.
const week = 7

// Step is a day of which it is known what it added, and the level it ended with.
type Step struct {
	Date         time.Time
	Added, Level float64
}

// mostSpread is the longest gap over whose days what it added is spread.
const mostSpread = 10

// Steps gives what each day added, oldest first. Of days that are not known only
// their sum is: it is spread over them when they are few. Of a longer gap whole weeks
// are left out, so that weekdays stay in their places.
func (s Series) Steps() []Step {
	var out []Step
	for i := 1; i < len(s.Days); i++ {
		n, end := s.between(i), s.Days[i]
		each := (end.Value - s.Days[i-1].Value) / float64(n)
		if n > mostSpread {
			n = n % week
		}
		for left := n - 1; left >= 0; left-- {
			out = append(out, Step{end.Date.AddDate(0, 0, -left), each, end.Value - float64(left)*each})
		}
	}
	return out
}

// Added gives what each day of Steps added.
func (s Series) Added() []float64 { return Added(s.Steps()) }

// Added gives what each of some days added.
func Added(steps []Step) (out []float64) {
	for _, step := range steps {
		out = append(out, step.Added)
	}
	return out
}

// Unknown counts the days between the first and the last of which nothing is known.
func (s Series) Unknown() (days int) {
	for i := 1; i < len(s.Days); i++ {
		days += s.between(i) - 1
	}
	return days
}

// between is how many days later than the one before it day i is.
func (s Series) between(i int) int {
	return int(s.Days[i].Date.Sub(s.Days[i-1].Date) / (24 * time.Hour))
}

// Every is how many days usually lie between two readings: half of the time passed within gaps
// that are no longer.
func (s Series) Every() int {
	var gaps []int
	span := 0
	for i := 1; i < len(s.Days); i++ {
		gaps = append(gaps, s.between(i))
		span += s.between(i)
	}
	slices.Sort(gaps)
	passed := 0
	for _, gap := range gaps {
		if passed += gap; 2*passed >= span {
			return gap
		}
	}
	return 1
}

// Even gives the series on days that are as far from one another, back from the last one. What was
// added between two readings is spread evenly over the days between them.
func (s Series) Even(each int) Series {
	even, i := Series{Quantity: s.Quantity}, len(s.Days)-1
	for at := s.Last().Date; !at.Before(s.Days[0].Date); at = at.AddDate(0, 0, -each) {
		for i > 0 && at.Before(s.Days[i].Date) {
			i--
		}
		d := Day{at, s.Days[i].Value}
		if from := s.Days[i]; from.Date.Before(at) {
			to := s.Days[i+1]
			d.Value += (to.Value - from.Value) * float64(at.Sub(from.Date)) / float64(to.Date.Sub(from.Date))
		}
		even.Days = append(even.Days, d)
	}
	slices.Reverse(even.Days)
	return even
}
