package space

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCyclesOfDays: what is removed each so many days is told from a week, also where weekdays differ, and chance from both.
func TestCyclesOfDays(t *testing.T) {
	removed := func(each int) func(r *rand.Rand, d int) float64 {
		return func(r *rand.Rand, d int) float64 {
			if d%each == 0 {
				return 1e9 * (6 - 5*float64(each) + r.NormFloat64())
			}
			return 1e9 * (6 + r.NormFloat64())
		}
	}
	burst := 0.0
	for name, c := range map[string]struct {
		added func(r *rand.Rand, d int) float64
		want  int
	}{
		"each tenth day":  {removed(10), 10},
		"each fortnight":  {removed(14), 14},
		"each 30 days":    {removed(30), 30},
		"a week":          {removed(7), week},
		"weekdays":        {func(r *rand.Rand, d int) float64 { return 1e9 * (float64(d%7) + r.NormFloat64()) }, week},
		"noise":           {func(r *rand.Rand, _ int) float64 { return 1e9 * (5 + r.NormFloat64()) }, week},
		"always the same": {func(*rand.Rand, int) float64 { return 1e9 }, week},
		"nothing":         {func(*rand.Rand, int) float64 { return 0 }, week},
		"a day in fifty": {func(r *rand.Rand, _ int) float64 {
			if r.IntN(50) == 0 {
				return 1e9 * r.ExpFloat64()
			}
			return 0
		}, week},
		"bursts that last": {func(r *rand.Rand, _ int) float64 {
			if burst *= 0.7; r.IntN(20) == 0 {
				burst += 30 * r.ExpFloat64()
			}
			return 1e9 * (burst + r.NormFloat64())
		}, week},
		"heavy tails": {func(r *rand.Rand, _ int) float64 { return 1e9 * math.Exp(2*r.NormFloat64()) }, week},
	} {
		wrong := 0
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, 31))
			added := make([]float64, 365)
			for d := range added {
				added[d] = c.added(r, d)
			}
			if cycleOf(added, 1) != c.want {
				wrong++
			}
		}
		if wrong > 1 {
			t.Errorf("%s: %d of 50 times it is not %d days", name, wrong, c.want)
		}
	}
}

// TestAFortnightIsForetold: how often something is removed within a month is no chance, of what grows and of what is rotated.
func TestAFortnightIsForetold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 31))
	grows := grown(400, func(d int) float64 {
		if d%14 == 0 {
			return 1e9 * (5 - 70 + r.NormFloat64())
		}
		return 1e9 * (5 + r.NormFloat64())
	})
	rotated := logs(401, func(d int) float64 { return 1e9 * (10 + 5*float64(d%14) + r.NormFloat64()) })
	for _, days := range []int{7, 13, 30} {
		right := grows.Last().Value
		for d := 401; d <= 400+days; d++ {
			if right += 5e9; d%14 == 0 {
				right -= 70e9
			}
		}
		res := Of(grows, Ask{Days: days})
		if q := res.Points[len(res.Points)-1].Value; q[3]-q[1] > 25e9 || q[1] > right || q[3] < right {
			t.Errorf("%d days: %.4g to %.4g, and %.4g is right", days, q[1], q[3], right)
		}
		if !slices.Contains(res.Assumptions, "what is added repeats each 14 days") {
			t.Errorf("%q", res.Assumptions)
		}
		right = 1e9 * (10 + 5*float64((400+days)%14))
		res = Of(rotated, Ask{Days: days, Bounded: true})
		if q := res.Points[len(res.Points)-1].Value; q[4]-q[0] > 8e9 || q[0] > right || q[4] < right {
			t.Errorf("%d days, rotated: %.4g to %.4g, and %.4g is right", days, q[0], q[4], right)
		}
	}
}
