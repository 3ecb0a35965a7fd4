package lab

import (
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// LabJSON is the document of plumb lab report --json. A number that is not
// known is missing, never 0.
type LabJSON struct {
	Plumb          int               `json:"plumb"`   // JSONVersion
	Kind           string            `json:"kind"`    // "lab"
	Version        string            `json:"version"` // of the program that made the report
	Experiment     LabExperimentJSON `json:"experiment"`
	Answer         string            `json:"answer"` // for people
	Complete       bool              `json:"complete"`
	Stopped        string            `json:"stopped,omitempty"` // why it ended
	Blocks         int               `json:"blocks"`            // done: every arm that can run has a trial that counts
	Began          *time.Time        `json:"began,omitempty"`
	TookSeconds    float64           `json:"took_seconds"`              // of all trials
	Noise          *LabEstimateJSON  `json:"noise,omitempty"`           // standard deviation between blocks of the arms' ratios, as a part
	SmallestEffect *float64          `json:"smallest_effect,omitempty"` // as a part, that so many blocks would find four times in five
	Arms           []LabArmJSON      `json:"arms"`                      // in the order of the file
	Comparisons    []LabVerdictJSON  `json:"comparisons"`
	Curves         []LabCurveJSON    `json:"curves"` // throughput by threads, where they are an axis
	Trials         []LabTrialJSON    `json:"trials"` // all, also those that do not count, in the order in which they ran
}

// LabExperimentJSON is what was asked.
type LabExperimentJSON struct {
	Name           string        `json:"name"`
	Hash           string        `json:"hash"` // of what decides the trials
	Question       string        `json:"question"`
	Source         string        `json:"source,omitempty"` // of the published numbers
	Notes          string        `json:"notes,omitempty"`
	Design         string        `json:"design"` // "blocks", "abba" or "interleaved"
	LeastBlocks    int           `json:"least_blocks"`
	MostBlocks     int           `json:"most_blocks"`
	WarmupSeconds  float64       `json:"warmup_seconds"`
	MeasureSeconds float64       `json:"measure_seconds"`
	Unsteady       bool          `json:"unsteady"`       // trials whose rate is not steady count
	Until          float64       `json:"until"`          // it ends once all intervals are within ± this part; 0: all blocks
	BudgetSeconds  float64       `json:"budget_seconds"` // 0: no limit
	Metric         string        `json:"metric"`         // "rate" in operations a second, or "mean", "p50", "p95", "p99" in milliseconds
	Margin         float64       `json:"margin"`         // differences within ± this part count as none
	Checks         []string      `json:"checks"`         // after each trial
	Seed           string        `json:"seed"`           // as text, because 64 bits do not fit a number of JavaScript
	Axes           []LabAxisJSON `json:"axes"`
	File           string        `json:"file,omitempty"` // as it was read
}

// LabAxisJSON is one thing that is varied.
type LabAxisJSON struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
}

