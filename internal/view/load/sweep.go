package load

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/load/files"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// SweepText shows a workload of files at several numbers of threads, and the
// curve that fits it. The report has what the levels have in common.
func SweepText(r Report, s *files.Sweep, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Para(page.Bold, 0, strings.Join([]string{r.Result.Workload, r.Place}, " · "))
	p.Hang(page.Normal, "  work    ", optionsText(r.Options))
	p.Hang(page.Normal, "  pace    ", strings.Join([]string{r.Result.Pace, fmt.Sprintf("seed %d", r.Result.Seed), "measured " + units.Span(r.Result.Measured) + " at each number of threads"}, " · "))
	sweepMarks(p, s)
	for _, name := range sweptOps(s) {
		p.Blank()
		sweepTable(p, s, name)
	}
	p.Para(page.Dim, 0, "Slower, and the p99 next to it: multiples of the first line. At once: how many operations effectively run in parallel.")
	p.Blank()
	curve(p, s.Fit)
	return p.String()
}

// sweepMarks says once what is wrong with several levels.
func sweepMarks(p *page.Page, s *files.Sweep) {
	var order []string
	where, text := map[string][]string{}, map[string]string{}
	for _, l := range s.Levels {
		for _, m := range l.Result.Marks {
			if where[m.Kind] == nil {
				order, text[m.Kind] = append(order, m.Kind), m.Text
			}
			where[m.Kind] = append(where[m.Kind], strconv.Itoa(l.Threads))
		}
	}
	if len(order) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Yellow, "Reasons to doubt this result:")
	for _, kind := range order {
		at := "at " + page.Join(where[kind]) + " threads: "
		if len(where[kind]) == len(s.Levels) {
			at = ""
		}
		p.Hang(page.Normal, "  · ", at+text[kind])
	}
}

// Columns of the saturation table that do not depend on the width.
const sweepFixed = 11 + 12 + 3*8

// sweptOps are the kinds of operation that were done, and before several of
// them all together.
func sweptOps(s *files.Sweep) (names []string) {
	for _, l := range s.Levels {
		for _, o := range l.Ops {
			if !slices.Contains(names, o.Name) {
				names = append(names, o.Name)
			}
		}
	}
	if len(names) > 1 {
		names = append([]string{allOps}, names...)
	}
	return names
}

const allOps = "all"

func sweepTable(p *page.Page, s *files.Sweep, name string) {
	fit := s.Fit.Capacity
	if s.Fit.Op != name {
		fit = nil
	}
	cols := latColumns(p.Width - sweepFixed - 9)
	wide := func(text string) string { // what a narrow page leaves out
		if p.Width < sweepFixed+9+2*latWidth {
			return ""
		}
		return text
	}
	text := page.Columns(name, 11) + page.Right("per second", 12)
	if fit != nil {
		text += page.Right("fitted", 9)
	}
	for _, c := range cols {
		text += page.Right(c.name, latWidth)
	}
	if name != allOps {
		text += page.Right("slower", 8) + wide(page.Right("p99", 8)+page.Right("at once", 8))
	}
	p.Line(page.Dim, text)
	for _, l := range s.Levels {
		o, ok := levelOp(l, name)
		if !ok {
			continue
		}
		text := page.Columns(units.Count(l.Threads, "thread"), 11) + page.Right(units.PerSecond(o.Rate), 12)
		if fit != nil {
			text += page.Right(units.PerSecond(fit.Predict(l.Threads).Value), 9)
		}
		text += latCells(cols, o.Summary)
		if name != allOps {
			text += page.Right(units.Digits3(o.Slower), 8) + wide(page.Right(units.Digits3(o.Slower99), 8)+page.Right(units.Digits3(o.Parallel), 8))
		}
		p.Line(page.Normal, text)
	}
}

// levelOp gives a kind of operation of a level, or all of them together.
func levelOp(l files.Level, name string) (files.LevelOp, bool) {
	if name == allOps {
		return files.LevelOp{Name: name, Rate: l.Result.Rate.Value, Summary: l.Result.Total.Response.Summary()}, true
	}
	for _, o := range l.Ops {
		if o.Name == name {
			return o, true
		}
	}
	return files.LevelOp{}, false
}

// curve says what a fitted curve means.
func curve(p *page.Page, f files.Fit) {
	c := f.Capacity
	if c == nil {
		p.Hang(page.Normal, "curve     ", "none: "+f.Err.Error())
		return
	}
	p.Hang(page.Normal, "best      ", c.Best.Threads()+" threads: "+c.Best.Why)
	p.Hang(page.Normal, "curve     ", fmt.Sprintf("%s: %s/s at most (%s to %s) · alone an operation takes %s · off by %s on average",
		c.Model, units.PerSecond(c.Max.Value), units.PerSecond(c.Max.Low), units.PerSecond(c.Max.High), units.Latency(fromSeconds(c.Base.Value)), units.Percent(c.Fit)))
	for _, d := range c.Doubts {
		p.Hang(page.Dim, "          ", d)
	}
}

func fromSeconds(s float64) time.Duration {
	if math.IsNaN(s) || s < 0 || s > 1e9 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// seriesRemarks say what the seconds of a run show: dips that come back,
// changes of level, a burst that was used up.
func seriesRemarks(a stats.Analysis) (all []Remark) {
	if d := a.Dips; d != nil {
		every, length, depth := d.InSeconds()
		all = append(all, Remark{"dips", fmt.Sprintf("%s; chance alone would show that with a probability of %.1g", page.Dips(every, length, depth, d.Count), d.P)})
	}
	if b := a.Burst; b != nil {
		all = append(all, Remark{"burst", fmt.Sprintf("used up after %s s: from %s/s down to %s/s", units.Digits3(b.At.Value), units.PerSecond(b.Before.Value), units.PerSecond(b.After.Value))})
	}
	if len(a.Regimes) > 1 {
		var list []string
		for _, r := range a.Regimes {
			list = append(list, fmt.Sprintf("%d to %s %s/s", r.From, units.Span(time.Duration(r.To)*time.Second), units.PerSecond(r.Level.Value)))
		}
		all = append(all, Remark{"levels", strings.Join(list, " · ")})
	}
	if len(all) == 0 && len(a.Doubts) == 0 {
		all = append(all, Remark{"series", "no recurring dips, no lasting change of level, no burst that ended"})
	}
	for _, d := range a.Doubts {
		all = append(all, Remark{"series", d})
	}
	return all
}
