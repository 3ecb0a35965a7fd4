package record

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
)

// Holds is what a recording holds.
type Holds struct {
	From, To time.Time
	Verdicts []watch.Span  // oldest first
	Lost     []record.Lost // spans of which something is not there
}

// Text shows it. Times are of the place.
func (h Holds) Text(place *time.Location) string {
	var b strings.Builder
	at := func(t time.Time) string { return t.In(place).Format("2006-01-02 15:04:05 -0700") }
	fmt.Fprintf(&b, "recorded from %s to %s\n", at(h.From), at(h.To))
	if len(h.Verdicts) == 0 {
		b.WriteString("\nno verdict was raised\n")
	} else {
		b.WriteString("\nverdicts\n")
	}
	for _, v := range h.Verdicts {
		until := "to the end" // of what is recorded: whoever recorded may have been killed
		if !v.To.IsZero() {
			until = "for " + units.Span(v.To.Sub(v.From).Round(time.Second))
		}
		fmt.Fprintf(&b, "  %s  %-12s  %s  %s\n", at(v.From), until, page.OneLine(v.ID), page.OneLine(v.Server.String()))
	}
	if len(h.Lost) > 0 {
		b.WriteString("\nnot recorded\n")
	}
	for _, l := range h.Lost {
		fmt.Fprintf(&b, "  %s  for %-8s  %s\n", at(l.Since), units.Span(l.Until.Sub(l.Since).Round(time.Second)), page.OneLine(l.Why))
	}
	b.WriteString("\nplumb watch replay --at TIME shows one of these moments\n")
	return b.String()
}
