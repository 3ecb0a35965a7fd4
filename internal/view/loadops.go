package view

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plumb/internal/load"
	"plumb/internal/stats"
)

// lat is a column of latencies.
type lat struct {
	name string
	of   func(load.Summary) time.Duration
}

// latColumns gives the columns of latencies that fit into a room, in order.
// What is dropped first is what the others tell best.
func latColumns(room int) []lat {
	all := []lat{
		{"mean", func(s load.Summary) time.Duration { return s.Mean }},
		{"p50", func(s load.Summary) time.Duration { return s.P50 }},
		{"p95", func(s load.Summary) time.Duration { return s.P95 }},
		{"p99", func(s load.Summary) time.Duration { return s.P99 }},
		{"p99.9", func(s load.Summary) time.Duration { return s.P999 }},
		{"max", func(s load.Summary) time.Duration { return s.Max }},
	}
	for _, name := range []string{"mean", "p99.9", "p50", "p95"} {
		if len(all)*latWidth <= room {
			break
		}
		for i, c := range all {
			if c.name == name {
				all = append(all[:i:i], all[i+1:]...)
				break
			}
		}
	}
	return all
}

// Columns of a table of operations.
const (
	latWidth  = 7
	doneWidth = 11
	rateWidth = 13
)

// opTables shows each kind of operation, and in an open loop response and
// service apart.
func (p *page) opTables(res *load.Result) {
	rows := shownOps(res)
	head := 4
	for _, r := range rows {
		head = max(head, min(width(r.Name), 24))
	}
	cols := latColumns(p.width - head - doneWidth - rateWidth)
	title := "response"
	if res.Open == nil {
		title = ""
	}
	p.opHead(columns(title, head), cols, true)
	for i, r := range rows {
		rate := estimateText(opRate(res, i, len(rows)))
		p.line(plain, columns(r.Name, head)+right(grouped(r.Done), doneWidth-1)+right(rate, rateWidth)+latCells(cols, r.Response.Summary()))
	}
	if res.Open == nil {
		return
	}
	p.opHead(columns("service", head), cols, false)
	for _, r := range rows {
		p.line(plain, columns(r.Name, head)+strings.Repeat(" ", doneWidth+rateWidth-1)+latCells(cols, r.Service.Summary()))
	}
	p.openLoop(res.Open)
}

func (p *page) opHead(title string, cols []lat, counts bool) {
	text := title + strings.Repeat(" ", doneWidth+rateWidth-1)
	if counts {
		text = title + right("done", doneWidth-1) + right("per second", rateWidth)
	}
	for _, c := range cols {
		text += right(c.name, latWidth)
	}
	p.line(dim, text)
}

func latCells(cols []lat, s load.Summary) string {
	text := ""
	for _, c := range cols {
		text += right(latencyOf(c.of(s), s.N), latWidth)
	}
	return text
}

// shownOps are the kinds that occurred, and all together when there are several.
func shownOps(res *load.Result) []load.OpResult {
	if len(res.Ops) == 1 {
		return res.Ops
	}
	return append(append([]load.OpResult{}, res.Ops...), res.Total)
}

// opRate is the rate of the i-th of n rows. The last one is all kinds
// together.
func opRate(res *load.Result, i, n int) stats.Estimate {
	if i == n-1 {
		return res.Rate
	}
	var values []float64
	var done int64
	for _, s := range res.Series {
		if s.Warmup || i >= len(s.Ops) {
			continue
		}
		done += s.Ops[i].Done
		if s.Length > time.Second/2 {
			values = append(values, float64(s.Ops[i].Done)/s.Length.Seconds())
		}
	}
	e := stats.Mean(values)
	if v := float64(done) / res.Measured.Seconds(); e.N > 0 {
		e.Low, e.High, e.Value = e.Low+v-e.Value, e.High+v-e.Value, v
	} else {
		e.Value = v
	}
	return e
}

