// Package report judges the records of an experiment: what is shown to
// people and programs. It is pure: the same records give the same report, in
// whatever order they come.
//
// What is not known is never zero: an estimate of nothing has N 0, an interval
// that is not known has infinite limits, and other numbers are NaN.
package report

import (
	"slices"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// Report is what an experiment has shown so far.
type Report struct {
	Experiment experiment.Experiment
	Answer     string         // one or two sentences, for people
	Arms       []ArmResult    // in the order of the file
	Verdicts   []Comparison   // in the order of Pairs
	Curves     []Curve        // when threads are an axis
	Invalid    []Invalid      // what does not count, and why
	Done       int            // blocks in which every arm that can run has a valid trial
	Complete   bool           // nothing is left to do, or the stop rule was met
	Stopped    string         // why it ended: "all blocks done", "±5 % reached", "all is decided", "time budget used up"; "" while it is not complete
	Noise      stats.Estimate // standard deviation between blocks of the arms' ratios, as a part
	Smallest   float64        // the smallest difference, as a part, that so many blocks would find four times in five
	Began      time.Time
	Took       time.Duration       // of all trials
	Block      time.Duration       // of a block, on average; 0 before the first is done, and while one is under way
	Records    []experiment.Record // all, in the order in which they ran
}

// ArmResult is one arm over all its valid trials.
type ArmResult struct {
	Name      string
	Trials    int            // valid
	Metric    stats.Estimate // mean over blocks
	Published *experiment.Published
	Latency   Latency      // of merged histograms, intervals by bootstrap of trials
	Variation float64      // coefficient of variation of the seconds within trials, mean over trials
	Stalls    float64      // seconds in a thousand in which less than a tenth of the mean was done
	Dips      *Dips        // of the seconds within trials; nil: none are known
	Costs     []CostResult // per operation, by layer
	Risks     []string     // what its settings may cost besides time; filled in by who knows them
	Failed    string       // the arm could not run at all: why
}

// Arm gives what is known of an arm; nothing when there is none of that name.
func (r Report) Arm(name string) (a ArmResult) {
	if i := slices.IndexFunc(r.Arms, func(a ArmResult) bool { return a.Name == name }); i >= 0 {
		return r.Arms[i]
	}
	return a
}

// Latency is a distribution of response times in milliseconds.
type Latency struct {
	N                        int64
	Mean, P50, P95, P99, Max stats.Estimate
}

// CostResult is one cost over the trials of an arm.
type CostResult struct {
	Layer, Name, Unit, From string
	Estimate                stats.Estimate
}

// Same tells whether two costs are of one thing.
func (c CostResult) Same(o CostResult) bool {
	return c.Layer == o.Layer && c.Name == o.Name && c.Unit == o.Unit
}

// Words of a verdict.
const (
	Better     = "better"
	Worse      = "worse"
	Equivalent = "equivalent"
	Undecided  = "undecided"
)

// Comparison compares two arms.
type Comparison struct {
	experiment.Pair
	Word     string         // Better, …: of Arm against Baseline
	Effect   stats.Estimate // ratio of the metric less one: 0.05 is 5 % more; 95 % interval
	P        float64        // that so large a difference is chance, corrected for the number of comparisons (Holm)
	Margin   float64
	Smallest float64 // as in Report
	More     int     // blocks that would probably decide it; 0 when decided
	Sentence string  // for people
}

// Curve is throughput by number of threads, of the arms that are otherwise alike.
type Curve struct {
	Name     string
	Points   []stats.Point
	Capacity *stats.Capacity // nil: no curve could be fitted
	Doubt    string
}

// Invalid is a trial that does not count.
type Invalid struct {
	experiment.Trial
	Attempt int
	Marks   []experiment.Mark
}
