package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/load/files"
	"plumb/internal/stats"
)

// LoadSweep shows a workload of files at several numbers of threads, and the
// curve that fits it. The report has what the levels have in common.
func LoadSweep(r LoadReport, s *files.Sweep, screen Screen) string {
	p := newPage(screen)
	p.para(bold, 0, strings.Join([]string{r.Result.Workload, r.Place}, " · "))
	p.hang(plain, "  work    ", optionsText(r.Options))
	p.hang(plain, "  pace    ", strings.Join([]string{r.Result.Pace, fmt.Sprintf("seed %d", r.Result.Seed), "measured " + span(r.Result.Measured) + " at each number of threads"}, " · "))
	p.sweepMarks(s)
	for _, name := range sweptOps(s) {
		p.blank()
		p.sweepTable(s, name)
	}
	p.para(dim, 0, "Slower, and p99 beside it: as multiples of the first line's. At once: how many effectively progress together.")
	p.blank()
	p.curve(s.Fit)
	return p.String()
}

// sweepMarks says once what is wrong with several levels.
func (p *page) sweepMarks(s *files.Sweep) {
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
	p.blank()
	p.line(yellow, "Not to be taken at face value:")
	for _, kind := range order {
		at := "at " + join(where[kind]) + " threads: "
		if len(where[kind]) == len(s.Levels) {
			at = ""
		}
		p.hang(plain, "  · ", at+text[kind])
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

func (p *page) sweepTable(s *files.Sweep, name string) {
	fit := s.Fit.Capacity
	if s.Fit.Op != name {
		fit = nil
	}
	cols := latColumns(p.width - sweepFixed - 9)
	wide := func(text string) string { // what a narrow page leaves out
		if p.width < sweepFixed+9+2*latWidth {
			return ""
		}
		return text
	}
	text := columns(name, 11) + right("per second", 12)
	if fit != nil {
		text += right("fitted", 9)
	}
	for _, c := range cols {
		text += right(c.name, latWidth)
	}
	if name != allOps {
		text += right("slower", 8) + wide(right("p99", 8)+right("at once", 8))
	}
	p.line(dim, text)
	for _, l := range s.Levels {
		o, ok := levelOp(l, name)
		if !ok {
			continue
		}
		text := columns(count(l.Threads, "thread"), 11) + right(perSecond(o.Rate), 12)
		if fit != nil {
			text += right(perSecond(fit.Predict(l.Threads).Value), 9)
		}
		text += latCells(cols, o.Summary)
		if name != allOps {
			text += right(digits3(o.Slower), 8) + wide(right(digits3(o.Slower99), 8)+right(digits3(o.Parallel), 8))
		}
		p.line(plain, text)
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
func (p *page) curve(f files.Fit) {
	c := f.Capacity
	if c == nil {
		p.hang(plain, "curve     ", "none: "+f.Err.Error())
		return
	}
	best := strconv.Itoa(c.Best.Low)
	if c.Best.High > c.Best.Low {
		best += " to " + strconv.Itoa(c.Best.High)
	}
	p.hang(plain, "best      ", best+" threads: "+c.Best.Why)
	p.hang(plain, "curve     ", fmt.Sprintf("%s: %s/s at most (%s to %s) · alone an operation takes %s · off by %s on average",
		c.Model, perSecond(c.Max.Value), perSecond(c.Max.Low), perSecond(c.Max.High), latency(fromSeconds(c.Base.Value)), percent(c.Fit)))
	for _, d := range c.Doubts {
		p.hang(dim, "          ", d)
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
		all = append(all, Remark{"dips", fmt.Sprintf("%d times, every %s s (%s to %s), it falls by %s for %s of the time; chance alone would show that with a probability of %.1g",
			d.Count, digits3(d.Period.Value), digits3(d.Period.Low), digits3(d.Period.High), percent(d.Depth.Value), percent(d.Share.Value), d.P)})
	}
	if b := a.Burst; b != nil {
		all = append(all, Remark{"burst", fmt.Sprintf("used up after %s s: from %s/s down to %s/s", digits3(b.At.Value), perSecond(b.Before.Value), perSecond(b.After.Value))})
	}
	if len(a.Regimes) > 1 {
		var list []string
		for _, r := range a.Regimes {
			list = append(list, fmt.Sprintf("%d to %d s %s/s", r.From, r.To, perSecond(r.Level.Value)))
		}
		all = append(all, Remark{"levels", strings.Join(list, " · ")})
	}
	if len(all) == 0 && len(a.Doubts) == 0 {
		all = append(all, Remark{"series", "no dips that come back, no lasting change of level, no burst that ended"})
	}
	for _, d := range a.Doubts {
		all = append(all, Remark{"series", d})
	}
	return all
}
