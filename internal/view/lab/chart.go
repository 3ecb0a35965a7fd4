package lab

import (
	"fmt"
	"math"
	"strings"

	"plumb/internal/units"
)

// A chart's drawing has a square of canvas × canvas units that the page
// stretches; text stands around it in HTML, so that it keeps its size on a
// narrow screen. y points down, as in SVG.
const canvas = 1000

// Chart is one picture as the page's template draws it.
type Chart struct {
	Title, Sub     string
	Alt            string // what is to be seen, for those who cannot see it
	XLabel, YLabel string
	X, Y           []Tick
	Bands          []Band
	Lines          []Line // later ones lie over earlier ones
	Notes          []note
	Low            bool // a low one
}

// Tick is a mark on an axis, with its label.
type Tick struct {
	At    float64 // per cent of the axis
	Text  string
	Minor bool // left out on a narrow screen
}

// Band is a coloured rectangle behind what is drawn.
type Band struct {
	X, Y, W, H float64
	Class      string
}

// Line is a path; a dot is a path without length and with a round end.
type Line struct{ Path, Class, Title string }

type note struct {
	X     float64 // per cent from the left
	Text  string
	Class string
}

// scale maps values to 0…1 of an axis.
type scale struct {
	low, high float64
	log       bool
}

func (s scale) At(v float64) float64 {
	if s.log {
		return (math.Log(v) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	}
	return (v - s.low) / (s.high - s.low)
}

// Linear makes a scale from 0 to the round tick at or above high.
func Linear(high float64, show func(float64) string) (scale, []Tick) {
	if !(high > 0) || !units.IsReal(high) {
		high = 1
	}
	step := roundStep(high / 4)
	n := int(math.Ceil(high / step * 0.999))
	s := scale{high: float64(n) * step}
	var ticks []Tick
	for i := range n + 1 {
		v := float64(i) * step
		ticks = append(ticks, Tick{At: PercentAt(s.At(v)), Text: show(v)})
	}
	return s, ticks
}

// roundStep is the smallest of 1, 2, 2.5, 5 times a power of ten that is no
// less than v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= v*0.999 {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic makes a scale around low to high, with ticks at 1, 2, 5 times
// powers of ten, or at the powers alone where that is too many.
func logarithmic(low, high float64, show func(float64) string) (scale, []Tick) {
	if !(low > 0) || !(high > 0) || !units.IsReal(low) || !units.IsReal(high) || low > high {
		low, high = 1, 10
	}
	if high < 1.5*low {
		low, high = low/1.3, high*1.3
	}
	s := scale{low: low, high: high, log: true}
	factors := []float64{1, 2, 5}
	if high/low > 500 {
		factors = factors[:1]
	}
	var ticks []Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for i, f := range factors {
			v := f * math.Pow(10, e)
			if at := s.At(v); at >= -0.001 && at <= 1.001 {
				ticks = append(ticks, Tick{At: PercentAt(at), Text: show(v), Minor: i > 0 && high/low > 60})
			}
		}
	}
	return s, ticks
}

// PercentAt keeps two digits: the page need not be larger.
func PercentAt(part float64) float64 { return math.Round(1e4*part) / 100 }

func spot(part float64) float64 { return math.Round(10*canvas*part) / 10 }

// Point is a place in the drawing, by parts of the axes.
type Point struct{ X, Y float64 }

// PathOf draws lines between points; one that is no number interrupts them.
func PathOf(points []Point) string {
	var b strings.Builder
	pen := "M"
	for _, p := range points {
		if !units.IsReal(p.X) || !units.IsReal(p.Y) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%g %g", pen, spot(p.X), spot(1-p.Y))
		pen = "L"
	}
	return b.String()
}

// Dot is a path that the style draws as a dot.
func Dot(x, y float64) string { return fmt.Sprintf("M%g %gh0", spot(x), spot(1-y)) }

// Across is a line from the left of the chart to its right.
func Across(y float64) string { return fmt.Sprintf("M0 %gH%d", spot(1-y), canvas) }

// Upright is a line from the bottom of the chart to its top.
func Upright(x float64) string { return fmt.Sprintf("M%g 0V%d", spot(x), canvas) }

// Between is a band between two places of the x axis.
func Between(from, to float64, class string) Band {
	return Band{X: spot(from), W: spot(to - from), H: canvas, Class: class}
}

// colours are as many as the style knows; beyond, lines are dashed.
const colours = 8

func armClass(i int) string {
	class := fmt.Sprintf("a%d", i%colours)
	if i >= colours {
		class += " dashed"
	}
	return class
}

// thin keeps the lowest and highest of every run of points, so that a line
// of at most about n points still shows each stall.
func thin(points []Point, n int) []Point {
	if len(points) <= n {
		return points
	}
	run := (2*len(points) + n - 1) / n
	var out []Point
	for from := 0; from < len(points); from += run {
		part := points[from:min(from+run, len(points))]
		low, high := 0, 0
		for i, p := range part {
			if p.Y < part[low].Y {
				low = i
			}
			if p.Y > part[high].Y {
				high = i
			}
		}
		out = append(out, part[min(low, high)])
		if low != high {
			out = append(out, part[max(low, high)])
		}
	}
	return out
}