// LabEstimateJSON is a number with its 95 % interval. Value is missing when
// nothing was measured, the interval when it rests on too little.
type LabEstimateJSON struct {
	Value    *float64 `json:"value,omitempty"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	N        int      `json:"n"` // independent values it rests on
	Warnings []string `json:"warnings,omitempty"`
}

// LabArmJSON is one arm over all its trials that count.
type LabArmJSON struct {
	Name      string            `json:"name"`
	Levels    map[string]string `json:"levels,omitempty"` // by axis
	Setup     map[string]string `json:"setup"`            // by the paths that experiment files use
	Trials    int               `json:"trials"`           // that count
	Failed    string            `json:"failed,omitempty"` // why it could not run at all
	Risks     []string          `json:"risks,omitempty"`  // what its settings may cost besides time
	Metric    LabEstimateJSON   `json:"metric"`
	Published *LabPublishedJSON `json:"published,omitempty"`
	Response  *LabLatencyJSON   `json:"response,omitempty"`
	Variation *float64          `json:"variation,omitempty"`             // standard deviation of a trial's seconds by their mean
	Stalls    *float64          `json:"stalls_per_thousand_s,omitempty"` // seconds in a thousand in which less than a tenth of the mean was done
	Dips      *LabDipsJSON      `json:"dips,omitempty"`                  // missing: none beyond what chance would show, or too few seconds to tell
	Costs     []LabCostJSON     `json:"costs"`                           // of an operation, by layer
}

// LabDipsJSON are falls of the rate that come back after equal times.
type LabDipsJSON struct {
	Every  LabEstimateJSON `json:"every_s"`
	Length LabEstimateJSON `json:"length_s"`
	Depth  LabEstimateJSON `json:"depth"` // as a part of the rate between them
	Count  int             `json:"count"` // in all trials
	P      float64         `json:"p"`     // that falls at random times look as regular, corrected for the number of arms
}

// LabPublishedJSON is a number of the source.
type LabPublishedJSON struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Note  string  `json:"note,omitempty"`
}

// LabLatencyJSON is the response time of all operations together, in milliseconds.
type LabLatencyJSON struct {
	N    int64           `json:"n"`
	Mean LabEstimateJSON `json:"mean_ms"`
	P50  LabEstimateJSON `json:"p50_ms"`
	P95  LabEstimateJSON `json:"p95_ms"`
	P99  LabEstimateJSON `json:"p99_ms"`
	Max  LabEstimateJSON `json:"max_ms"`
	HDR  string          `json:"hdr_v2,omitempty"` // of the merged trials: base64 of the compressed HdrHistogram V2, in nanoseconds
}

// LabCostJSON is what an operation takes of one layer.
type LabCostJSON struct {
	Layer    string          `json:"layer"` // "client", "server", "filesystem", "device", "space" or "machine"
	Name     string          `json:"name"`
	Unit     string          `json:"unit"` // "us/op", "1/op", "B/op", "B" or "ratio"
	From     string          `json:"from"` // where it was read
	Estimate LabEstimateJSON `json:"estimate"`
}

// LabVerdictJSON compares two arms.
type LabVerdictJSON struct {
	Arm      string          `json:"arm"`
	Baseline string          `json:"baseline"`
	Verdict  string          `json:"verdict"`     // of arm against baseline: "better", "worse", "equivalent" or "undecided"
	Effect   LabEstimateJSON `json:"effect"`      // ratio of the metric less one: 0.05 is 5 % more
	P        *float64        `json:"p,omitempty"` // that so large a difference is chance, corrected for the number of comparisons (Holm)
	Margin   float64         `json:"margin"`      // as a part
	More     int             `json:"more_blocks"` // that would probably decide it; 0 when decided
	Sentence string          `json:"sentence"`    // for people
}

// LabCurveJSON is throughput by number of threads.
type LabCurveJSON struct {
	Name   string           `json:"name"`
	Points []LabPointJSON   `json:"points"`
	Model  string           `json:"model,omitempty"` // that fits best; missing when none could be fitted
	Max    *LabEstimateJSON `json:"max,omitempty"`   // operations a second that it tends to, or peaks at
	Best   []int            `json:"best,omitempty"`  // numbers of threads, lowest and highest, that use it well
	Doubt  string           `json:"doubt,omitempty"`
}

// LabPointJSON is one number of threads.
type LabPointJSON struct {
	Threads int      `json:"threads"`
	Rate    float64  `json:"rate"`            // operations a second
	Error   *float64 `json:"error,omitempty"` // half of the 95 % interval, as a part of the rate
}

// LabTrialJSON is one trial.
type LabTrialJSON struct {
	ID        string             `json:"id"`
	Block     int                `json:"block"`    // from 1
	Position  int                `json:"position"` // in its block, from 1
	Attempt   int                `json:"attempt"`  // from 1
	Arm       string             `json:"arm"`
	Seed      string             `json:"seed"` // of the load, as text
	Began     *time.Time         `json:"began,omitempty"`
	Ended     *time.Time         `json:"ended,omitempty"`
	Valid     bool               `json:"valid"`
	Marks     []page.MarkJSON    `json:"marks"`   // why it does not count
	Remarks   []page.MarkJSON    `json:"remarks"` // what a reader should know, though it counts
	Plumb     string             `json:"plumb"`   // version that ran it
	Program   string             `json:"program,omitempty"`
	Metric    *float64           `json:"metric,omitempty"`
	Rate      LabEstimateJSON    `json:"rate"` // operations a second, with the interval of its seconds
	Ops       []LabOpJSON        `json:"ops"`
	Costs     []LabTrialCostJSON `json:"costs"`
	Effective map[string]string  `json:"effective,omitempty"` // settings as the running server gave them
	Volume    LabVolumeJSON      `json:"volume"`
	Files     map[string]string  `json:"files,omitempty"` // name to SHA-256 of the ledger's copy
	Series    []LabSecondJSON    `json:"series"`
}

// LabOpJSON is one kind of operation of a trial.
type LabOpJSON struct {
	Name    string `json:"name"`
	Done    int64  `json:"done"`
	Failed  int64  `json:"failed"`
	Retried int64  `json:"retried"`
	HDR     string `json:"hdr_v2,omitempty"` // of the response time: base64 of the compressed HdrHistogram V2, in nanoseconds
}

// LabTrialCostJSON is what an operation of a trial took of one layer.
type LabTrialCostJSON struct {
	Layer string  `json:"layer"`
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// LabVolumeJSON is what the volume turned out to be.
type LabVolumeJSON struct {
	Filesystem string            `json:"filesystem,omitempty"`
	Options    string            `json:"options,omitempty"` // of the mount
	Device     string            `json:"device,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
	Cloned     string            `json:"cloned,omitempty"` // how the trial got its data: "copy", "reflink" or "snapshot"
	Limits     []LabLimitJSON    `json:"limits,omitempty"`
}