// estimateText writes a rate with its interval as a part of it; without one
// when it rests on too few values to have one.
func estimateText(e stats.Estimate) string {
	half := (e.High - e.Low) / 2
	if e.N < 2 || e.Value <= 0 || half <= 0 || math.IsNaN(half) || math.IsInf(half, 0) {
		return perSecond(e.Value)
	}
	part := 100 * half / e.Value
	switch {
	case part > 100: // wider than the value itself: it says that nothing is known
		return perSecond(e.Value) + " ±?"
	case part >= 9.95:
		return fmt.Sprintf("%s ±%.0f%%", perSecond(e.Value), part)
	case part < 0.05:
		return perSecond(e.Value) + " ±<0.1%"
	}
	return fmt.Sprintf("%s ±%.1f%%", perSecond(e.Value), part)
}

func (p *page) openLoop(o *load.OpenLoop) {
	lag := o.Lag.Summary()
	p.para(plain, 0, fmt.Sprintf("%s/s were due, %s/s ended, %s waiting at the end · the pacer itself was late by %s (p50), %s (p99)",
		perSecond(o.Offered), perSecond(o.Served), grouped(o.Waiting), latencyOf(lag.P50, lag.N), latencyOf(lag.P99, lag.N)))
	p.para(dim, 0, "Response counts from when an operation was due, service from when a worker began it.")
}

// work says what the operations consisted of.
func (p *page) work(res *load.Result) {
	t, secs := res.Total, res.Measured.Seconds()
	if secs <= 0 {
		return
	}
	rate := func(n int64) string { return perSecond(float64(n) / secs) }
	switch {
	case t.ReadBytes > 0 || t.WriteBytes > 0:
		p.blank()
		mib := func(n int64) string { return digits3(float64(n) / (1 << 20) / secs) }
		p.hang(plain, "bytes     ", fmt.Sprintf("read %s MiB/s · written %s MiB/s", mib(t.ReadBytes), mib(t.WriteBytes)))
	case t.Reads+t.Writes+t.Other > 0:
		p.blank()
		p.hang(plain, "queries   ", fmt.Sprintf("%s/s: %s read, %s write, %s other", rate(t.Reads+t.Writes+t.Other), rate(t.Reads), rate(t.Writes), rate(t.Other)))
	}
	var notes []string
	if t.RolledBack > 0 {
		notes = append(notes, grouped(t.RolledBack)+" rolled back as intended")
	}
	if t.Skipped > 0 {
		notes = append(notes, grouped(t.Skipped)+" found nothing to do")
	}
	for _, n := range res.Notes {
		if n.N > 0 {
			notes = append(notes, grouped(n.N)+" "+n.Name)
		}
	}
	if len(notes) > 0 {
		p.hang(plain, "of these  ", strings.Join(notes, " · "))
	}
}

// failures lists the errors by code: what failed for good, and what was tried
// again.
func (p *page) failures(res *load.Result) {
	t := res.Total
	if t.Failed == 0 && t.Retried == 0 && len(res.Errors) == 0 {
		p.hang(plain, "errors    ", "none")
		return
	}
	p.hang(plain, "errors    ", fmt.Sprintf("%s failed for good · %s tried again", grouped(t.Failed), grouped(t.Retried)))
	for i, e := range res.Errors {
		if i == 5 {
			p.para(dim, 12, fmt.Sprintf("and %d other kinds", len(res.Errors)-i))
			break
		}
		p.hang(plain, "          ", fmt.Sprintf("%s × %s", grouped(e.N), e.Message))
	}
}

// bands shows what a specification bounds.
func (p *page) bands(bands []Band) {
	if len(bands) == 0 {
		return
	}
	p.blank()
	if p.width < 78 {
		for _, b := range bands {
			p.hang(b.ink(), "  ", fmt.Sprintf("%s: %s, allowed %s, %s", b.Name, b.measured(), b.allowed(), b.Verdict))
		}
		return
	}
	p.line(dim, "  "+columns("the mix", 32)+right("allowed", 16)+right("measured", 10))
	for _, b := range bands {
		p.line(b.ink(), "  "+columns(b.Name, 32)+right(b.allowed(), 16)+right(b.measured(), 10)+"  "+b.Verdict)
	}
}

func (b Band) allowed() string {
	return strings.TrimRight(fmt.Sprintf("%g to %g %s", b.Low, b.High, b.Unit), " ")
}
func (b Band) measured() string {
	return strings.TrimRight(fmt.Sprintf("%.2f %s", b.Value, b.Unit), " ")
}

func (b Band) ink() ink {
	if b.Verdict == "fail" {
		return yellow
	}
	return plain
}
