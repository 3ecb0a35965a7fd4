package view

import (
	"fmt"
	"time"

	"plumb/internal/load/fill"
)

// FillProgress says how far a load of tables is.
func FillProgress(p fill.Progress) string {
	if p.Doing != "rows" {
		return clean(fmt.Sprintf("%s · %s · %s", p.Doing, p.Table, p.Elapsed.Round(time.Second)))
	}
	text := fmt.Sprintf("%s of %s", bytesAbout(p.Bytes), bytesAbout(p.Of))
	if secs := p.Elapsed.Seconds(); secs > 0.5 {
		text += fmt.Sprintf(" · %s rows · %s/s", grouped(p.Rows), bytesAbout(int64(p.Rate)))
	}
	if p.Left > 0 {
		text += fmt.Sprintf(" · %s left", p.Left.Round(time.Second))
	}
	return clean(text)
}

// Prepared says what a load of tables did.
func Prepared(what string, r fill.Report) string {
	p := newPage(Screen{})
	text := fmt.Sprintf("%s is ready: %s, %s rows, in %s", what, count(len(r.Tables), "table"), grouped(r.Rows), span(r.Elapsed))
	if r.Filled > 0 && !r.Resumed {
		text += fmt.Sprintf(" (rows in %s: %s/s, %s/s)", span(r.Filled), perSecond(float64(r.Rows)/r.Filled.Seconds()),
			bytesAbout(int64(float64(r.Bytes)/r.Filled.Seconds())))
	}
	p.para(plain, 0, text)
	if r.Resumed {
		p.para(plain, 2, fmt.Sprintf("an earlier attempt was taken up; %s were sent now", bytesAbout(r.Bytes)))
	}
	switch r.Verified {
	case fill.Counts:
		p.para(plain, 2, "verified: number of rows and sums of every table")
	case fill.Content:
		p.para(plain, 2, "verified: every field of every row")
		for _, t := range r.Tables {
			p.para(dim, 4, fmt.Sprintf("%s %s rows %s", t.Name, grouped(t.Rows), t.Checksum))
		}
	case fill.Nothing:
		p.para(plain, 2, "not verified, as was asked")
	}
	return p.String()
}

// Warmed says what a warm-up read.
func Warmed(script string, tables int) string {
	return clean(fmt.Sprintf("%s: read %s once", script, count(tables, "table")))
}
