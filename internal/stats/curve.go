package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/optimize"
)

// Models of capacity, for N requests under way.
const (
	// RandomOccupancy is that of devices with channels hit at random, so that
	// some idle while requests wait for others: the classic result of balls
	// in bins, and of interleaved memory (Hellerman; Strecker).
	RandomOccupancy = "random occupancy"
	// PowerSaturation bends from N/s to m/s as sharply as b says.
	PowerSaturation = "power saturation"
	// UniversalScalability is N. J. Gunther's law, of software that contends
	// (sigma) and that must agree (kappa).
	UniversalScalability = "universal scalability"
)

// model is a family of curves: a rate is a scale times a shape. Fitting
// searches the shape's parameters as logarithms, within bounds.
type model struct {
	name    string
	formula string
	params  []string // of the formula; the first is the scale or its inverse
	bounds  [][2]float64
	shape   func(n float64, p []float64) float64
	inverse bool // the first parameter is 1/scale: a time
}

func models() []*model {
	return []*model{
		{
			name: RandomOccupancy, params: []string{"s", "m"}, inverse: true,
			formula: "X = m (1 - (1 - 1/m)^N) / s",
			bounds:  [][2]float64{{1, 1e5}},
			shape:   func(n float64, p []float64) float64 { return p[0] * -math.Expm1(n*math.Log1p(-1/p[0])) },
		},
		{
			name: PowerSaturation, params: []string{"s", "m", "b"}, inverse: true,
			formula: "X = N / s / (1 + (N/m)^b)^(1/b)",
			bounds:  [][2]float64{{0.5, 1e5}, {0.5, 20}},
			shape:   func(n float64, p []float64) float64 { return n / math.Pow(1+math.Pow(n/p[0], p[1]), 1/p[1]) },
		},
		{
			name: UniversalScalability, params: []string{"lambda", "sigma", "kappa"},
			formula: "X = lambda N / (1 + sigma (N-1) + kappa N (N-1))",
			bounds:  [][2]float64{{1e-6, 1}, {1e-9, 1}},
			shape:   func(n float64, p []float64) float64 { return n / (1 + p[0]*(n-1) + p[1]*n*(n-1)) },
		},
	}
}

// curve is a model with its parameters, the scale first.
type curve struct {
	model  *model
	params []float64
	free   int // points beyond what the parameters take up
}

func (k curve) scale() float64 {
	if k.model.inverse {
		return 1 / k.params[0]
	}
	return k.params[0]
}

func (k curve) rate(n float64) float64 { return k.scale() * k.model.shape(n, k.params[1:]) }

// base is the response time of one request alone.
func (k curve) base() float64 { return 1 / k.rate(1) }

// max is the rate that the curve tends to, or its peak.
func (k curve) max() float64 {
	if k.model.inverse {
		return k.scale() * k.params[1] // m/s, for both models
	}
	return k.rate(k.peak())
}

// peak is the concurrency of the highest rate of UniversalScalability; the
// bounds of its parameters keep it finite.
func (k curve) peak() float64 {
	return max(1, math.Sqrt((1-k.params[1])/k.params[2]))
}

// ratio is the response time as a multiple of that of one request.
func (k curve) ratio(n float64) float64 { return n / k.rate(n) / k.base() }

// misfits gives the logarithms of measured by fitted rates.
func (k curve) misfits(points []Point) []float64 {
	all := make([]float64, len(points))
	for i, p := range points {
		all[i] = math.Log(p.Rate / k.rate(float64(p.Threads)))
	}
	return all
}

func (k curve) rms(points []Point) float64 {
	var sum float64
	for _, r := range k.misfits(points) {
		sum += r * r
	}
	return math.Sqrt(sum / float64(len(points)))
}

// weight of a point: less where its own error is larger than what a good
// model is off by.
func weight(p Point) float64 { return 1 / (floorError*floorError + p.Error*p.Error/4) }

// fit gives the curve of the least squares of relative errors. It searches
// from start, or everywhere when there is none.
func (m *model) fit(points []Point, start []float64) curve {
	scale, score := 0.0, 0.0
	p := make([]float64, len(m.bounds))
	cost := func(x []float64) float64 {
		for i := range p {
			p[i] = min(max(math.Exp(x[i]), m.bounds[i][0]), m.bounds[i][1])
		}
		scale, score = m.scaled(points, p)
		return score
	}
	x := start
	if x == nil {
		x = m.coarse(cost)
	}
	cost(minimum(cost, x))
	first := math.Exp(scale)
	if m.inverse {
		first = 1 / first
	}
	return curve{m, append([]float64{first}, p...), len(points) - len(m.params)}
}

