package forecast

import (
	"time"
)

// Levels are the quantiles that are told of whatever is forecast.
var Levels = [5]float64{0.025, 0.10, 0.50, 0.90, 0.975}

// Quantiles are values at Levels: never falling.
type Quantiles [5]float64

// Median is the value that is as likely to be passed as not.
func (q Quantiles) Median() float64 { return q[2] }

// Quantity says what is forecast.
type Quantity struct {
	Of   string `json:"of"`   // the thing, such as "dataset:tank/db" or the name of a file
	Name string `json:"name"` // of what it has, such as "used" or "space_binlog"
	Unit string `json:"unit"` // as the catalogue writes it: "bytes"
}

// Point is what is said of one day.
type Point struct {
	Date  time.Time `json:"date"`
	Value Quantiles `json:"value"`
}

// Forecast is what is said of a quantity at later dates, or why nothing is.
type Forecast struct {
	Quantity    Quantity
	Made        time.Time // the last day that was known
	Points      []Point   // in order of time; empty when it is refused
	Assumptions []string  // what must stay as it is, in sentences for people
	Rivals      []Rival   // who else forecasts this, and how each did until now
	Refusal     *Refusal  // nil: it is not refused
}

// Rival is one of the ways to forecast the same, and how it did on the past of
// this very series.
type Rival struct {
	Name   string
	Naive  bool      // other tools do it so; it has a part only where it won
	Values Quantiles // at the last date, if it had been alone
	Loss   *float64  // mean pinball loss on earlier days, in the unit of the quantity; nil: the past is too short to judge
	Weight float64   // its part in the forecast, 0 to 1
}

// Refusal says why there is no forecast, and which measurement would permit one.
type Refusal struct {
	Why     string `json:"why"`
	Measure string `json:"measure"`
}

// Error makes it an error with a hint, for commands that can give nothing else.
func (r *Refusal) Error() string { return r.Why }

// Hint is the measurement that would permit it.
func (r *Refusal) Hint() string { return r.Measure }

// Pinball is the loss of quantiles once the value is known: for each quantile
// the distance, weighted so that only the true quantile minimises it; the mean of
// all.
func Pinball(q Quantiles, value float64) float64 {
	sum := 0.0
	for i, p := range Levels {
		if d := value - q[i]; d >= 0 {
			sum += p * d
		} else {
			sum += (p - 1) * d
		}
	}
	return sum / float64(len(Levels))
}
