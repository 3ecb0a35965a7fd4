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

// readings are how many are known where it was not read each day, beside the first.
var readings = []int{14, 21, 30, 52}

// pastsOf are the days that are known of what was read each so many days: whole ones from one reading to the next.
func pastsOf(each int) (days []int) {
	if each == 1 {
		return pasts
	}
	for _, n := range readings {
		days = append(days, n*each)
	}
	return days
}

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

// shortPasts shows the forecaster only the last days before each origin, and of them each so many days one.
func shortPasts(all []sample, each int) {
	fmt.Printf("%8s %8s %8s %10s %10s %14s\n", "known", "ahead", "judged", "in 80 %", "in 95 %", "to bootstrap")
	for _, known := range pastsOf(each) {
		for _, ahead := range aheads {
			if ahead > 3*known || ahead < each {
				continue
			}
			h := heldOf(all, known, ahead, each)
			fmt.Printf("%8d %8d %8d %8.1f %% %8.1f %% %14.3f\n", known, ahead, h.of, 100*float64(h.in80)/float64(h.of), 100*float64(h.in95)/float64(h.of),
				math.Exp(stats.Mean(h.ratios).Value))
		}
	}
}

func heldOf(all []sample, known, ahead, each int) (sum heldByAll) {
	var wg sync.WaitGroup
	var lock sync.Mutex
	turn := make(chan bool, runtime.NumCPU())
	for _, s := range all {
		wg.Add(1)
		turn <- true
		go func() {
			defer wg.Done()
			h := heldBy(s.days, known, ahead, each)
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

func heldBy(days []forecast.Day, known, ahead, each int) (h held) {
	for at := max(firstOrigin, known); at+ahead < len(days); at += betweenThem {
		res := space.Of(forecast.Series{Days: thinned(days[at-known:at+1], each)}, space.Ask{Days: ahead})
		if res.Refusal != nil {
			continue
		}
		q, came := res.Points[len(res.Points)-1].Value, days[at+ahead].Value
		h.of++
		h.in80 += truth(q[1] <= came && came <= q[3])
		h.in95 += truth(q[0] <= came && came <= q[4])
		h.loss += forecast.Pinball(q, came)
		h.bootstrap += forecast.Pinball(res.Rivals[len(res.Rivals)-1].Values, came)
	}
	return h
}

// thinned keeps each so many days one, the first and the last among them.
func thinned(days []forecast.Day, each int) (out []forecast.Day) {
	for i := 0; i < len(days); i += each {
		out = append(out, days[i])
	}
	return out
}