// minimum finds a minimum near x by the method of J. A. Nelder and R. Mead (1965).
func minimum(cost func([]float64) float64, x []float64) []float64 {
	const size, steps, enough = 0.3, 300, 1e-10
	r, err := optimize.Minimize(optimize.Problem{Func: cost}, x, &optimize.Settings{MajorIterations: steps,
		Converger: &optimize.FunctionConverge{Relative: enough, Iterations: 20}}, &optimize.NelderMead{SimplexSize: size})
	if err != nil {
		return x // costs are numbers, and so this is not seen
	}
	return r.X
}

// scaled gives the logarithm of the best scale for a shape, and how badly
// the whole then fits.
func (m *model) scaled(points []Point, p []float64) (scale, cost float64) {
	var weights, sum, square float64
	for _, q := range points {
		w, r := weight(q), math.Log(q.Rate/m.shape(float64(q.Threads), p))
		weights, sum, square = weights+w, sum+w*r, square+w*r*r
	}
	return sum / weights, square - sum*sum/weights
}

// coarse looks at a grid over the bounds.
func (m *model) coarse(cost func([]float64) float64) []float64 {
	const steps = 24
	best, least := make([]float64, len(m.bounds)), math.Inf(1)
	x := make([]float64, len(m.bounds))
	var walk func(i int)
	walk = func(i int) {
		if i == len(x) {
			if c := cost(x); c < least {
				least = c
				copy(best, x)
			}
			return
		}
		low, high := math.Log(m.bounds[i][0]), math.Log(m.bounds[i][1])
		for k := range steps {
			x[i] = low + (high-low)*(float64(k)+0.5)/steps
			walk(i + 1)
		}
	}
	walk(0)
	return best
}

// cross predicts each concurrency from the others and gives the error.
func (m *model) cross(points []Point, levels []int) float64 {
	var sum float64
	var n int
	for _, level := range levels {
		var kept, left []Point
		for _, p := range points {
			if p.Threads == level {
				left = append(left, p)
			} else {
				kept = append(kept, p)
			}
		}
		for _, r := range m.fit(kept, nil).misfits(left) {
			sum, n = sum+r*r, n+1
		}
	}
	return math.Sqrt(sum / float64(n))
}

// resample fits again, n times, to rates as they might have been measured. The
// seed is fixed, so the same points give the same intervals.
func (k curve) resample(points []Point, n int) []curve {
	var sum float64
	for _, r := range k.misfits(points) {
		sum += r * r
	}
	// With few points the misfit itself is little known: hence Student's t.
	misfit := math.Sqrt(sum/float64(max(1, k.free))) * student(float64(k.free)) / student(math.Inf(1))
	random := rand.New(rand.NewPCG(uint64(len(points)), 1))
	start := make([]float64, len(k.params)-1)
	for i := range start {
		start[i] = math.Log(k.params[i+1])
	}
	all := make([]curve, n)
	moved := make([]Point, len(points))
	for i := range all {
		for j, p := range points {
			moved[j] = p
			moved[j].Rate = k.rate(float64(p.Threads)) * math.Exp(random.NormFloat64()*max(misfit, p.Error/1.96))
		}
		all[i] = k.model.fit(moved, start)
	}
	return all
}

// Best is the range of concurrency worth having.
//
// Low is where rate divided by response time is highest (Kleinrock's power):
// up to it a per cent more load gains more rate than it costs response time.
// High is where the response time has doubled: a request then waits as long
// as it is worked on. Beyond, load mostly buys waiting.
type Best struct {
	Low, High int
	Gain      float64 // what twice High would add to the rate, as a part of it
	Open      bool    // the curve was still rising at the highest concurrency measured, to which it is cut
	Why       string
}

// Threads writes the range: "8", "8 to 16".
func (b Best) Threads() string {
	if b.Low == b.High {
		return strconv.Itoa(b.Low)
	}
	return fmt.Sprintf("%d to %d", b.Low, b.High)
}

// best looks up to the highest concurrency measured.
func (k curve) best(measured int) Best {
	low, high := 1, 1
	power := 0.0
	for n := 1; n <= measured; n++ {
		x := k.rate(float64(n))
		if x*x/float64(n) > power {
			low, power = n, x*x/float64(n)
		}
		if k.ratio(float64(n)) <= 2 {
			high = n
		}
	}
	b := Best{Low: min(low, high), High: max(low, high)}
	b.Gain = k.rate(2*float64(b.High))/k.rate(float64(b.High)) - 1
	b.Open = b.High == measured
	b.Why = fmt.Sprintf("from %d threads on the response time is over twice that of one, and twice the threads would gain %.0f %%", b.High+1, 100*b.Gain)
	switch {
	case b.Open:
		b.Why = fmt.Sprintf("at %s, the most measured, the response time is %.1f times that of one", count(measured, "thread"), k.ratio(float64(measured)))
	case b.Low > 1:
		b.Why = fmt.Sprintf("up to %d threads more load gains more rate than it costs response time; ", b.Low) + b.Why
	}
	return b
}
