package space

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/forecast"
)

var first = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// grown is a series of days, of which add tells what each adds.
func grown(days int, add func(day int) float64) forecast.Series {
	s, level := forecast.Series{Quantity: forecast.Quantity{Of: "tank", Name: "used", Unit: "bytes"}}, 1e11
	for d := range days + 1 {
		if d > 0 {
			level += add(d)
		}
		s.Days = append(s.Days, forecast.Day{Date: first.AddDate(0, 0, d), Value: level})
	}
	return s
}

func noisy(seed uint64) func(int) float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(int) float64 { return 1e9 * (5 + r.NormFloat64()) }
}

func TestSteadyGrowthIsForetold(t *testing.T) {
	s := grown(400, noisy(1))
	res := Of(s, Ask{Days: 90, Limit: &Limit{Bytes: s.Last().Value + 300e9, Why: "made"}})
	if res.Refusal != nil {
		t.Fatal(res.Refusal)
	}
	q := res.Points[len(res.Points)-1].Value
	want := s.Last().Value + 450e9
	if q[1] > want || q[3] < want || q[2] < want-40e9 || q[2] > want+40e9 {
		t.Errorf("%.4g to %.4g, median %.4g; %.4g is right", q[1], q[3], q[2], want)
	}
	if !slices.IsSorted(q[:]) {
		t.Errorf("quantiles fall: %v", q)
	}
	if f := res.Full; f == nil || f.Dates[1] == nil || f.Chance < 0.95 {
		t.Fatalf("%+v", f)
	} else if d := int(f.Dates[1].Sub(s.Last().Date).Hours() / 24); d < 54 || d > 67 {
		t.Errorf("full after %d days; 60 is right", d)
	}
}

func TestTheSameSeriesGivesTheSameForecast(t *testing.T) {
	a, b := Of(grown(120, noisy(2)), Ask{Days: 60}), Of(grown(120, noisy(2)), Ask{Days: 60})
	if !reflect.DeepEqual(a, b) {
		t.Error("two runs differ")
	}
}

// TestThePastKnowsNothingOfTheFuture is what all that is claimed of earlier days
// rests on: whatever comes later, what would have been said then is the same.
func TestThePastKnowsNothingOfTheFuture(t *testing.T) {
	for _, each := range []int{1, 7, 10} {
		early := readEach(grown(140, noisy(3)), each).Even(each).Added()
		r := rand.New(rand.NewPCG(4, 4))
		whole := slices.Clone(early)
		for range 210 / each {
			whole = append(whole, slices.Repeat([]float64{1e12 * r.NormFloat64()}, each)...) // nothing like it
		}
		then, alone := newPast(whole, each).until(len(early)), newPast(early, each)
		for _, w := range ways {
			a, b := make([]float64, 30), make([]float64, 30)
			then.course(w, rand.New(rand.NewPCG(1, 1)), a)
			alone.course(w, rand.New(rand.NewPCG(1, 1)), b)
			if !slices.Equal(a, b) {
				t.Errorf("%s draws other futures once it is known what came, where it is read each %d days", w.name, each)
			}
		}
		if !slices.Equal(then.regime, alone.regime) {
			t.Error("a change of slope is known before it came")
		}
	}
}

