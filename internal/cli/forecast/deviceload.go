package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/forecast/model"
	"plumb/internal/hint"
	"plumb/internal/stack"
	"plumb/internal/stats"
	"plumb/internal/units"
)

const (
	leastLoad = 10 * time.Minute        // tells a peak
	bySecond  = 1500 * time.Millisecond // the longest time that a sample of each second may stand for
)

// flow is a device's load over some time that ended at a moment.
type flow struct {
	until time.Time
	model.Spell
}

// recorded takes the load of a device from the recording. A recording older than
// two days has means of ten seconds and of a minute, so each sample counts for the
// time it stands for.
func (f volumeFlags) recorded(ctx context.Context, l model.Load) (model.Load, error) {
	found, err := f.recording.read(ctx, stack.Ref{Kind: "block", Name: f.device}, false, "reads", "writes", "read_bytes", "written_bytes")
	if err != nil {
		return l, err
	}
	var ios, bytes []flow
	for id, values := range found {
		if id.Name == "reads" || id.Name == "writes" {
			ios = added(ios, rates(values))
		} else {
			bytes = added(bytes, rates(values))
		}
	}
	if len(ios) == 0 {
		return l, hint.With(errors.New("forecast volume: the recording has no device "+f.device), "plumb stack shows the devices; --dir names another recording")
	}
	if known := lasted(ios); known < leastLoad {
		return l, hint.With(fmt.Errorf("forecast volume: %s of %s do not show the peak", units.Span(known), f.device), fmt.Sprintf("record it for %s and more, its busiest hour among them: plumb watch record", units.Span(leastLoad)))
	}
	for _, s := range ios {
		l.Series = append(l.Series, s.Spell)
	}
	l.IOPS, l.MiBps, l.Doubts = peak(ios), peak(bytes), doubts(ios)
	if l.IOPS.Value > 0 {
		l.KiB = l.MiBps.Value / l.IOPS.Value / 1024
	}
	l.MiBps = l.MiBps.Times(1.0 / mib)
	return l, nil
}

// rates returns the rates between the samples of a counter.
func rates(all []sampled) (out []flow) {
	for i := 1; i < len(all); i++ {
		passed, rose := all[i].at.Sub(all[i-1].at), all[i].value-all[i-1].value
		if passed > 0 && rose >= 0 { // a counter that began anew gives no rate
			out = append(out, flow{all[i].at, model.Spell{PerSecond: rose / passed.Seconds(), For: passed}})
		}
	}
	return out
}

// added adds two loads for the times at which both are known.
func added(a, b []flow) []flow {
	if a == nil {
		return b
	}
	var out []flow
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := a[i].until.Compare(b[j].until); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			if a[i].For == b[j].For {
				a[i].PerSecond += b[j].PerSecond
				out = append(out, a[i])
			}
			i, j = i+1, j+1
		}
	}
	return out
}

// lasted is the total time for which a load is known.
func lasted(all []flow) (sum time.Duration) {
	for _, s := range all {
		sum += s.For
	}
	return sum
}

// peak is what the load does not pass in 99 of 100 parts of the time, from 95 to
// all of them. Means hide how much higher single seconds were: what seconds had more
// than minutes, where both are known, the highest mean may have had too.
func peak(all []flow) stats.Estimate {
	if len(all) == 0 {
		return stats.Estimate{}
	}
	e := stats.Estimate{Value: timely(all, 0.99), Low: timely(all, 0.95), High: timely(all, 1), N: len(all)}
	seconds, means := apart(all)
	if more, known := hidden(seconds); known && len(means) > 0 {
		e.High = max(e.High, timely(means, 1)*more)
	}
	return e
}

// timely is the load that is not exceeded in a part of the time.
func timely(all []flow, part float64) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b flow) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
	want := time.Duration(part * float64(lasted(all)))
	for _, s := range sorted {
		if want -= s.For; want <= 0 {
			return s.PerSecond
		}
	}
	return sorted[len(sorted)-1].PerSecond
}

// apart divides loads into those of single seconds and means over a longer time.
func apart(all []flow) (seconds, means []flow) {
	for _, s := range all {
		if s.For <= bySecond {
			seconds = append(seconds, s)
		} else {
			means = append(means, s)
		}
	}
	return seconds, means
}

// hidden is the ratio of the peak of seconds to that of minutes.
func hidden(seconds []flow) (more float64, known bool) {
	if lasted(seconds) < leastLoad {
		return 0, false
	}
	minutes := map[time.Time]flow{}
	for _, s := range seconds {
		at := s.until.Truncate(time.Minute)
		m := minutes[at]
		sum := m.PerSecond*m.For.Seconds() + s.PerSecond*s.For.Seconds()
		m.For += s.For
		m.PerSecond = sum / m.For.Seconds()
		minutes[at] = m
	}
	var means []flow
	for _, m := range minutes {
		means = append(means, m)
	}
	ofMinutes := timely(means, 0.99)
	if ofMinutes == 0 {
		return 0, false
	}
	return max(1, timely(seconds, 0.99)/ofMinutes), true
}

// doubts says what makes a load uncertain.
func doubts(all []flow) (list []string) {
	seconds, means := apart(all)
	if len(means) > 0 {
		text := fmt.Sprintf("of %s of its load only means of several seconds up to a minute are recorded, which are lower than the seconds within them", units.Planned(lasted(means)))
		if more, known := hidden(seconds); known {
			text += fmt.Sprintf(": in the %s that are recorded by the second, the peak of seconds is %s times that of minutes", units.Planned(lasted(seconds)), units.Digits3(more))
		} else {
			text += ", and too little is recorded by the second to tell by how much: ask again within two days of the peak"
		}
		list = append(list, text)
	}
	span := all[len(all)-1].until.Sub(all[0].until) + all[0].For
	if unknown := span - lasted(all); unknown > span/100 {
		list = append(list, fmt.Sprintf("of %s within the recording its load is not known: no credits are saved or spent in that time", units.Planned(unknown)))
	}
	return list
}
