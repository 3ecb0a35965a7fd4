package report

import (
	"math/rand/v2"
	"testing"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/load"
)

// A report is made after each trial: that must not take long.
func BenchmarkMake(b *testing.B) {
	x := manyArms(6)
	w := world{r: rand.New(rand.NewPCG(1, 1)), noise: 0.02, drift: 0.01}
	var records []experiment.Record
	for n := range 8 {
		records = append(records, w.block(x, n+1)...)
	}
	for i := range records {
		l := load.NewLatency()
		for range 20000 {
			l.Record(time.Duration(1e6 * w.r.ExpFloat64()))
		}
		text, err := l.Packed()
		if err != nil {
			b.Fatal(err)
		}
		records[i].Ops = []experiment.Op{{Name: "transaction", Done: 20000, Histogram: text}}
	}
	for b.Loop() {
		Make(x, records)
	}
}
