package load

import (
	"time"

	"plumb/internal/stats"
	"plumb/internal/view/page"
)

// LoadJSON is the document of plumb load --json: one run.
type LoadJSON struct {
	Plumb           int               `json:"plumb"`   // JSONVersion
	Kind            string            `json:"kind"`    // "load"
	Version         string            `json:"version"` // of the program
	Workload        string            `json:"workload"`
	Server          *LoadServerJSON   `json:"server,omitempty"`   // as it was before the run; not for files
	Place           string            `json:"place,omitempty"`    // directory of the files
	Options         map[string]string `json:"options"`            // as they were in force
	Warnings        []string          `json:"warnings"`           // what the options mean that is easily overlooked
	Headline        string            `json:"headline,omitempty"` // the workload's own figure, for people
	Began           time.Time         `json:"began"`              // of the measured part
	WarmupSeconds   float64           `json:"warmup_seconds"`
	MeasuredSeconds float64           `json:"measured_seconds"` // exact
	Threads         int               `json:"threads"`
	Seed            string            `json:"seed"` // as text, because 64 bits do not fit a number of JavaScript
	Pace            string            `json:"pace"`
	Marks           []page.MarkJSON   `json:"marks"`           // reasons not to take the result at face value
	Ended           string            `json:"ended,omitempty"` // why it stopped before its time
	Rate            EstimateJSON      `json:"rate"`            // operations a second
	Total           OpJSON            `json:"total"`
	Ops             []OpJSON          `json:"ops"`
	Notes           []NoteJSON        `json:"notes"` // the workload's own counts
	Audit           []BandJSON        `json:"audit,omitempty"`
	Open            *OpenLoopJSON     `json:"open_loop,omitempty"` // not in a closed loop
	Steady          SteadyJSON        `json:"steady"`
	Client          ClientJSON        `json:"client"`
	Errors          []ErrorJSON       `json:"errors"`
	Series          []SecondJSON      `json:"series"` // one each second, warm-up included and marked
}

// LoadServerJSON is the server under load.
type LoadServerJSON struct {
	Product   string            `json:"product"`
	Version   string            `json:"version"`
	Address   string            `json:"address"`
	Database  string            `json:"database"`
	Isolation string            `json:"isolation"` // as the sessions had it
	Local     bool              `json:"local"`     // on the generator's machine
	Settings  map[string]string `json:"settings"`  // those that decide durability and memory
}

// EstimateJSON is a measured number with its 95 % interval.
type EstimateJSON struct {
	Value    float64  `json:"value"`
	Low      float64  `json:"low"`
	High     float64  `json:"high"`
	N        int      `json:"n"` // independent values it rests on
	Warnings []string `json:"warnings,omitempty"`
}

// OpJSON is one kind of operation, or all together.
type OpJSON struct {
	Name       string       `json:"name"`
	Done       int64        `json:"done"` // succeeded: the only ones that count as throughput
	RolledBack int64        `json:"rolled_back"`
	Skipped    int64        `json:"skipped"`
	Failed     int64        `json:"failed"`
	Retried    int64        `json:"retried"`
	Reads      int64        `json:"reads"`
	Writes     int64        `json:"writes"`
	Other      int64        `json:"other"`
	ReadBytes  int64        `json:"read_bytes"`
	WriteBytes int64        `json:"write_bytes"`
	Response   LatencyJSON  `json:"response"`          // from when it was due, or in a closed loop begun
	Service    *LatencyJSON `json:"service,omitempty"` // from when a worker began it; only in an open loop
}

// LatencyJSON is a distribution. Times are in milliseconds.
type LatencyJSON struct {
	LoadTimesJSON
	HDR string `json:"hdr_v2,omitempty"` // base64 of the compressed HdrHistogram V2, in nanoseconds
}

// LoadTimesJSON is a distribution in a few numbers, in milliseconds.
type LoadTimesJSON struct {
	N    int64   `json:"n"`
	Mean float64 `json:"mean_ms"`
	Min  float64 `json:"min_ms"`
	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P95  float64 `json:"p95_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	Max  float64 `json:"max_ms"`
}

// NoteJSON is a count of the workload's own.
type NoteJSON struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// BandJSON is what a specification bounds.
type BandJSON struct {
	Name    string  `json:"name"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Value   float64 `json:"value"`
	N       int64   `json:"n"` // it rests on
	Unit    string  `json:"unit"`
	Verdict string  `json:"verdict"` // "pass", "fail" or why it cannot be told
}

// OpenLoopJSON is what only an open loop can say.
type OpenLoopJSON struct {
	Offered   float64     `json:"offered"` // operations a second that were due
	Served    float64     `json:"served"`  // operations a second that ended
	Waiting   int64       `json:"waiting"` // due and not begun when the time was up
	Saturated bool        `json:"saturated"`
	Lag       LatencyJSON `json:"lag"` // how late the pacer itself was
}

// SteadyJSON is the judgement over the measured part.
type SteadyJSON struct {
	Reached     bool    `json:"reached"`
	FromSeconds float64 `json:"from_seconds"` // after the start of the run; 0 when never
	Range       float64 `json:"range"`        // of the last window, as a part of its mean
	Slope       float64 `json:"slope"`        // likewise
	Why         string  `json:"why,omitempty"`
}

// ClientJSON is what the generator itself used while measuring.
type ClientJSON struct {
	CPUSeconds   float64  `json:"cpu_seconds"`
	Cores        int      `json:"cores"`
	Share        float64  `json:"share"`                  // part of those cores' time
	Machine      *float64 `json:"machine_busy,omitempty"` // part of the machine's processor time that was used, by whomever
	PerOpMicros  float64  `json:"cpu_us_per_op"`
	Bound        bool     `json:"bound"`
	BoundBecause string   `json:"bound_because,omitempty"`
}

// ErrorJSON counts errors of one code.
type ErrorJSON struct {
	Class   string `json:"class"` // "retry", "lost", "fatal"
	Code    string `json:"code"`
	Message string `json:"message"` // of the first
	N       int64  `json:"n"`
}

// SecondJSON is one line of the series.
type SecondJSON struct {
	AtSeconds float64       `json:"at_seconds"` // its end, after the start of the run
	Seconds   float64       `json:"seconds"`    // its exact length
	Warmup    bool          `json:"warmup"`
	Done      int64         `json:"done"`
	Failed    int64         `json:"failed"`
	Retried   int64         `json:"retried"`
	Reads     int64         `json:"reads"`
	Writes    int64         `json:"writes"`
	Other     int64         `json:"other"`
	Lost      int64         `json:"lost"`    // sessions
	Waiting   int64         `json:"waiting"` // due and not begun
	Response  LoadTimesJSON `json:"response"`
	Ops       []int64       `json:"ops"` // done, of each kind in the order of the document's ops
}

func estimateJSON(e stats.Estimate) EstimateJSON {
	return EstimateJSON{Value: page.Finite(e.Value), Low: page.Finite(e.Low), High: page.Finite(e.High), N: e.N, Warnings: e.Warnings}
}
