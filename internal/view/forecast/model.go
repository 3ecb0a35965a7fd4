package forecast

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plumb/internal/forecast/model"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Asked is a question to a model, and what it says.
type Asked struct {
	About string // "cache of 60G"; "" when there is one question only
	model.Result
}

// ModelText shows what a model says.
func ModelText(title string, all []Asked, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, title)
	for _, a := range all {
		p.Blank()
		if a.About != "" {
			p.Line(page.Normal, a.About)
		}
		if a.Refusal != nil {
			p.Labelled(page.Yellow, "  refused  ", page.Normal, a.Refusal.Why)
			p.Labelled(page.Normal, "  measure  ", page.Normal, a.Refusal.Measure)
			continue
		}
		values(p, a.Values)
		rivals(p, a.Result)
	}
	sentences(p, "holds if", together(all, func(r model.Result) []string { return r.Assumptions }))
	sentences(p, "doubts", together(all, func(r model.Result) []string { return r.Warnings }))
	return p.String()
}

// values writes each number with its interval, and the sum that gives it.
func values(p *page.Page, all []model.Value) {
	wide := 0
	for _, v := range all {
		wide = max(wide, page.Width(words(v.Name)))
	}
	for _, v := range all {
		name := words(v.Name)
		p.Line(page.Normal, fmt.Sprintf("  %s%*s  %s", name, wide-page.Width(name), "", shownValue(v)))
		if v.How != "" {
			p.Para(page.Dim, 6, v.How)
		}
	}
}

// words is a name as people write it.
func words(name string) string { return strings.ReplaceAll(page.Clean(name), "_", " ") }

// shownValue is a number with its unit and its interval.
func shownValue(v model.Value) string {
	one := func(x float64) string { return number(x, v.Unit) }
	unit := ""
	switch v.Unit {
	case model.PerSecond, model.Dollars:
		unit = " " + v.Unit
	}
	if v.Low == v.High {
		return one(v.Value) + unit
	}
	return fmt.Sprintf("%s%s (%s to %s)", one(v.Value), unit, one(v.Low), one(v.High))
}

func number(x float64, unit string) string {
	if !units.IsReal(x) {
		return "unknown"
	}
	switch unit {
	case model.Bytes:
		return units.Measured(x)
	case model.PerSecond:
		return units.PerSecond(x)
	case model.Seconds:
		return units.Time(1e6 * x)
	case model.Part:
		return units.Percent(x)
	case model.Dollars:
		return fmt.Sprintf("%s.%02d", units.Grouped(int64(math.Round(100*x))/100), int64(math.Round(100*x))%100)
	case model.Date:
		return time.Unix(int64(min(max(x, 0), 253e9)), 0).UTC().Format(time.DateOnly)
	}
	if math.Abs(x) >= 1000 && math.Abs(x) < math.MaxInt64 {
		return units.Grouped(int64(math.Round(x)))
	}
	return units.Number(x)
}

// rivals writes the ways that were compared.
func rivals(p *page.Page, r model.Result) {
	if len(r.Rivals) == 0 || len(r.Values) == 0 {
		return
	}
	for _, o := range r.Rivals {
		part := "not used"
		if o.Weight > 0 {
			part = "used"
			if o.Weight < 1 {
				part = "weight " + units.Percent(o.Weight)
			}
		}
		off := ""
		if units.IsReal(o.Error) {
			off = ", off by " + units.Percent(o.Error) + " when tested"
		}
		p.Labelled(page.Dim, "    rival  ", page.Dim, fmt.Sprintf("%s: %s, %s%s", o.Name, number(o.Value, r.Values[0].Unit), part, off))
	}
}

// together lists what is said of any, once.
func together(all []Asked, of func(model.Result) []string) (out []string) {
	seen := map[string]bool{}
	for _, a := range all {
		for _, s := range of(a.Result) {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

func sentences(p *page.Page, title string, all []string) {
	if len(all) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Normal, title)
	for _, s := range all {
		p.Hang(page.Normal, "  · ", s)
	}
}
