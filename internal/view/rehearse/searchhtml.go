package rehearse

import (
	"fmt"
	"math"
	"slices"

	"plumb/internal/rehearse"
	"plumb/internal/search"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
)

// searchHTML is a search as the page shows it.
type searchHTML struct {
	Meta    []string
	Answer  string
	Best    []labview.Setting
	Charts  []labview.Chart
	Caption string
	Notes   []string
}

// searchPage prepares a search for the page; nil when there was none.
func searchPage(s *rehearse.Search, scale float64) *searchHTML {
	if s == nil {
		return nil
	}
	d := &searchHTML{Meta: searchHead(*s)[1:], Answer: plainSpaces(searchSentence(*s))}
	for i, dial := range s.Dials {
		if s.Best == nil {
			break
		}
		value := dialValue(dial, s.Best[i])
		if real := atServer(dial, s.Best[i], scale); real != "" {
			value += ", " + real + " at the server's size"
		}
		d.Best = append(d.Best, labview.Setting{Path: dial.Name, Value: value})
	}
	if plan := searchPlan(*s); plan != "" {
		d.Answer += " " + plan
	}
	most := 0.0
	for _, c := range s.Curves {
		for _, e := range c.Response {
			most = max(most, 1+e.Value, min(1+e.High, 1.5*(1+e.Value)))
		}
	}
	for _, c := range s.Curves {
		d.Charts = append(d.Charts, searchChart(*s, c, most))
	}
	if len(d.Charts) > 0 {
		d.Caption = "Each curve is the response to one setting, on average over what the others were set to in the trials, as times the server as it is. Dotted is the 95 % interval of a surface through all trials; a dot is a trial."
	}
	d.Notes = slices.Clone(s.Says)
	for _, l := range s.Left {
		d.Notes = append(d.Notes, "Not searched: "+l+".")
	}
	return d
}

// searchChart draws the response to one setting, and the trials behind it.
func searchChart(s rehearse.Search, c search.Curve, most float64) labview.Chart {
	d := s.Dials[c.Dimension]
	y, ticks := labview.Linear(most, units.Whole)
	out := labview.Chart{Title: d.Name, Sub: plainSpaces(curveWord(c, s.Margin)), XLabel: d.Name, YLabel: "times as is", Y: ticks,
		Alt: "response to " + d.Name + ": " + plainSpaces(curveWord(c, s.Margin))}
	out.Grid()
	out.Lines = append(out.Lines, labview.Line{Path: labview.Across(y.At(1)), Class: "zero"})
	var curve, low, high []labview.Point
	last := -1.0
	for i, v := range c.Values {
		e, at := c.Response[i], inside(d.Part(v))
		if at-last > 0.15 || i == 0 {
			out.X, last = append(out.X, labview.Tick{At: labview.PercentAt(at), Text: dialValue(d, v)}), at
		}
		curve = append(curve, labview.Point{X: at, Y: y.At(1 + e.Value)})
		low, high = append(low, labview.Point{X: at, Y: math.Max(0, y.At(1+e.Low))}), append(high, labview.Point{X: at, Y: math.Min(1, y.At(1+e.High))})
	}
	out.Lines = append(out.Lines, labview.Line{Path: labview.PathOf(low), Class: "open"}, labview.Line{Path: labview.PathOf(high), Class: "open"}, labview.Line{Path: labview.PathOf(curve), Class: "curve fitted"})
	for _, o := range s.Tried {
		if !units.IsReal(o.Value) || len(o.Point) <= c.Dimension {
			continue
		}
		if at := y.At(math.Exp(o.Value)); at <= 1 {
			out.Lines = append(out.Lines, labview.Line{Path: labview.Dot(inside(d.Part(o.Point[c.Dimension])), at), Class: "dot a0", Title: fmt.Sprintf("%s: %s", dialValue(d, o.Point[c.Dimension]), units.Signed(math.Expm1(o.Value)))})
		}
	}
	return out
}

// inside keeps a part of an axis clear of its ends.
func inside(part float64) float64 { return 0.04 + 0.92*part }
