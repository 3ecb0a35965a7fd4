package main

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/stats"
)

// Days that are known, and days ahead, of forecasts from short pasts.
var (
	pasts  = []int{14, 21, 30, 45, 60, 90, 180, 365}
	aheads = []int{7, 14, 30, 90}
)

// held counts how often what came was within the intervals, and sums the losses of one series, ours and the bootstrap's.
type held struct {
	in80, in95, of  int
	loss, bootstrap float64
}

// heldByAll is that of all series, with the logarithms of the ratios of their losses.
type heldByAll struct {
	held
	ratios []float64
}

// shortPasts shows the forecaster only the last days before each origin.
func shortPasts(all []sample) {
	fmt.Printf("%8s %8s %8s %10s %10s %14s\n", "known", "ahead", "judged", "in 80 %", "in 95 %", "to bootstrap")
	for _, known := range pasts {
		for _, ahead := range aheads {
			if ahead > 3*known {
				continue
			}
			h := heldOf(all, known, ahead)
			fmt.Printf("%8d %8d %8d %8.1f %% %8.1f %% %14.3f\n", known, ahead, h.of, 100*float64(h.in80)/float64(h.of), 100*float64(h.in95)/float64(h.of),
				math.Exp(stats.Mean(h.ratios).Value))
		}
	}
}

func heldOf(all []sample, known, ahead int) (sum heldByAll) {
	var wg sync.WaitGroup
	var lock sync.Mutex
	turn := make(chan bool, runtime.NumCPU())
	for _, s := range all {
		wg.Add(1)
		turn <- true
		go func() {
			defer wg.Done()
			h := heldBy(s.days, known, ahead)
			lock.Lock()
			sum.in80, sum.in95, sum.of = sum.in80+h.in80, sum.in95+h.in95, sum.of+h.of
			sum.ratios = append(sum.ratios, math.Log(h.loss/h.bootstrap))
			lock.Unlock()
			<-turn
		}()
	}
	wg.Wait()
	return sum
}

func heldBy(days []forecast.Day, known, ahead int) (h held) {
	for at := firstOrigin; at+ahead < len(days); at += betweenThem {
		res := space.Of(forecast.Series{Days: days[at-known : at+1]}, space.Ask{Days: ahead})
		q, came := res.Points[len(res.Points)-1].Value, days[at+ahead].Value
		h.of++
		h.in80 += truth(q[1] <= came && came <= q[3])
		h.in95 += truth(q[0] <= came && came <= q[4])
		h.loss += forecast.Pinball(q, came)
		h.bootstrap += forecast.Pinball(res.Rivals[len(res.Rivals)-1].Values, came)
	}
	return h
}
