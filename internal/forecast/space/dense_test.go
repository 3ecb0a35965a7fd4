package space

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumb/internal/forecast"
)

// readEach keeps each so many days one, the last one among them.
func readEach(s forecast.Series, each int) (out forecast.Series) {
	out.Quantity = s.Quantity
	for i := (len(s.Days) - 1) % each; i < len(s.Days); i += each {
		out.Days = append(out.Days, s.Days[i])
	}
	return out
}

// TestReadSeldom: who writes down a size each week gets a forecast of what will be written down, with what it rests on.
func TestReadSeldom(t *testing.T) {
	whole := grown(400, noisy(1))
	for _, each := range []int{3, 5, 7, 10} {
		s := readEach(whole, each)
		res := Of(s, Ask{Days: 91})
		if res.Refusal != nil {
			t.Errorf("each %d days: %s", each, res.Refusal.Why)
			continue
		}
		q, want := res.Points[len(res.Points)-1].Value, s.Last().Value+455e9
		if q[1] > want || q[3] < want || q[2] < want-40e9 || q[2] > want+40e9 {
			t.Errorf("each %d days: %.4g to %.4g, median %.4g; %.4g is right", each, q[1], q[3], q[2], want)
		}
		for i, p := range res.Points {
			if ahead := int(p.Date.Sub(s.Last().Date) / aDay); ahead%each != 0 && i < len(res.Points)-1 || ahead < each {
				t.Errorf("each %d days: %d days ahead nothing will be read", each, ahead)
			}
		}
		if said := strings.Join(res.Assumptions, "\n"); !strings.Contains(said, fmt.Sprintf("it was read about every %d days", each)) || strings.Contains(said, "nothing is known but their sum") {
			t.Errorf("each %d days: %s", each, said)
		}
	}
}

// TestReadRoughlyEachWeek: on Mondays, or on Tuesdays after holidays, and once not at all.
func TestReadRoughlyEachWeek(t *testing.T) {
	whole := grown(400, noisy(2))
	var s forecast.Series
	for week := range 57 {
		day := 7 * week
		if week == 20 {
			continue
		}
		if week%5 == 0 {
			day++
		}
		s.Days = append(s.Days, whole.Days[day])
	}
	res := Of(s, Ask{Days: 70})
	if res.Refusal != nil {
		t.Fatal(res.Refusal.Why)
	}
	q, want := res.Points[len(res.Points)-1].Value, s.Last().Value+350e9
	if q[1] > want || q[3] < want || q[2] < want-40e9 || q[2] > want+40e9 {
		t.Errorf("%.4g to %.4g, median %.4g; %.4g is right", q[1], q[3], q[2], want)
	}
	if _, each, _, _ := dense(s); each != 7 {
		t.Errorf("it is read each %d days", each)
	}
}

// TestWeeksThatDifferAreWide: what a week adds is known as well where it is only read each week, so that
// ranges are no narrower than those from each day.
func TestWeeksThatDifferAreWide(t *testing.T) {
	bursts := noisy(7)
	whole := grown(700, func(d int) float64 { return bursts(d) + 3e10*float64(d/week*7919%5/4) })
	daily, weekly := Of(whole, Ask{Days: 84}), Of(readEach(whole, 7), Ask{Days: 84})
	wide := func(r Result) float64 { q := r.Points[len(r.Points)-1].Value; return q[3] - q[1] }
	if wide(weekly) < 0.8*wide(daily) {
		t.Errorf("the range from weekly readings is %.3g wide, and from daily ones %.3g", wide(weekly), wide(daily))
	}
}

// TestDailyAfterWeekly: a past that was read each week counts as well.
func TestDailyAfterWeekly(t *testing.T) {
	whole := grown(500, noisy(8))
	s := readEach(forecast.Series{Days: whole.Days[:430]}, 7)
	s.Days = append(s.Days, whole.Days[430:]...)
	since, each, _, said := dense(s)
	if each != 7 || len(said) != 0 || len(since.Days) != len(s.Days) {
		t.Errorf("each %d days, %q, %d of %d readings", each, said, len(since.Days), len(s.Days))
	}
	// Half of the days known are as many as a forecast of days takes.
	half := whole
	half.Days = slices.DeleteFunc(slices.Clone(whole.Days), func(d forecast.Day) bool { return d.Date.Day()%2 == 0 })
	if _, each, _, _ := dense(half); each != 1 {
		t.Errorf("of every other day it is said that it was read about every %d days", each)
	}
}

// TestJudgedOnDaysThatWereRead: a trend of a day between two readings would know the second.
func TestJudgedOnDaysThatWereRead(t *testing.T) {
	for each := 1; each <= mostEvery; each++ {
		p := newPast(readEach(grown(140, noisy(3)), each).Even(each).Added(), each)
		if p.trendsEach()%each != 0 || p.whole(week)%each != 0 || p.trendsEach() < 5 || p.whole(week) < week {
			t.Errorf("read each %d days, trends are made each %d, and blocks have %d", each, p.trendsEach(), p.whole(week))
		}
	}
}

// TestNoSlopeChangesBetweenReadings: days between two readings are alike, and no change of slope for that.
func TestNoSlopeChangesBetweenReadings(t *testing.T) {
	for _, each := range []int{3, 7} {
		notices := 0
		for seed := range uint64(50) {
			from := regimes(readEach(grown(420, noisy(seed)), each).Even(each).Added(), each)
			for day := 1; day < len(from); day++ {
				if from[day] > from[day-1] {
					notices++
				}
			}
		}
		if notices > 60 {
			t.Errorf("read each %d days, %d changes of slope are noticed in 50 series of which none changes", each, notices)
		}
	}
}
