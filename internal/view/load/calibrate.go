package load

import (
	"fmt"
	"strconv"
	"time"

	"plumb/internal/load"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// CalibrateJSON is the document of plumb load calibrate --json.
type CalibrateJSON struct {
	Plumb    int           `json:"plumb"` // JSONVersion
	Kind     string        `json:"kind"`  // "load-calibrate"
	Version  string        `json:"version"`
	Cores    int           `json:"cores"` // the generator could use
	Ceilings []CeilingJSON `json:"ceilings"`
}

// CeilingJSON is what the generator reaches against one target.
type CeilingJSON struct {
	Target      string        `json:"target"`
	Threads     int           `json:"threads"`
	Error       string        `json:"error,omitempty"` // why there is no measurement; all numbers are then 0
	Rate        EstimateJSON  `json:"rate"`            // operations a second
	PerOpMicros float64       `json:"cpu_us_per_op"`   // of this process; for the fake servers theirs too, because they are in it
	Response    LoadTimesJSON `json:"response"`
}

// Calibrate shows the ceilings of the generator on this machine.
func Calibrate(all []load.Ceiling, cores int, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Para(page.Bold, 0, "What the generator reaches on this machine, with "+units.Count(cores, "processor"))
	p.Blank()
	if p.Width < 70 {
		narrowCeilings(p, all)
		return p.String()
	}
	head := 6
	for _, c := range all {
		head = max(head, min(page.Width(c.Target), 38)+1)
	}
	p.Line(page.Dim, page.Columns("target", head)+page.Right("threads", 7)+page.Right("per second", 14)+page.Right("CPU each", 10)+page.Right("p50", latWidth)+page.Right("p99", latWidth))
	for _, c := range all {
		if c.Result == nil {
			p.Hang(page.Normal, page.Columns(c.Target, head), c.Err)
			continue
		}
		s := c.Result.Total.Response.Summary()
		p.Line(page.Normal, page.Columns(c.Target, head)+page.Right(strconv.Itoa(c.Threads), 7)+page.Right(estimateText(c.Result.Rate), 14)+
			page.Right(units.Latency(perOp(c.Result)), 10)+page.Right(units.LatencyOf(s.P50, s.N), latWidth)+page.Right(units.LatencyOf(s.P99, s.N), latWidth))
	}
	p.Blank()
	p.Para(page.Dim, 0, "The fake servers run in this very process and share its processors: their CPU is counted too, so a server on another machine leaves room for more. "+
		"A result near these rates measures the generator, not the server.")
	return p.String()
}

// narrowCeilings is the table for a page that does not hold it.
func narrowCeilings(p *page.Page, all []load.Ceiling) {
	for _, c := range all {
		text := c.Err
		if c.Result != nil {
			s := c.Result.Total.Response.Summary()
			text = fmt.Sprintf("%s/s, CPU each %s, p50 %s, p99 %s", estimateText(c.Result.Rate), units.Latency(perOp(c.Result)), units.LatencyOf(s.P50, s.N), units.LatencyOf(s.P99, s.N))
		}
		p.Hang(page.Normal, "  ", c.Target+", "+units.Count(c.Threads, "thread")+": "+text)
	}
}

// perOp is the CPU time of one operation; of very short ones it is less than
// a nanosecond can tell.
func perOp(r *load.Result) time.Duration {
	if n := r.Total.Done; n > 0 {
		return r.Client.CPU / time.Duration(n)
	}
	return 0
}

// CalibrateDocument is the same as JSON v1.
func CalibrateDocument(all []load.Ceiling, cores int, version string) CalibrateJSON {
	d := CalibrateJSON{Plumb: page.JSONVersion, Kind: "load-calibrate", Version: version, Cores: cores, Ceilings: []CeilingJSON{}}
	for _, c := range all {
		j := CeilingJSON{Target: c.Target, Threads: c.Threads, Error: c.Err}
		if c.Result != nil {
			j.Rate = estimateJSON(c.Result.Rate)
			j.PerOpMicros = float64(perOp(c.Result)) / float64(time.Microsecond)
			j.Response = timesJSON(c.Result.Total.Response.Summary())
		}
		d.Ceilings = append(d.Ceilings, j)
	}
	return d
}
