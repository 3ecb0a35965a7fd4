package rehearse

import (
	"strings"
	"testing"
)

func TestWhatBringsMoreTogetherIsKept(t *testing.T) {
	const pool, redo, delay = "innodb_io_capacity = 2000", "innodb_flush_neighbors = 0", "innodb_log_buffer_size = 64M"
	for name, c := range map[string]struct {
		rate, written map[string]float64
		want          Want
		kept          string
		why           string // of the second step
	}{
		"one alone explains all":        {rate: map[string]float64{AllAdvice: 1.4, pool: 1.4}, written: map[string]float64{AllAdvice: 0.2, pool: 0.2}, kept: pool, why: "left out: no difference larger than ±5 % ("},
		"writes are spared together":    {rate: map[string]float64{AllAdvice: 1.4, pool: 1.4}, written: map[string]float64{AllAdvice: 0.02, pool: 0.2}, kept: pool + redo + delay, why: "; but with all advice the server writes 4"},
		"a little is spared together":   {rate: map[string]float64{AllAdvice: 1.4, pool: 1.4}, written: map[string]float64{AllAdvice: 0.15, pool: 0.2}, kept: pool, why: "left out: no difference"},
		"both spare alone":              {rate: map[string]float64{AllAdvice: 1.8, pool: 1.4, delay: 1.3}, written: map[string]float64{AllAdvice: 0.02, pool: 0.2, delay: 0.1}, kept: pool + delay, why: "left out: no difference"},
		"together it is faster":         {rate: map[string]float64{AllAdvice: 2, pool: 1.2}, kept: pool + redo + delay, why: "; but all advice together gains 1"},
		"none helps alone":              {rate: map[string]float64{AllAdvice: 2}, kept: pool + redo + delay, why: "), and no step helps alone"},
		"one makes it slower":           {rate: map[string]float64{AllAdvice: 2, pool: 1.2, delay: 0.5}, kept: pool + redo, why: "and the steps that help alone explain 2"},
		"all advice brings nothing":     {rate: map[string]float64{AllAdvice: 1, pool: 0.5}, kept: "", why: "left out: no difference"},
		"without it the rest does same": {rate: map[string]float64{AllAdvice: 2, "without " + pool: 1.2, "without " + redo: 2, "without " + delay: 2}, want: Want{WithoutOne: true}, kept: pool, why: "left out: no difference"},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{noise: 0.01, rate: c.rate, written: c.written}
			r := w.judged(t, planned(placed, "innodb_io_capacity", 2000, "innodb_flush_neighbors", 0, "innodb_log_buffer_size", 64<<20), nil, c.want)
			kept, planned := "", 0
			for _, v := range r.Steps {
				t.Log(v.Why)
				if v.Keep {
					kept += v.Step.Called
					if proven := v.Word != Helps; strings.HasSuffix(r.Plan.Steps[planned].Note, Proven) != proven {
						t.Errorf("%s: its note is %q", v.Arm, r.Plan.Steps[planned].Note)
					}
					planned++
				}
			}
			if kept != c.kept || planned != len(r.Plan.Steps) {
				t.Errorf("kept are %s, want %s; the plan has %d steps", kept, c.kept, len(r.Plan.Steps))
			}
			if !strings.Contains(r.Steps[1].Why, c.why) {
				t.Errorf("%s\nwant %s", r.Steps[1].Why, c.why)
			}
		})
	}
}