func TestRefusals(t *testing.T) {
	monthly := readEach(grown(900, noisy(5)), 30)
	weekly := readEach(grown(200, noisy(5)), 7)
	changed := grown(100, noisy(6))
	outlier := grown(60, noisy(5))
	outlier.Days = append(outlier.Days, forecast.Day{Date: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), Value: 1e12})
	for name, c := range map[string]struct {
		s            forecast.Series
		ask          Ask
		why, measure string
	}{
		"nothing":                 {forecast.Series{}, Ask{Days: 1}, "no recordings of it", "record"},
		"since today":             {grown(0, noisy(1)), Ask{Days: 1}, "known for less than a day", "14 days more"},
		"13 days":                 {grown(13, noisy(1)), Ask{Days: 1}, "known for 13 days", "1 day more"},
		"more than 3 times":       {grown(20, noisy(1)), Ask{Days: 61}, "61 days ahead", "60 days or less"},
		"once a month":            {monthly, Ask{Days: 90}, "it is known on only 30 of 900 days; the longest gap is from 2025-01-01 to 2025-01-31", "14 must be known, on average one every 10 days, and none more than 21 days after"},
		"13 weeks":                {readEach(grown(91, noisy(5)), 7), Ask{Days: 90}, "it was read 13 times in 91 days after the first time, but a forecast needs 14", "record it 1 time more as before"},
		"within a week":           {weekly, Ask{Days: 6}, "6 days ahead is less than the 7 from one reading to the next", "ask for 7 days or more"},
		"a date of the year 2099": {outlier, Ask{Days: 10}, "the longest gap is from 2025-03-02 to 2099-01-01", "every day, or regularly"},
		"a change in it":          {changed, Ask{Days: 10, Changes: []Change{{changed.Days[95].Date, "version 1 became 2"}}}, "version 1 became 2 on 2025-04-06", "in 9 days"},
	} {
		res := Of(c.s, c.ask)
		if res.Refusal == nil {
			t.Errorf("%s is not refused", name)
			continue
		}
		if !strings.Contains(res.Refusal.Why, c.why) || !strings.Contains(res.Refusal.Measure, c.measure) {
			t.Errorf("%s: %+v", name, *res.Refusal)
		}
		if len(res.Points) > 0 || res.Full != nil {
			t.Errorf("%s is refused and forecast", name)
		}
	}
	for name, c := range map[string]struct {
		s   forecast.Series
		ask Ask
	}{
		"14 days":            {grown(14, noisy(1)), Ask{Days: 1}},
		"3 times":            {grown(20, noisy(1)), Ask{Days: 60}},
		"a change before it": {changed, Ask{Days: 10, Changes: []Change{{changed.Days[80].Date, "version 1 became 2"}}}},
	} {
		if res := Of(c.s, c.ask); res.Refusal != nil {
			t.Errorf("%s is refused: %s", name, res.Refusal.Why)
		}
	}
}

// TestWhatIsKeptIsTold: who is to record for longer has to know that what is recorded is
// forgotten before.
func TestWhatIsKeptIsTold(t *testing.T) {
	const keeps = "this Prometheus keeps 15d of the past"
	if r := Of(grown(13, noisy(1)), Ask{Days: 1, Keeps: keeps}); r.Refusal == nil || !strings.HasSuffix(r.Refusal.Measure, "; "+keeps) {
		t.Errorf("%+v", r.Refusal)
	}
	if r := Of(grown(20, noisy(1)), Ask{Days: 1, Keeps: keeps}); !slices.Contains(r.Assumptions, keeps) {
		t.Errorf("%q", r.Assumptions)
	}
}

func TestOnlyWhatCameAfterAChangeCounts(t *testing.T) {
	s := grown(100, func(d int) float64 {
		if d > 50 {
			return 1e9
		}
		return 90e9
	})
	res := Of(s, Ask{Days: 10, Changes: []Change{{s.Days[50].Date, "compression off became lz4"}}})
	if q := res.Points[len(res.Points)-1].Value; res.History != 50 || q[4] > s.Last().Value+40e9 {
		t.Errorf("%d days of history, %v", res.History, q)
	}
}

func TestFullToday(t *testing.T) {
	s := grown(30, noisy(7))
	res := Of(s, Ask{Days: 10, Limit: &Limit{Bytes: s.Last().Value, Why: "made"}})
	if f := res.Full; f.Chance != 1 || f.Dates[2] == nil || !f.Dates[2].Equal(s.Last().Date) {
		t.Errorf("%+v", f)
	}
	res = Of(s, Ask{Days: 10, Limit: &Limit{Bytes: 1e15, Why: "made"}})
	if f := res.Full; f.Chance != 0 || f.Dates[0] != nil {
		t.Errorf("%+v", f)
	}
}

// A log that is rotated each week is not going to fill the disk.
func TestBoundedStaysWhereItIs(t *testing.T) {
	s := forecast.Series{}
	for d := range 120 {
		s.Days = append(s.Days, forecast.Day{Date: first.AddDate(0, 0, d), Value: 1e9 + 1e8*float64(d%7)})
	}
	res := Of(s, Ask{Days: 90, Bounded: true})
	if q := res.Points[len(res.Points)-1].Value; q[0] < 0.99e9 || q[4] > 1.61e9 {
		t.Errorf("%v", q)
	}
}

