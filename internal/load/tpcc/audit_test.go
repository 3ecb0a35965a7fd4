package tpcc

import (
	"testing"
	"time"

	"plumb/internal/load"
)

// ran is a result of so many new orders a second, in which all shares are
// what the specification wants, but those rolled back.
func ran(perSecond, rolledBack int64) *load.Result {
	const seconds = 100
	n := perSecond * seconds
	r := &load.Result{Ops: []load.OpResult{{Done: n - rolledBack, RolledBack: rolledBack}, {Done: n}, {Done: n / 10}, {Done: n / 10}, {Done: n / 10}}}
	for i, k := range [notes]int64{noteLines: 10 * n, noteRemoteLines: n / 10, noteRemotePayments: n * 15 / 100,
		notePaymentsByName: n * 6 / 10, noteStatusByName: n * 6 / 100} {
		r.Notes = append(r.Notes, load.Note{Name: noteNames[i], N: k})
	}
	for s := range seconds + 5 {
		r.Series = append(r.Series, load.Second{Length: time.Second, Warmup: s < 5, Ops: []load.OpSecond{{Done: perSecond}}})
	}
	return r
}

func TestAudit(t *testing.T) {
	verdicts := func(c Config, r *load.Result) (all string) {
		for _, b := range Audit(c, r) {
			all += b.Verdict[:1]
		}
		return all
	}
	many := Config{Warehouses: 10}
	for _, c := range []struct {
		c    Config
		r    *load.Result
		want string
	}{
		{many, ran(1000, 1000), "ppppppp"},
		{many, ran(1000, 2000), "fpppppp"},
		{many, ran(1, 1), "ttttttt"},
		{Config{Warehouses: 1}, ran(1000, 1000), "ppppp"},
		{many, &load.Result{}, "ttttttt"},
		{Config{Warehouses: 10, Compat: true}, ran(1000, 1000), ""},
	} {
		if got := verdicts(c.c, c.r); got != c.want {
			t.Errorf("%+v: %s, want %s", c.c, got, c.want)
		}
	}
}

func TestNewOrdersPerMinute(t *testing.T) {
	e := NewOrdersPerMinute(ran(50, 0))
	for _, v := range []float64{e.Value, e.Low, e.High} {
		near(t, "new orders a minute", v, 3000, 1e-6)
	}
	if e := NewOrdersPerMinute(&load.Result{}); e.Value != 0 {
		t.Errorf("of nothing %+v", e)
	}
	part, ok := Efficiency(Config{Warehouses: 1000, Keying: true}, ran(50, 0))
	near(t, "efficiency", part, 3000.0/12860, 1e-9)
	if _, without := Efficiency(Config{Warehouses: 1000}, ran(50, 0)); !ok || without {
		t.Error("efficiency is for keying only")
	}
}
