package load

import (
	"math"
	"testing"
	"time"
)

func due(p Pacer, n int) []time.Duration {
	var all []time.Duration
	for range n {
		all = append(all, p.Next())
	}
	return all
}

func TestFixedPacerHasEqualGaps(t *testing.T) {
	for i, at := range due(Fixed(1000), 5000) {
		if want := time.Duration(i) * time.Millisecond; (at - want).Abs() > time.Microsecond {
			t.Fatalf("operation %d is due at %s, want %s", i, at, want)
		}
	}
}

func TestRampReachesItsRate(t *testing.T) {
	for _, to := range []float64{10, 500, 1000} {
		p := Ramp(100, to, 10*time.Second)
		all := due(p, int((100+to)/2*10+to*5))
		within := func(from, until time.Duration) (n int) {
			for _, at := range all {
				if at >= from && at < until {
					n++
				}
			}
			return n
		}
		near(t, "first second", float64(within(0, time.Second)), 100+(to-100)/20, 2)
		near(t, "sixth second", float64(within(5*time.Second, 6*time.Second)), 100+(to-100)*0.55, 2)
		near(t, "after the ramp", float64(within(12*time.Second, 13*time.Second)), to, 1)
	}
}

func TestPoissonPacerIsExponential(t *testing.T) {
	const n = 100_000
	p := Poisson(1000, 3)
	all := due(p, n)
	near(t, "mean rate", n/all[n-1].Seconds(), 1000, 10)
	var sum, squares float64
	for i := 1; i < n; i++ {
		gap := (all[i] - all[i-1]).Seconds()
		if gap < 0 {
			t.Fatal("due times go back")
		}
		sum += gap
		squares += gap * gap
	}
	mean := sum / (n - 1)
	near(t, "coefficient of variation", math.Sqrt(squares/(n-1)-mean*mean)/mean, 1, 0.02)
}

func TestAgainIsTheSame(t *testing.T) {
	for _, p := range []Pacer{Fixed(70), Ramp(5, 50, time.Second), Poisson(70, 9)} {
		first := due(p, 100)
		for i, at := range due(p.Again(), 100) {
			if at != first[i] {
				t.Fatalf("%s: operation %d is due at %s, then at %s", p, i, first[i], at)
			}
		}
	}
}