// TestWhatBoundedRestsOnIsTold: that it is emptied is not all that must stay as it is.
func TestWhatBoundedRestsOnIsTold(t *testing.T) {
	s := forecast.Series{}
	for d := range 120 {
		if d != 100 {
			s.Days = append(s.Days, forecast.Day{Date: first.AddDate(0, 0, d), Value: 1e9 + 1e8*float64(d%7)})
		}
	}
	said := strings.Join(Of(s, Ask{Days: 30, Bounded: true, Limit: &Limit{Bytes: 1e12, Why: "if nothing else there grows"},
		Changes: []Change{{At: first.AddDate(0, 0, 30), What: "version 1 became 2"}}}).Assumptions, "\n")
	for _, want := range []string{"it continues to be emptied as before", "nothing else there grows", "version 1 became 2", "of 1 day within"} {
		if !strings.Contains(said, want) {
			t.Errorf("it is not said: %s, in\n%s", want, said)
		}
	}
	if strings.Contains(said, "what is added") {
		t.Errorf("it does not grow: %s", said)
	}
}

// A gap of which whole weeks are left out moves neither levels nor dates.
func TestALongGapMovesNothing(t *testing.T) {
	s := forecast.Series{}
	for d := range 200 {
		level := 1e9
		if d >= 170 { // after the gap it is kept for five times as long
			level = 5e9
		}
		if d < 140 || d >= 170 {
			s.Days = append(s.Days, forecast.Day{Date: first.AddDate(0, 0, d), Value: level + 1e7*float64(d%7)})
		}
	}
	res := Of(s, Ask{Days: 30, Bounded: true})
	if q := res.Points[len(res.Points)-1].Value; q[0] < 0.99e9 || q[4] > 5.07e9 {
		t.Errorf("between levels of 1e9 and 5e9: %v", q)
	}
	f := noisy(11)
	grows := grown(300, func(d int) float64 {
		if d > 220 {
			return f(d) + 8e9
		}
		return f(d)
	})
	grows.Days = slices.DeleteFunc(grows.Days, func(d forecast.Day) bool {
		day := int(d.Date.Sub(first) / aDay)
		return day > 240 && day < 262
	})
	since := Of(grows, Ask{Days: 30}).Slope
	if since == nil || since.Before(first.AddDate(0, 0, 215)) || since.After(first.AddDate(0, 0, 225)) {
		t.Errorf("the slope changed on day 220, and is said to be as it is since %v", since)
	}
}

// TestAnOldGapHidesNothingSince: a year of which little is known does not keep a year that is known
// from carrying a forecast.
func TestAnOldGapHidesNothingSince(t *testing.T) {
	s := grown(900, noisy(12))
	s.Days = slices.Delete(s.Days, 20, 760)
	s.Days[0].Date = time.Unix(0, 0).UTC() // a clock that was not set yet
	res := Of(s, Ask{Days: 90})
	if res.Refusal != nil || res.History != 140 || res.Unknown != 0 {
		t.Fatalf("%+v; %d days of history, %d unknown", res.Refusal, res.History, res.Unknown)
	}
	if want := "nothing before 2027-01-31 counts: too little is known about that time"; !slices.Contains(res.Assumptions, want) {
		t.Errorf("it is not said: %s, in %q", want, res.Assumptions)
	}
	s = grown(300, noisy(13)) // half a year, a gap, and as much
	s.Days = slices.Delete(s.Days, 120, 180)
	if res := Of(s, Ask{Days: 90}); res.History != 300 || res.Unknown != 60 {
		t.Errorf("%d days of history, %d unknown", res.History, res.Unknown)
	}
}

func TestNothingAddedIsForetoldAsNothing(t *testing.T) {
	s := grown(60, func(int) float64 { return 0 })
	res := Of(s, Ask{Days: 30})
	if q := res.Points[0].Value; q[0] != 1e11 || q[4] != 1e11 {
		t.Errorf("%v", q)
	}
	never := func(a string) bool { return strings.Contains(a, "it was the same on all of these days") }
	if !slices.ContainsFunc(res.Assumptions, never) {
		t.Errorf("ranges of no width are not doubted: %q", res.Assumptions)
	}
	if res := Of(grown(60, noisy(1)), Ask{Days: 30}); slices.ContainsFunc(res.Assumptions, never) {
		t.Errorf("%q", res.Assumptions)
	}
}

