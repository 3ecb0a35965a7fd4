package stats

import "errors"

// Point is what was measured at one concurrency.
type Point struct {
	Threads  int     // requests under way
	Rate     float64 // operations a second
	Response float64 // mean, seconds; 0: Threads/Rate (Little's law)
	Error    float64 // half of the 95 % interval of Rate, as a part of it; 0: not known
}

// Capacity is a curve fitted to a device's or server's rates by concurrency.
type Capacity struct {
	Model  string     // RandomOccupancy, PowerSaturation, UniversalScalability
	Params []Estimate // in the order of the model's formula
	Max    Estimate   // operations a second that it tends to, or peaks at
	Base   Estimate   // response time alone, seconds
	Knee   Estimate   // concurrency that would fill it if requests never met: Max * Base
	Best   Best
	Fit    float64 // root mean square of the relative errors
	Cross  float64 // the same where each point was predicted from the others
	Rivals []Rival // all models tried, best first
	Doubts []string
}

// Models of capacity.
const (
	RandomOccupancy      = "random occupancy"
	PowerSaturation      = "power saturation"
	UniversalScalability = "universal scalability"
)

// Rival is a model that was tried.
type Rival struct {
	Model      string
	Fit, Cross float64 // as in Capacity; Cross is NaN where there were too few points
}

// Best is the range of concurrency worth having.
type Best struct {
	Low, High int
	Why       string
}

// ErrFewPoints says that a curve cannot be fitted.
var ErrFewPoints = errors.New("too few concurrencies measured")

// FitCapacity fits a curve to the points of one kind of operation.
func FitCapacity(points []Point) (*Capacity, error) { return nil, ErrFewPoints }

// Predict gives the rate at a concurrency.
func (c *Capacity) Predict(threads int) Estimate { return Estimate{} }

// Ratio is how one concurrency compares with the lowest measured.
type Ratio struct {
	Threads     int
	Response    float64 // response time as a multiple of the lowest concurrency's
	Parallelism float64 // requests that effectively progress at once: threads / Response
}

// Ratios compares each point with the lowest concurrency.
func Ratios(points []Point) []Ratio { return nil }
