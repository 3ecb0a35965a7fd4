package main

import (
	"fmt"
	"math"
	"os"
	"time"

	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/test/sandbox"
)

// rates are what a load did in a time: transactions a second, and the mean time of one.
type rates struct{ perSecond, took float64 }

func (l *load) over(wait func() error) (rates, error) {
	done, busy, began := l.done.Load(), l.busy.Load(), time.Now()
	err := wait()
	n := float64(l.done.Load() - done)
	return rates{n / time.Since(began).Seconds(), float64(l.busy.Load()-busy) / n}, err
}

// measureLoss compares the load's throughput without and with Plumb beside it, A B B A in each round.
func measureLoss(o options, server *sandbox.Server) error {
	most, err := capacity(server)
	if err != nil {
		return err
	}
	rate := int(o.loss * most)
	if o.loss >= 1 {
		rate = 0
	}
	load, err := startLoad(server, rate)
	if err != nil {
		return err
	}
	defer load.stop()
	loadavg, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("the server can do %.0f transactions a second; %d rounds of A B B A, %s each; load of this machine: %s", most, o.rounds, units.Short(o.length), loadavg)
	var lost, slower []float64
	for range o.rounds {
		off, on, err := round(o, server, load)
		if err != nil {
			return err
		}
		lost, slower = append(lost, 100*(1-on.perSecond/off.perSecond)), append(slower, 100*(on.took/off.took-1))
		fmt.Printf("without %.1f/s, %.2f ms; with %.1f/s, %.2f ms\n", off.perSecond, off.took/1e6, on.perSecond, on.took/1e6)
	}
	for _, m := range []struct {
		what   string
		values []float64
	}{{"throughput lost", lost}, {"transactions slower", slower}} {
		e := stats.Mean(m.values)
		fmt.Printf("%s: %.2f %% (95 %% interval %.2f to %.2f)\n", m.what, e.Value, e.Low, e.High)
	}
	return load.failed()
}

// capacity is what the server does when no session ever pauses.
func capacity(server *sandbox.Server) (float64, error) {
	load, err := startLoad(server, 0)
	if err != nil {
		return math.NaN(), err
	}
	defer load.stop()
	time.Sleep(5 * time.Second)
	r, err := load.over(func() error { time.Sleep(15 * time.Second); return load.failed() })
	return r.perSecond, err
}

// round is A B B A: half of the time without before the time with, half of it after.
func round(o options, server *sandbox.Server, load *load) (off, on rates, err error) {
	alone := func() (rates, error) {
		return load.over(func() error { time.Sleep(o.length); return load.failed() })
	}
	before, err := alone()
	if err != nil {
		return off, on, err
	}
	if on, err = watched(o, server, load); err != nil {
		return off, on, err
	}
	after, err := alone()
	return rates{(before.perSecond + after.perSecond) / 2, (before.took + after.took) / 2}, on, err
}

func watched(o options, server *sandbox.Server, load *load) (rates, error) {
	w, err := startPlumb(o, server)
	if err != nil {
		return rates{}, err
	}
	defer w.stop()
	if err := w.scrapeFor(o.warm); err != nil {
		return rates{}, err
	}
	return load.over(func() error { return w.scrapeFor(2 * o.length) })
}