// TestEvenGrowthIsDoubted: ranges of no width are also those of what was added evenly.
func TestEvenGrowthIsDoubted(t *testing.T) {
	res := Of(grown(400, func(int) float64 { return 1 << 20 }), Ask{Days: 30})
	if q := res.Points[len(res.Points)-1].Value; q[4]-q[0] >= 1 {
		t.Errorf("a width of %g", q[4]-q[0])
	}
	if !slices.ContainsFunc(res.Assumptions, func(a string) bool { return strings.Contains(a, "the ranges have no width") }) {
		t.Errorf("even growth is not doubted: %q", res.Assumptions)
	}
}

// TestShortPastsAreDoubted: what ranges from few days are worth is told, as it was measured.
func TestShortPastsAreDoubted(t *testing.T) {
	for _, c := range []struct {
		history, ahead int
		want           string
	}{{14, 5, "14 days were known, 53 % of what came 7 days"}, {29, 30, "21 days were known, 53 % of what came 30 days"}, {50, 15, "45 days were known, 67 % of what came 30 days"},
		{40, 119, "30 days were known, 47 % of what came 90 days"}, {90, 90, "90 days were known, 66 % of what came 90 days later was within such a range of 80 %, and 81 % within"}, {90, 7, ""}, {200, 60, "180 days were known, 75 % of what came 90 days"}, {400, 1000, ""}} {
		got := doubtOf(c.history, c.ahead, 1)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%d days ahead of %d: %q", c.ahead, c.history, got)
		}
	}
	for _, c := range []struct {
		history, ahead, each int
		want                 string
	}{{120, 60, 7, "98 days were known, one in 7, 68 % of what came 90 days"}, {120, 60, 5, "98 days were known, one in 7, 68 % of what came 90 days"},
		{60, 30, 7, "98 days were known, one in 7, 75 % of what came 30 days later was within such a range of 80 %, and 89 %"}, {400, 90, 7, ""}, {250, 90, 10, "210 days were known, one in 10, 75 % of what came 90 days"},
		{42, 30, 3, "42 days were known, one in 3, 60 % of what came 30 days"}} {
		got := doubtOf(c.history, c.ahead, c.each)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%d days ahead of %d, read each %d: %q", c.ahead, c.history, c.each, got)
		}
	}
	if r := Of(grown(20, noisy(1)), Ask{Days: 10}); !slices.ContainsFunc(r.Assumptions, func(a string) bool { return strings.HasPrefix(a, "the past is short: ") }) {
		t.Errorf("%q", r.Assumptions)
	}
}

// TestTheRateIsNotKnownExactly: each way that is no rival draws futures whose rates differ by
// more where months differ by more, and by nothing where all are alike.
func TestTheRateIsNotKnownExactly(t *testing.T) {
	bursts := func(d int) float64 { return 1e9 + 2e10*float64((d/month)%3/2) }
	even := newPast(grown(400, func(d int) float64 { return 1e9 * float64(1+d%week) }).Added(), 1)
	bursty := newPast(grown(400, bursts).Added(), 1)
	if even.unsure > 1e-9 || bursty.unsure < 0.2 || bursty.unsure > 0.5 {
		t.Fatalf("rates are off by %g and %g", even.unsure, bursty.unsure)
	}
	for _, w := range ways {
		plain, course := make([]float64, 30), make([]float64, 30)
		w.draw(bursty, rand.New(rand.NewPCG(1, 1)), plain)
		bursty.course(w, rand.New(rand.NewPCG(1, 1)), course)
		if same := slices.Equal(plain, course); same != w.rival {
			t.Errorf("%s takes the rate for the true one: %v", w.name, same)
		}
	}
	if short := newPast(grown(14, bursts).Added(), 1); short.unsure != 0 {
		t.Errorf("two weeks that are alike differ by %g", short.unsure)
	}
	turns := func(d int) float64 { return 1e9 + 1e9*float64(d/week%2) }
	few, many := newPast(grown(4*week, turns).Added(), 1).unsure, newPast(grown(20*week, turns).Added(), 1).unsure
	if few < 0.2 || many < 0.8*few {
		t.Errorf("four weeks leave the rate unknown by %g, and twenty by %g", few, many)
	}
}

