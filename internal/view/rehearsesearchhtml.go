package view

import (
	"fmt"
	"math"
	"slices"

	"plumb/internal/rehearse"
	"plumb/internal/search"
)

// searchHTML is a search as the page shows it.
type searchHTML struct {
	Meta    []string
	Answer  string
	Best    []setting
	Charts  []chart
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
		d.Best = append(d.Best, setting{path: dial.Name, value: value})
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
func searchChart(s rehearse.Search, c search.Curve, most float64) chart {
	d := s.Dials[c.Dimension]
	y, ticks := linear(most, digitsShort)
	out := chart{Title: d.Name, Sub: plainSpaces(curveWord(c, s.Margin)), XLabel: d.Name, YLabel: "times as is", Y: ticks,
		Alt: "response to " + d.Name + ": " + plainSpaces(curveWord(c, s.Margin))}
	out.grid()
	out.Lines = append(out.Lines, line{Path: across(y.at(1)), Class: "zero"})
	var curve, low, high []point
	last := -1.0
	for i, v := range c.Values {
		e, at := c.Response[i], inside(d.Part(v))
		if at-last > 0.15 || i == 0 {
			out.X, last = append(out.X, tick{At: percentAt(at), Text: dialValue(d, v)}), at
		}
		curve = append(curve, point{x: at, y: y.at(1 + e.Value)})
		low, high = append(low, point{x: at, y: math.Max(0, y.at(1+e.Low))}), append(high, point{x: at, y: math.Min(1, y.at(1+e.High))})
	}
	out.Lines = append(out.Lines, line{Path: pathOf(low), Class: "open"}, line{Path: pathOf(high), Class: "open"}, line{Path: pathOf(curve), Class: "curve fitted"})
	for _, o := range s.Tried {
		if !isReal(o.Value) || len(o.Point) <= c.Dimension {
			continue
		}
		if at := y.at(math.Exp(o.Value)); at <= 1 {
			out.Lines = append(out.Lines, line{Path: dot(inside(d.Part(o.Point[c.Dimension])), at), Class: "dot a0", Title: fmt.Sprintf("%s: %s", dialValue(d, o.Point[c.Dimension]), signed(math.Expm1(o.Value)))})
		}
	}
	return out
}

// inside keeps a part of an axis clear of its ends.
func inside(part float64) float64 { return 0.04 + 0.92*part }
