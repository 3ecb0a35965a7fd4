package load

import (
	"fmt"
	"time"

	"plumb/internal/load/fill"
	"plumb/internal/view/page"
)

// FillProgress says how far a load of tables is.
func FillProgress(p fill.Progress) string {
	if p.Doing != "rows" {
		return page.Clean(fmt.Sprintf("%s · %s · %s", p.Doing, p.Table, p.Elapsed.Round(time.Second)))
	}
	text := fmt.Sprintf("%s of %s", page.BytesAbout(p.Bytes), page.BytesAbout(p.Of))
	if secs := p.Elapsed.Seconds(); secs > 0.5 {
		text += fmt.Sprintf(" · %s rows · %s/s", page.Grouped(p.Rows), page.BytesAbout(int64(p.Rate)))
	}
	if p.Left > 0 {
		text += fmt.Sprintf(" · %s left", p.Left.Round(time.Second))
	}
	return page.Clean(text)
}

// Prepared says what a load of tables did.
func Prepared(what string, r fill.Report) string {
	p := page.NewPage(page.Screen{})
	text := fmt.Sprintf("%s is ready: %s, %s rows, in %s", what, page.Count(len(r.Tables), "table"), page.Grouped(r.Rows), page.Span(r.Elapsed))
	if r.Filled > 0 && !r.Resumed {
		text += fmt.Sprintf(" (rows in %s: %s/s, %s/s)", page.Span(r.Filled), page.PerSecond(float64(r.Rows)/r.Filled.Seconds()),
			page.BytesAbout(int64(float64(r.Bytes)/r.Filled.Seconds())))
	}
	p.Para(page.Normal, 0, text)
	if r.Resumed {
		p.Para(page.Normal, 2, fmt.Sprintf("an earlier attempt was taken up; %s were sent now", page.BytesAbout(r.Bytes)))
	}
	switch r.Verified {
	case fill.Counts:
		p.Para(page.Normal, 2, "verified: number of rows and sums of every table")
	case fill.Content:
		p.Para(page.Normal, 2, "verified: every field of every row")
		for _, t := range r.Tables {
			p.Para(page.Dim, 4, fmt.Sprintf("%s %s rows %s", t.Name, page.Grouped(t.Rows), t.Checksum))
		}
	case fill.Nothing:
		p.Para(page.Normal, 2, "not verified, as was asked")
	}
	return p.String()
}

// Warmed says what a warm-up read.
func Warmed(script string, tables int) string {
	return page.Clean(fmt.Sprintf("%s: read %s once", script, page.Count(tables, "table")))
}
