package experiment

import (
	"fmt"
	"slices"
	"time"

	"plumb/internal/stats"
)

// Record is what one trial leaves in the ledger. What could not be read is
// nil or missing, never zero.
type Record struct {
	Trial
	Experiment string            `json:"experiment"` // Hash
	ID         string            `json:"id"`         // unique
	Attempt    int               `json:"attempt"`    // from 1: a trial that was cut off is repeated
	Began      time.Time         `json:"began"`
	Ended      time.Time         `json:"ended"`
	Setup      Setup             `json:"setup"`
	Program    string            `json:"program,omitempty"`   // product and version of the server
	Plumb      string            `json:"plumb"`               // version
	Machine    []string          `json:"machine,omitempty"`   // on which it ran, one fact each
	Effective  map[string]string `json:"effective,omitempty"` // settings as the running server gave them
	Volume     VolumeFacts       `json:"volume"`
	Rate       stats.Estimate    `json:"rate"`   // operations a second
	Metric     float64           `json:"metric"` // the value that is compared
	Ops        []Op              `json:"ops"`
	Series     []Second          `json:"series"`
	Costs      []Cost            `json:"costs"`
	Stolen     *float64          `json:"stolen,omitempty"` // part of all processor time that the hypervisor gave to others while it was measured; not there when it is not known
	Marks      []Mark            `json:"marks"`            // why it must not be averaged; empty for a valid trial
	Remarks    []Mark            `json:"remarks"`          // what a reader should know, though the trial counts
	Files      map[string]string `json:"files"`            // name to SHA-256: stack.tape, settings, server.log
}

// Valid tells whether the trial counts.
func (r Record) Valid() bool { return len(r.Marks) == 0 }

// Marks a lab sets, besides those of package load.
const (
	MarkFailed     = "failed"       // it could not be carried out: the server refused its configuration, the load broke
	MarkNotAsAsked = "not-as-asked" // the running server has other settings than the arm's
	MarkThrottle   = "throttle"     // the volume's limit is not what was asked, or the machine lent less time
	MarkInvariant  = "invariant"    // a check failed afterwards
	MarkCut        = "cut-off"      // the lab was killed
	MarkDisturbed  = "disturbed"    // others used the processors or the disk
)

// Mark is one reason.
type Mark struct {
	Kind string `json:"kind"`
	Text string `json:"text"` // for people
}

// Op is one kind of operation.
type Op struct {
	Name      string `json:"name"`
	Done      int64  `json:"done"`
	Failed    int64  `json:"failed"`
	Retried   int64  `json:"retried"`
	Histogram []byte `json:"histogram"` // of the response time in ns, HdrHistogram V2, compressed
}

// Second is one line of the series of the measured part and its warm-up.
type Second struct {
	At     float64 `json:"at"` // end, seconds after the start
	Length float64 `json:"length"`
	Warmup bool    `json:"warmup,omitempty"`
	Done   int64   `json:"done"`
	Failed int64   `json:"failed,omitempty"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
	Arm    string  `json:"arm,omitempty"` // ABBA: which arm was in force
}

// Cost is what an operation took of one layer.
type Cost struct {
	Layer string  `json:"layer"` // client, server, filesystem, device, space, machine
	Name  string  `json:"name"`  // "CPU", "fsyncs", "written", "read", "compression"
	Unit  string  `json:"unit"`  // "us/op", "1/op", "B/op", "B", "ratio"
	Value float64 `json:"value"`
	From  string  `json:"from"` // where it was read
}

// VolumeFacts are what the volume turned out to be.
type VolumeFacts struct {
	Path       string            `json:"path"`
	Filesystem string            `json:"filesystem,omitempty"`
	Options    string            `json:"options,omitempty"` // of the mount, as the kernel has them
	Device     string            `json:"device,omitempty"`  // name in /proc/diskstats
	Properties map[string]string `json:"properties,omitempty"`
	Cloned     string            `json:"cloned,omitempty"` // how: copy, reflink, snapshot
	Limits     []LimitFact       `json:"limits,omitempty"`
}

// LimitFact is one limit, asked and measured.
type LimitFact struct {
	What     string  `json:"what"` // "read IOPS", "write MB/s"
	Asked    float64 `json:"asked"`
	Measured float64 `json:"measured"`
}

// Mark marks the trial as one that does not count.
func (r *Record) Mark(kind, format string, args ...any) {
	r.Marks = append(r.Marks, Mark{kind, fmt.Sprintf(format, args...)})
}

// Remark notes what a reader should know, though the trial counts.
func (r *Record) Remark(kind, format string, args ...any) {
	r.Remarks = append(r.Remarks, Mark{kind, fmt.Sprintf(format, args...)})
}

// mostStolen is the part of the processors' time that another guest of the
// same machine may take before a trial no longer counts.
const mostStolen = 0.05

// Lent notes which part of the processors' time was given to other guests of
// the same machine, and marks a trial to which too little was lent.
func (r *Record) Lent(stolen *float64) {
	if r.Stolen = stolen; stolen != nil && *stolen > mostStolen {
		r.Mark(MarkDisturbed, "other guests of the same machine took %.0f %% of the processors", 100**stolen)
	}
}

// Has tells whether the trial has a mark of a kind.
func (r Record) Has(kind string) bool {
	return slices.ContainsFunc(r.Marks, func(m Mark) bool { return m.Kind == kind })
}

// Why gives the text of the first mark of a kind; "" when there is none.
func (r Record) Why(kind string) string {
	if i := slices.IndexFunc(r.Marks, func(m Mark) bool { return m.Kind == kind }); i >= 0 {
		return r.Marks[i].Text
	}
	return ""
}

// Rates gives operations a second of the measured part. Less than half a
// second, as at the end of a run, says too little to count as one.
func Rates(series []Second) (all []float64) {
	for _, s := range series {
		if !s.Warmup && s.Length > 0.5 {
			all = append(all, float64(s.Done)/s.Length)
		}
	}
	return all
}
