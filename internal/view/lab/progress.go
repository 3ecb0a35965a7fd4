package lab

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/lab"
	"plumb/internal/lab/report"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Progress is the line that rewrites itself while a lab works:
//
//	block 2 of 8, trial 7 of 24 (ext4, 1): measuring 12 of 20 s · 4m left · so far −31 % (−40 to −22 %)
func Progress(s lab.Progress) string {
	parts := []string{stepWhere(s) + stepDoing(s)}
	if s.Left > 0 {
		parts = append(parts, units.Planned(s.Left)+" left")
	}
	if v := verdictSoFar(s); v != nil {
		parts = append(parts, "so far "+page.Keep(units.Differs(v.Effect)))
	}
	return strings.ReplaceAll(page.Clean(strings.Join(parts, " · ")), string(page.NoBreak), " ")
}

// TooLong says that the budget of an experiment will end it before its fewest blocks are done, at the pace so far; "" where it will not.
func TooLong(r report.Report) string {
	x := r.Experiment
	least := r.Block * time.Duration(x.Least)
	if r.Complete || x.Budget == 0 || least <= x.Budget {
		return ""
	}
	return fmt.Sprintf("a block took %s, and the %s that it needs take %s: the budget of %s will end it before that",
		units.Planned(r.Block), units.Count(x.Least, "block"), units.Planned(least), units.Planned(x.Budget))
}

func stepWhere(s lab.Progress) string {
	var where []string
	if s.Trial.Block > 0 {
		text := fmt.Sprintf("block %d", s.Trial.Block)
		if most := s.Report.Experiment.Most; most > 0 {
			text += fmt.Sprintf(" of %d", most)
		}
		where = append(where, text)
	}
	if s.Number > 0 && s.Total > 0 {
		where = append(where, fmt.Sprintf("trial %d of %d", s.Number, s.Total))
	}
	text := strings.Join(where, ", ")
	switch {
	case s.Trial.Arm == "" && text == "":
		return ""
	case s.Trial.Arm == "":
		return text + ": "
	case text == "":
		return s.Trial.Arm + ": "
	}
	return text + " (" + s.Trial.Arm + "): "
}

func stepDoing(s lab.Progress) string {
	switch {
	case s.Of > 0:
		return fmt.Sprintf("%s %.0f of %s", s.Doing, min(s.Elapsed, s.Of).Seconds(), units.Span(s.Of.Round(time.Second)))
	case s.Elapsed >= 2*time.Second:
		return s.Doing + ", " + units.Span(s.Elapsed.Round(time.Second))
	}
	return s.Doing
}

// verdictSoFar is the comparison that the arm at work belongs to, or else the
// first that has a value.
func verdictSoFar(s lab.Progress) *report.Comparison {
	if v := verdictOf(s.Report, s.Trial.Arm); v != nil && units.MeasuredAtAll(v.Effect) {
		return v
	}
	for i := range s.Report.Verdicts {
		if v := &s.Report.Verdicts[i]; units.MeasuredAtAll(v.Effect) && len(s.Report.Verdicts) == 1 {
			return v
		}
	}
	return nil
}
