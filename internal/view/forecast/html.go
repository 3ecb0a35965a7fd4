package forecast

import (
	"embed"
	"fmt"
	"math"
	"strings"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

//go:embed html/*
var pages embed.FS

// forecastPage is what the template is given.
type forecastPage struct {
	Head, Version string
	Things        []thing
}

// thing is one forecast as the page shows it.
type thing struct {
	Of, Name, Answer, Now string
	Why, Measure          string // of a refusal
	Fan                   *fan
	Rests                 []string
	Ways                  []wayRow
}

type wayRow struct{ Name, Part, Loss, Median, Range string }

// HTML makes the page with the fan of each forecast.
func HTML(all []space.Result, from, version string) ([]byte, error) {
	p := forecastPage{Head: "Space, from " + from, Version: version}
	for _, r := range all {
		p.Things = append(p.Things, thingOf(r))
	}
	return page.Web{Files: pages, Styles: []string{"forecast.css"}, Name: "forecast.html"}.HTML(p)
}

func thingOf(r space.Result) thing {
	t := thing{Of: r.Quantity.Of, Name: r.Quantity.Name, Rests: r.Assumptions, Now: nowWords(r)}
	if r.Refusal != nil {
		t.Why, t.Measure = sentence(r.Refusal.Why), sentence(r.Refusal.Measure)
		return t
	}
	last := r.Points[len(r.Points)-1]
	t.Answer = fmt.Sprintf("%s on %s; with 80 %% between %s and %s", estimated(last.Value[2]), day(last.Date), estimated(last.Value[1]), estimated(last.Value[3]))
	if r.Full != nil {
		t.Answer += ". Full: " + fullWords(r)
	}
	t.Answer += "."
	t.Fan = fanOf(r)
	for _, w := range r.Rivals {
		row := wayRow{Name: w.Name, Part: "–", Loss: "not known", Median: estimated(w.Values[2]), Range: estimated(w.Values[1]) + " to " + estimated(w.Values[3])}
		if w.Weight >= leastPart {
			row.Part = fmt.Sprintf("%.0f %%", 100*w.Weight)
		}
		if w.Loss != nil {
			row.Loss = units.Measured(*w.Loss)
		}
		t.Ways = append(t.Ways, row)
	}
	return t
}

// fan is the drawing: a square of canvas × canvas that the page stretches. Text
// stands around it in HTML, so that it keeps its size on a narrow screen.
type fan struct {
	Alt                        string
	Wide, Narrow, Middle, Past string // paths
	Limit                      string
	Full                       *tick   // what the limit is, from the top
	Now                        float64 // per cent from the left
	X, Y                       []tick
}

type tick struct {
	At   float64 // per cent
	Text string
}

const canvas = 1000

// fanOf draws as much of the past as is forecast, at least a quarter of a year.
func fanOf(r space.Result) *fan {
	last := r.Points[len(r.Points)-1].Date
	from := r.Made.Add(-max(last.Sub(r.Made), 91*24*time.Hour))
	var past []forecast.Day
	for _, d := range r.Past {
		if !d.Date.Before(from) {
			past = append(past, d)
		}
	}
	if past[0].Date.After(from) {
		from = past[0].Date
	}
	low, high := reach(r, past)
	x := func(at time.Time) float64 { return canvas * float64(at.Sub(from)) / float64(last.Sub(from)) }
	y := func(v float64) float64 { return canvas * (1 - (v-low)/(high-low)) }
	f := &fan{Now: percent(x(r.Made)), Alt: fmt.Sprintf("%s of %s from %s to %s, and what is forecast until %s", r.Quantity.Name, r.Quantity.Of, day(from), day(r.Made), day(last))}
	for _, d := range past {
		f.Past += stroke(f.Past, x(d.Date), y(d.Value))
	}
	now := past[len(past)-1].Value
	points := append([]forecast.Point{{Date: r.Made, Value: forecast.Quantiles{now, now, now, now, now}}}, r.Points...)
	f.Wide, f.Narrow = between(points, 0, 4, x, y), between(points, 1, 3, x, y)
	for _, p := range points {
		f.Middle += stroke(f.Middle, x(p.Date), y(p.Value[2]))
	}
	if r.Limit != nil && low <= r.Limit.Bytes && r.Limit.Bytes <= high {
		f.Limit = fmt.Sprintf("M0 %.1fH%d", y(r.Limit.Bytes), canvas)
		f.Full = &tick{percent(y(r.Limit.Bytes)), "full at " + units.Size(r.Limit.Bytes)}
	}
	for i := range 5 {
		v := low + (high-low)*float64(i)/4
		f.Y = append(f.Y, tick{25 * float64(i), units.Size(v)})
	}
	for i := range 4 {
		at := from.Add(last.Sub(from) * time.Duration(i) / 3)
		f.X = append(f.X, tick{percent(x(at)), day(at)})
	}
	return f
}

// reach is what the drawing shows; the limit too, unless that would flatten all else.
func reach(r space.Result, past []forecast.Day) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, d := range past {
		low, high = min(low, d.Value), max(high, d.Value)
	}
	for _, p := range r.Points {
		low, high = min(low, p.Value[0]), max(high, p.Value[4])
	}
	if l := r.Limit; l != nil && l.Bytes > high && l.Bytes-low < 4*(high-low) {
		high = l.Bytes
	}
	room := max((high-low)*0.06, 1)
	return max(0, low-room), high + room
}

func percent(v float64) float64 { return math.Round(1000*v/canvas) / 10 }

func stroke(before string, x, y float64) string {
	pen := "L"
	if before == "" {
		pen = "M"
	}
	return fmt.Sprintf("%s%.1f %.1f", pen, x, y)
}

// between is the area from one quantile to another.
func between(points []forecast.Point, low, high int, x func(time.Time) float64, y func(float64) float64) string {
	var b strings.Builder
	for _, p := range points {
		b.WriteString(stroke(b.String(), x(p.Date), y(p.Value[high])))
	}
	for i := len(points) - 1; i >= 0; i-- {
		b.WriteString(stroke(b.String(), x(points[i].Date), y(points[i].Value[low])))
	}
	return b.String() + "Z"
}
