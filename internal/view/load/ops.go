package load

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plumb/internal/load"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
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
		all = slices.DeleteFunc(all, func(c lat) bool { return c.name == name })
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
func opTables(p *page.Page, res *load.Result) {
	rows := shownOps(res)
	head := 4
	for _, r := range rows {
		head = max(head, min(page.Width(r.Name), 24))
	}
	cols := latColumns(p.Width - head - doneWidth - rateWidth)
	title := "response"
	if res.Open == nil {
		title = ""
	}
	opHead(p, page.Columns(title, head), cols, true)
	for i, r := range rows {
		rate := estimateText(opRate(res, i, len(rows)))
		p.Line(page.Normal, page.Columns(r.Name, head)+page.Right(units.Grouped(r.Done), doneWidth-1)+page.Right(rate, rateWidth)+latCells(cols, r.Response.Summary()))
	}
	if res.Open == nil {
		return
	}
	opHead(p, page.Columns("service", head), cols, false)
	for _, r := range rows {
		p.Line(page.Normal, page.Columns(r.Name, head)+strings.Repeat(" ", doneWidth+rateWidth-1)+latCells(cols, r.Service.Summary()))
	}
	openLoop(p, res.Open)
}

func opHead(p *page.Page, title string, cols []lat, counts bool) {
	text := title + strings.Repeat(" ", doneWidth+rateWidth-1)
	if counts {
		text = title + page.Right("done", doneWidth-1) + page.Right("per second", rateWidth)
	}
	for _, c := range cols {
		text += page.Right(c.name, latWidth)
	}
	p.Line(page.Dim, text)
}

func latCells(cols []lat, s load.Summary) string {
	text := ""
	for _, c := range cols {
		text += page.Right(units.LatencyOf(c.of(s), s.N), latWidth)
	}
	return text
}

// shownOps are the kinds that occurred, and all together when there are several.
func shownOps(res *load.Result) []load.OpResult {
	if len(res.Ops) == 1 {
		return res.Ops
	}
	return append(slices.Clone(res.Ops), res.Total)
}

// opRate is the rate of the i-th of n rows. The last one is all kinds
// together.
func opRate(res *load.Result, i, n int) stats.Estimate {
	if i == n-1 {
		return res.Rate
	}
	return load.RateOf(res.Series, res.Measured, func(s load.Second) int64 { return s.DoneOf(i) })
}

// estimateText writes a rate with its interval as a part of it; without one
// when it rests on too few values to have one.
func estimateText(e stats.Estimate) string {
	half := (e.High - e.Low) / 2
	if e.N < 2 || e.Value <= 0 || half <= 0 || math.IsNaN(half) || math.IsInf(half, 0) {
		return units.PerSecond(e.Value)
	}
	part := 100 * half / e.Value
	switch {
	case part > 100: // wider than the value itself: it says that nothing is known
		return units.PerSecond(e.Value) + " ±?"
	case part >= 9.95:
		return fmt.Sprintf("%s ±%.0f%%", units.PerSecond(e.Value), part)
	case part < 0.05:
		return units.PerSecond(e.Value) + " ±<0.1%"
	}
	return fmt.Sprintf("%s ±%.1f%%", units.PerSecond(e.Value), part)
}

func openLoop(p *page.Page, o *load.OpenLoop) {
	lag := o.Lag.Summary()
	p.Para(page.Normal, 0, fmt.Sprintf("%s/s were due, %s/s ended, %s waiting at the end · the pacer itself was late by %s (p50), %s (p99)",
		units.PerSecond(o.Offered), units.PerSecond(o.Served), units.Grouped(o.Waiting), units.LatencyOf(lag.P50, lag.N), units.LatencyOf(lag.P99, lag.N)))
	p.Para(page.Dim, 0, "Response counts from when an operation was due, service from when a worker began it.")
}

// work says what the operations consisted of.
func work(p *page.Page, res *load.Result) {
	t, secs := res.Total, res.Measured.Seconds()
	if secs <= 0 {
		return
	}
	rate := func(n int64) string { return units.PerSecond(float64(n) / secs) }
	switch {
	case t.ReadBytes > 0 || t.WriteBytes > 0:
		p.Blank()
		p.Hang(page.Normal, "bytes     ", fmt.Sprintf("read %s/s · written %s/s", units.Measured(float64(t.ReadBytes)/secs), units.Measured(float64(t.WriteBytes)/secs)))
	case t.Reads+t.Writes+t.Other > 0:
		p.Blank()
		p.Hang(page.Normal, "queries   ", fmt.Sprintf("%s/s: %s read, %s write, %s other", rate(t.Reads+t.Writes+t.Other), rate(t.Reads), rate(t.Writes), rate(t.Other)))
	}
	var notes []string
	if t.RolledBack > 0 {
		notes = append(notes, units.Grouped(t.RolledBack)+" rolled back as intended")
	}
	if t.Skipped > 0 {
		notes = append(notes, units.Grouped(t.Skipped)+" found nothing to do")
	}
	for _, n := range res.Notes {
		if n.N > 0 {
			notes = append(notes, units.Grouped(n.N)+" "+n.Name)
		}
	}
	if len(notes) > 0 {
		p.Hang(page.Normal, "of these  ", strings.Join(notes, " · "))
	}
}

// failures lists the errors by code: what failed for good, and what was tried
// again.
func failures(p *page.Page, res *load.Result) {
	t := res.Total
	if t.Failed == 0 && t.Retried == 0 && len(res.Errors) == 0 {
		p.Hang(page.Normal, "errors    ", "none")
		return
	}
	p.Hang(page.Normal, "errors    ", fmt.Sprintf("%s failed for good · %s tried again", units.Grouped(t.Failed), units.Grouped(t.Retried)))
	for i, e := range res.Errors {
		if i == 5 {
			p.Para(page.Dim, 12, "and "+units.Count(len(res.Errors)-i, "other kind"))
			break
		}
		p.Hang(page.Normal, "          ", fmt.Sprintf("%s × %s", units.Grouped(e.N), e.Message))
	}
}

// bands shows what a specification bounds.
func bands(p *page.Page, bands []Band) {
	if len(bands) == 0 {
		return
	}
	p.Blank()
	if p.Width < 78 {
		for _, b := range bands {
			p.Hang(b.ink(), "  ", fmt.Sprintf("%s: %s, allowed %s, %s", b.Name, b.measured(), b.allowed(), b.Verdict))
		}
		return
	}
	p.Line(page.Dim, "  "+page.Columns("the mix", 32)+page.Right("allowed", 16)+page.Right("measured", 10))
	for _, b := range bands {
		p.Line(b.ink(), "  "+page.Columns(b.Name, 32)+page.Right(b.allowed(), 16)+page.Right(b.measured(), 10)+"  "+b.Verdict)
	}
}

func (b Band) allowed() string {
	return strings.TrimRight(fmt.Sprintf("%g to %g %s", b.Low, b.High, b.Unit), " ")
}
func (b Band) measured() string {
	return strings.TrimRight(fmt.Sprintf("%.2f %s", b.Value, b.Unit), " ")
}

func (b Band) ink() page.Ink {
	if b.Verdict == "fail" {
		return page.Yellow
	}
	return page.Normal
}
