package space

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plumb/internal/forecast"
)

// logs is a series of days, of which level tells what is kept.
func logs(days int, level func(day int) float64) forecast.Series {
	s := forecast.Series{Quantity: forecast.Quantity{Of: "mysql:3306", Name: "space_binlog", Unit: "bytes"}}
	for d := range days {
		s.Days = append(s.Days, forecast.Day{Date: first.AddDate(0, 0, d), Value: level(d)})
	}
	return s
}

// TestLogsThatNobodyRemoves fill the disk: from the first day on, or since they are removed no more.
func TestLogsThatNobodyRemoves(t *testing.T) {
	for name, s := range map[string]forecast.Series{
		"never removed": logs(60, func(d int) float64 { return 1e9 * float64(d) }),
		"a slot that is gone": logs(80, func(d int) float64 {
			if d < 60 {
				return 1e9 + 1e8*float64(d%2)
			}
			return 1e9 * float64(d-59)
		}),
		"removed each week, until lately": logs(80, func(d int) float64 {
			if d < 49 {
				return 1e9 * float64(d%7)
			}
			return 1e9 * float64(d-49)
		}),
	} {
		res := Of(s, Ask{Days: 30, Bounded: true, Limit: &Limit{Bytes: s.Last().Value + 10e9, Why: "made"}})
		if res.Refusal != nil {
			t.Errorf("%s: %+v", name, res.Refusal)
			continue
		}
		if m, want := res.Points[len(res.Points)-1].Value.Median(), s.Last().Value+30e9; math.Abs(m-want) > 1e9 {
			t.Errorf("%s: %.4g, want %.4g", name, m, want)
		}
		if f := res.Full.Dates[1]; f == nil || !f.Equal(s.Last().Date.AddDate(0, 0, 10)) {
			t.Errorf("%s: full %v, want ten days later", name, f)
		}
		said := strings.Join(res.Assumptions, "\n")
		if !strings.Contains(said, "nothing was removed from it in the last ") || strings.Contains(said, "it continues to be emptied as before") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestLogsThatWereRemovedUntilLately: neither how they were nor how they are says how they will be.
func TestLogsThatWereRemovedUntilLately(t *testing.T) {
	s := logs(70, func(d int) float64 {
		if d < 60 {
			return 1e9 + 1e8*float64(d%2)
		}
		return 1e9 * float64(d-59)
	})
	r := Of(s, Ask{Days: 30, Bounded: true}).Refusal
	if r == nil || r.Why != "something was removed from it for the last time on 2025-03-02, and what was before that does not count" || !strings.Contains(r.Measure, "in 5 days") {
		t.Errorf("%+v", r)
	}
}

// TestLogsThatAreRemoved are not going to grow: as seldom as they are removed, or by chance.
func TestLogsThatAreRemoved(t *testing.T) {
	still := func(s forecast.Series, changes ...Change) bool {
		return stillEmptied(s, Ask{Bounded: true, Changes: changes}).Bounded
	}
	for name, s := range map[string]forecast.Series{
		"nothing known":   logs(0, nil),
		"always the same": logs(100, func(int) float64 { return 1e9 }),
		"each month":      logs(179, func(d int) float64 { return 1e9 * float64(d%30) }),
		"six days known":  logs(7, func(d int) float64 { return 1e9 * float64(d) }),
		"later than usually": logs(63, func(d int) float64 {
			if d < 49 {
				return 1e9 * float64(d%7)
			}
			return 1e9 * float64(d-49)
		}),
	} {
		if !still(s) {
			t.Errorf("%s: it is assumed to keep growing", name)
		}
	}
	wrong := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		if !still(logs(90, func(int) float64 { return 1e9 * (1 + 0.1*r.NormFloat64()) })) {
			wrong++
		}
	}
	if wrong > 2 {
		t.Errorf("of 200 that change by chance, %d are taken to grow on", wrong)
	}
	// That a month was kept says nothing of what is kept for a day since a setting was changed.
	kept := logs(91, func(d int) float64 {
		switch {
		case d < 60:
			return 1e9 * float64(d%30)
		case d < 80:
			return 1e9 * float64(d%2)
		}
		return 1e9 * float64(d-78)
	})
	if !still(kept) || still(kept, Change{At: kept.Days[60].Date, What: "binlog_expire_logs_seconds 2592000 became 86400"}) {
		t.Error("how long it rises is to be told by what came after a setting was changed")
	}
}