// TestNothingLostIsNoDivisor: of what repeats exactly a rival may lose nothing, and the
// others what rounding leaves. All parts together are one.
func TestNothingLostIsNoDivisor(t *testing.T) {
	for _, of := range [][2]float64{{1e-7, 0}, {0, 0}, {0, 1e-7}, {1e9, 0}, {1e9, 1e-40}, {1e18, 1e17}} {
		losses := make([]float64, len(ways))
		for i, w := range ways {
			if losses[i] = of[0]; w.rival {
				losses[i] = of[1]
			}
		}
		sum := 0.0
		for _, w := range weightsOf(losses, 10) {
			sum += w
		}
		if !(math.Abs(sum-1) < 1e-9) {
			t.Errorf("losses of %g, and of rivals %g: parts of %g together", of[0], of[1], sum)
		}
	}
}

// TestWhatRepeatsExactly: each week adds to the byte what the one before did, and nothing
// else is foretold.
func TestWhatRepeatsExactly(t *testing.T) {
	for name, each := range map[string]func(d int) float64{
		"whole bytes":    func(d int) float64 { return 1e9 * float64(d%week) },
		"parts of bytes": func(d int) float64 { return 1e9 / 3 * float64(1+d%week) },
		"once a week":    func(d int) float64 { return 7e8 / 3 * float64((d%week)/6) },
		"shrinks too":    func(d int) float64 { return 1e7/3*float64(d%week) - 1e7 },
	} {
		for _, days := range []int{14, 28, 60, 200, 400} {
			for _, ahead := range []int{7, 14, 28} {
				s := grown(days, each)
				res := Of(s, Ask{Days: ahead, Limit: &Limit{Bytes: 1e15, Why: "made"}})
				want := grown(days+ahead, each).Last().Value
				q := res.Points[len(res.Points)-1].Value
				if math.Abs(q.Median()-want) > 1 && days >= 60 {
					t.Errorf("%s, %d days: %.12g after %d, want %.12g", name, days, q.Median(), ahead, want)
				}
			}
		}
	}
}

func TestAChangeOfSlopeIsNoticedWithinAWeek(t *testing.T) {
	noticed, wrong := 0, 0
	for seed := range uint64(100) {
		f := noisy(seed)
		s := grown(400+week, func(d int) float64 {
			if d > 400 {
				return f(d) + 2e9 // twice the spread of a day
			}
			return f(d)
		})
		from := regimes(s.Added(), 1)
		if from[400+week] > 400-week {
			noticed++
		}
		s.Days = s.Days[:401]
		wrong += Changes(s)
	}
	if noticed < 97 {
		t.Errorf("noticed in %d of 100 series", noticed)
	}
	if wrong > 100 {
		t.Errorf("%d false notices in 100 times 400 days, where one each is permitted", wrong)
	}
}

// A week that is unlike the others is noticed, and taken back when those after it are not.
func TestANoticeIsTakenBack(t *testing.T) {
	f := noisy(9)
	added := grown(250, func(d int) float64 {
		if d > 200 && d <= 207 {
			return f(d) + 2e9
		}
		return f(d)
	}).Added()
	from := regimes(added, 1)
	if from[207] < 197 {
		t.Errorf("the slope is said to be as it is since day %d; it changed after day 200", from[207])
	}
	if from[230] != 0 {
		t.Errorf("the slope is said to have changed on day %d; it only did for a week", from[230])
	}
}

// What is loaded on one day is no change of slope, whatever its size.
func TestOneLargeDayIsNoChange(t *testing.T) {
	noticed := 0
	for seed := range uint64(100) {
		f := noisy(seed + 100)
		from := regimes(grown(237, func(d int) float64 {
			if d == 230 {
				return f(d) + 50e9
			}
			return f(d)
		}).Added(), 1)
		for end := 230; end <= 237; end++ {
			if from[end] >= 223 {
				noticed++
				break
			}
		}
	}
	if noticed > 20 {
		t.Errorf("taken for a change of slope in %d of 100 series", noticed)
	}
}

func TestSlop(t *testing.T) {
	for size, want := range map[float64]float64{1 << 40: 1 << 35, 100 << 40: 128 << 30, 1 << 30: 128 << 20, 100 << 20: 50 << 20} {
		if got := Slop(size); got != want {
			t.Errorf("%g keeps %g back, want %g", size, got, want)
		}
	}
}

// BenchmarkYear forecasts 90 days of 400, which is to take a second at most.
func BenchmarkYear(b *testing.B) {
	s := grown(400, noisy(8))
	for b.Loop() {
		Of(s, Ask{Days: 90, Limit: &Limit{Bytes: 1e13, Why: "made"}})
	}
}
