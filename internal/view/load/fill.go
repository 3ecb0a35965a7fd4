package load

import (
	"fmt"

	"plumb/internal/load/fill"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// FillProgress says how far a load of tables is.
func FillProgress(p fill.Progress) string {
	if p.Doing != "rows" {
		return page.Clean(fmt.Sprintf("%s · %s · %s", p.Doing, p.Table, units.Span(p.Elapsed)))
	}
	text := fmt.Sprintf("%s of %s", units.Measured(float64(p.Bytes)), units.Measured(float64(p.Of)))
	if secs := p.Elapsed.Seconds(); secs > 0.5 {
		text += fmt.Sprintf(" · %s rows · %s/s", units.Grouped(p.Rows), units.Measured(p.Rate))
	}
	if p.Left > 0 {
		text += fmt.Sprintf(" · %s left", units.Span(p.Left))
	}
	return page.Clean(text)
}

// Prepared says what a load of tables did.
func Prepared(what string, r fill.Report) string {
	p := page.NewPage(page.Screen{})
	text := fmt.Sprintf("%s is ready: %s, %s rows, in %s", what, units.Count(len(r.Tables), "table"), units.Grouped(r.Rows), units.Span(r.Elapsed))
	if r.Filled > 0 && !r.Resumed {
		text += fmt.Sprintf(" (rows in %s: %s/s, %s/s)", units.Span(r.Filled), units.PerSecond(float64(r.Rows)/r.Filled.Seconds()),
			units.Measured(float64(r.Bytes)/r.Filled.Seconds()))
	}
	p.Para(page.Normal, 0, text)
	if r.Resumed {
		p.Para(page.Normal, 2, fmt.Sprintf("an earlier attempt was continued; %s were sent now", units.Measured(float64(r.Bytes))))
	}
	switch r.Verified {
	case fill.Counts:
		p.Para(page.Normal, 2, "verified: number of rows and sums of every table")
	case fill.Content:
		p.Para(page.Normal, 2, "verified: every field of every row")
		for _, t := range r.Tables {
			p.Para(page.Dim, 4, fmt.Sprintf("%s %s rows %s", t.Name, units.Grouped(t.Rows), t.Checksum))
		}
	case fill.Nothing:
		p.Para(page.Normal, 2, "not verified, as requested")
	}
	return p.String()
}

// Warmed says what a warm-up read.
func Warmed(script string, tables int) string {
	return page.Clean(fmt.Sprintf("%s: read %s once", script, units.Count(tables, "table")))
}
