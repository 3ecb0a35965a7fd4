package load

import (
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/load/tpcc"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// TPCCCheck shows how the data keep the consistency conditions.
func TPCCCheck(r tpcc.CheckReport, screen page.Screen) string {
	p := page.NewPage(screen)
	broken := len(r.Broken())
	checked := 0
	for _, c := range r.Conditions {
		if c.Skipped == "" {
			checked++
		}
	}
	if broken == 0 {
		p.Para(page.Bold, 0, fmt.Sprintf("All %d conditions that were checked hold · %s", checked, units.Span(r.Elapsed)))
	} else {
		p.Para(page.Red, 0, fmt.Sprintf("%s not hold, of %d · %s", units.Counted(broken, "condition", "does", "do"), checked, units.Span(r.Elapsed)))
	}
	p.Blank()
	for _, c := range r.Conditions {
		number := strconv.Itoa(c.Number)
		if c.Set > 0 {
			number += "/" + strconv.Itoa(c.Set)
		}
		verdict, i := "holds", page.Normal
		switch {
		case c.Skipped != "":
			verdict, i = "–", page.Dim
		case c.Violations > 0:
			verdict, i = "BROKEN", page.Red
		}
		p.Labelled(i, page.Right(number, 5)+"  "+page.Columns(verdict, 8), i, c.Rule)
		if c.Skipped != "" {
			p.Para(page.Dim, 15, "not checked: "+c.Skipped)
		}
		if c.Violations > 0 {
			p.Para(page.Normal, 15, fmt.Sprintf("broken in %s %ss, such as %s", units.Grouped(c.Violations), c.Group, strings.Join(c.Examples[:min(3, len(c.Examples))], "; ")))
		}
	}
	return p.String()
}

// TPCCCheckJSON is the document of plumb load tpcc check --json.
type TPCCCheckJSON struct {
	Plumb      int                 `json:"plumb"` // JSONVersion
	Kind       string              `json:"kind"`  // "load-check"
	Version    string              `json:"version"`
	Seconds    float64             `json:"seconds"`
	Broken     int                 `json:"broken"` // conditions that do not hold
	Conditions []TPCCConditionJSON `json:"conditions"`
}

// TPCCConditionJSON is one rule of consistency, and how the data keep it.
type TPCCConditionJSON struct {
	Number     int      `json:"number"` // of the specification up to 12; higher ones are ours
	Set        int      `json:"set"`    // of the tables, from 1; 0 when there is only one
	Rule       string   `json:"rule"`
	Holds      bool     `json:"holds"`
	Skipped    string   `json:"skipped,omitempty"` // why it was not checked
	Groups     string   `json:"groups"`            // what is counted as violating
	Violations int64    `json:"violations"`
	Examples   []string `json:"examples"`
	Seconds    float64  `json:"seconds"`
}

// TPCCCheckDocument is the same as JSON v1.
func TPCCCheckDocument(r tpcc.CheckReport, version string) TPCCCheckJSON {
	d := TPCCCheckJSON{Plumb: page.JSONVersion, Kind: "load-check", Version: version, Seconds: r.Elapsed.Seconds(), Broken: len(r.Broken()), Conditions: []TPCCConditionJSON{}}
	for _, c := range r.Conditions {
		d.Conditions = append(d.Conditions, TPCCConditionJSON{Number: c.Number, Set: c.Set, Rule: c.Rule, Holds: c.Holds(), Skipped: c.Skipped,
			Groups: c.Group, Violations: c.Violations, Examples: page.NotNil(c.Examples), Seconds: c.Took.Seconds()})
	}
	return d
}