// LabLimitJSON is one limit of a volume.
type LabLimitJSON struct {
	What     string  `json:"what"`
	Asked    float64 `json:"asked"`
	Measured float64 `json:"measured"`
}

// LabSecondJSON is one line of a trial's series.
type LabSecondJSON struct {
	At     float64 `json:"at_seconds"` // its end, after the start
	Length float64 `json:"seconds"`
	Warmup bool    `json:"warmup"`
	Done   int64   `json:"done"`
	Failed int64   `json:"failed"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
	Arm    string  `json:"arm,omitempty"` // that was in force, where a trial has several
}

func knownTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// LabEstimate gives an estimate as JSON v1; what is not known is left out.
func LabEstimate(e stats.Estimate) LabEstimateJSON {
	j := LabEstimateJSON{N: e.N, Warnings: e.Warnings}
	if units.MeasuredAtAll(e) {
		j.Value = page.Known(e.Value)
	}
	if units.Ranged(e) {
		j.Low, j.High = page.Known(e.Low), page.Known(e.High)
	}
	return j
}

func labMarks(marks []experiment.Mark) []page.MarkJSON {
	all := []page.MarkJSON{}
	for _, m := range marks {
		all = append(all, page.MarkJSON(m))
	}
	return all
}

func labCurve(c report.Curve) LabCurveJSON {
	j := LabCurveJSON{Name: c.Name, Doubt: c.Doubt, Points: []LabPointJSON{}}
	for _, p := range c.Points {
		q := LabPointJSON{Threads: p.Threads, Rate: page.Finite(p.Rate)}
		if p.Error > 0 {
			q.Error = page.Known(p.Error)
		}
		j.Points = append(j.Points, q)
	}
	if k := c.Capacity; k != nil {
		most := LabEstimate(k.Max)
		j.Model, j.Max, j.Best = k.Model, &most, []int{k.Best.Low, k.Best.High}
	}
	return j
}
