package stack

import (
	"fmt"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// SinceJSON is the document of plumb stack --since --json: what happened
// between two stacks of one host.
type SinceJSON struct {
	Plumb   int    `json:"plumb"` // JSONVersion
	Kind    string `json:"kind"`  // "stack-since"
	Version string `json:"version"`
	stack.Difference
}

// SinceDocument gives a difference as JSON v1.
func SinceDocument(d stack.Difference, version string) SinceJSON {
	d.Began, d.Ended, d.Changes = page.NotNil(d.Began), page.NotNil(d.Ended), page.NotNil(d.Changes)
	return SinceJSON{Plumb: page.JSONVersion, Kind: "stack-since", Version: version, Difference: d}
}

// Since tells what happened between two stacks, thing by thing. Counters that
// stood are left out, and said to be.
func Since(d stack.Difference, now *stack.Stack, cat *catalog.Catalog, screen page.Screen) string {
	p, v := page.NewPage(screen), picture.Facts{Cat: cat}
	p.Hang(page.Normal, "", fmt.Sprintf("%s, from %s to %s: %s", picture.HostLine(now),
		d.From.UTC().Format(time.DateTime), units.Moment(d.To), units.Span(d.To.Sub(d.From).Round(time.Second))))
	var of stack.Ref
	still := 0
	for _, c := range d.Changes {
		if stood(c) {
			still++
			continue
		}
		if sameShown(v, c) {
			continue
		}
		if c.Of != of {
			of = c.Of
			p.Blank()
			p.Line(page.Bold, picture.ThingName(now, of))
		}
		p.Hang(page.Normal, "  "+v.Name(of.Kind, c.Name)+"  ", became(v, c))
	}
	p.Blank()
	for _, r := range d.Began {
		p.Para(page.Normal, 0, picture.ThingName(now, r)+" is new")
	}
	for _, r := range d.Ended {
		p.Para(page.Normal, 0, r.String()+" is gone")
	}
	p.Para(page.Dim, 0, fmt.Sprintf("%s did not change. What could not be read both times is not shown, nor are averages since a server's start.",
		units.Count(still, "counter")))
	return p.String()
}

// sameShown tells of a value that moved by less than is written of it.
func sameShown(v picture.Facts, c stack.Change) bool {
	return c.OverTime != stack.Counter && v.Show(c.Of.Kind, c.Name, c.Before) == v.Show(c.Of.Kind, c.Name, c.After)
}

func stood(c stack.Change) bool {
	return c.OverTime == stack.Counter && !c.Anew && c.By != nil && *c.By == 0
}

// became writes a change: a rate with what was counted, or what it was and is.
func became(v picture.Facts, c stack.Change) string {
	show := func(x stack.Value) string { return v.Show(c.Of.Kind, c.Name, x) }
	switch {
	case c.OverTime != stack.Counter || c.Before.IsAbsent() || c.After.IsAbsent():
		return show(c.Before) + " → " + show(c.After)
	case c.By == nil:
		return fmt.Sprintf("was reset, unknown when: %s → %s", show(c.Before), show(c.After))
	}
	by := show(stack.Int(int64(*c.By)))
	rate := ""
	if c.PerSecond != nil {
		rate = ", " + perSecond(v.TypeOf(c.Of.Kind, c.Name), *c.PerSecond)
	}
	if c.Anew {
		return fmt.Sprintf("was reset: %s since then%s; what it counted before the reset is not known", by, rate)
	}
	return "+" + by + rate
}

func perSecond(t catalog.Type, rate float64) string {
	if t == catalog.Bytes {
		return units.Measured(rate) + "/s"
	}
	return units.PerSecond(rate) + "/s"
}
