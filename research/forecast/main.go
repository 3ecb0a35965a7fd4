// Program forecast judges plumb forecast space on series of which it is only
// shown the beginning: real ones, and synthetic ones whose slope changes. It
// prints the tables of docs/forecast.md and of the README beside this file.
//
//	cd research && go run ./forecast -data DIR
//
// With -short it prints how often what came was within the intervals of forecasts from short pasts, and with
// -every 7 the same where only one day in seven is shown.
//
// DIR holds one CSV for each real series, as plumb forecast space --csv reads
// them. Nothing of a series after an origin is given to what forecasts at it.
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
)

const (
	firstOrigin = 400 // days that are known at the first one
	betweenThem = 60
)

var horizons = []int{30, 90}

// sample is a series with its name.
type sample struct {
	name    string
	days    []forecast.Day
	changes bool // its slope changes
}

func main() {
	dir := flag.String("data", "", "directory of the real series")
	made := flag.Int("synthetic", 200, "how many synthetic series; 0: only the real ones")
	brief := flag.Bool("short", false, "only judge forecasts from the last weeks and months before each origin")
	every := flag.Int("every", 1, "with -short: show one day in so many")
	flag.Parse()
	if *dir != "" {
		all, err := read(*dir)
		if err != nil {
			log.Fatal(err)
		}
		if *brief {
			shortPasts(all, *every)
			return
		}
		report("real", judge(all), true)
	}
	if *made == 0 {
		return
	}
	all := synthetic(*made)
	results := judge(all)
	report("synthetic, all", results, false)
	var changing []scores
	for i, s := range all {
		if s.changes {
			changing = append(changing, results[i])
		}
	}
	report("synthetic, those whose slope changes", changing, false)
	notices()
}

func read(dir string) (all []sample, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r, err := forecast.ParseCSV(text, time.Time{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, t := range r.Tables {
			all = append(all, sample{name: filepath.Base(name), days: forecast.Daily(forecast.Quantity{}, t.Days).Days})
		}
	}
	return all, nil
}

// scores are the losses on one series, by method and horizon, and how often
// what came was within the intervals of ours.
type scores struct {
	name           string
	loss           map[string][]float64
	in80, in95, of int
	refused        int // forecasts: what falls to nothing
}

func judge(all []sample) []scores {
	out := make([]scores, len(all))
	var wg sync.WaitGroup
	turn := make(chan bool, runtime.NumCPU())
	for i, s := range all {
		wg.Add(1)
		turn <- true
		go func() {
			defer wg.Done()
			out[i] = judgeOne(s)
			<-turn
		}()
	}
	wg.Wait()
	return out
}

func judgeOne(s sample) scores {
	sc := scores{name: s.name, loss: map[string][]float64{}}
	for at := firstOrigin; at < len(s.days); at += betweenThem {
		for hi, h := range horizons {
			if at+h >= len(s.days) {
				continue
			}
			known := s.days[:at+1] // and nothing of what comes later
			came := s.days[at+h].Value
			all, refused := forecasts(known, h)
			sc.refused += truth(refused)
			for name, q := range all {
				if sc.loss[name] == nil {
					sc.loss[name] = make([]float64, len(horizons))
				}
				sc.loss[name][hi] += forecast.Pinball(q, came)
				if name == ours {
					sc.of++
					sc.in80 += truth(q[1] <= came && came <= q[3])
					sc.in95 += truth(q[0] <= came && came <= q[4])
				}
			}
		}
	}
	return sc
}

const ours = "plumb"

// forecasts are ours and the rivals', in levels; none where ours is refused.
func forecasts(known []forecast.Day, h int) (out map[string]forecast.Quantiles, refused bool) {
	res := space.Of(forecast.Series{Days: known}, space.Ask{Days: h})
	if res.Refusal != nil {
		return nil, true
	}
	out = map[string]forecast.Quantiles{}
	out[ours] = res.Points[len(res.Points)-1].Value
	x := make([]float64, len(known))
	for i, d := range known {
		x[i] = d.Value
	}
	for _, r := range rivals {
		out[r.name] = r.withErrors(x, h)
	}
	out[bootstrapName] = bootstrap(x, h)
	return out, false
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

// report prints ours against each rival: the geometric mean over the series of
// the ratio of mean losses, and its range when each series in turn is left out.
func report(title string, all []scores, leaveOut bool) {
	in80, in95, of, refused := 0, 0, 0, 0
	for _, s := range all {
		in80, in95, of, refused = in80+s.in80, in95+s.in95, of+s.of, refused+s.refused
	}
	fmt.Printf("\n%s: %d series, %d forecasts and %d refused; within the 80 %% interval %.1f %%, within the 95 %% interval %.1f %%\n",
		title, len(all), of, refused, 100*float64(in80)/float64(of), 100*float64(in95)/float64(of))
	fmt.Printf("%-44s %8s %8s %8s   %s\n", "our loss as a part of that of", "30 days", "90 days", "both", "one series left out")
	names := []string{bootstrapName}
	for _, r := range rivals {
		names = append(names, r.name)
	}
	for _, name := range names {
		low, high := math.Inf(1), math.Inf(-1)
		for skip := range all {
			v := ratio(all, name, -1, skip)
			low, high = min(low, v), max(high, v)
		}
		out := ""
		if leaveOut {
			out = fmt.Sprintf("%.3f to %.3f", low, high)
		}
		fmt.Printf("%-44s %8.3f %8.3f %8.3f   %s\n", name, ratio(all, name, 0, -1), ratio(all, name, 1, -1), ratio(all, name, -1, -1), out)
	}
}

// ratio is the geometric mean; horizon -1 is both, the mean of the two ratios.
func ratio(all []scores, name string, horizon, skip int) float64 {
	sum, n := 0.0, 0.0
	for i, s := range all {
		if i == skip || len(s.loss) == 0 { // all refused
			continue
		}
		for hi := range horizons {
			if a, b := s.loss[ours][hi], s.loss[name][hi]; (horizon < 0 || horizon == hi) && a > 0 && b > 0 {
				sum, n = sum+math.Log(a/b), n+1
			}
		}
	}
	return math.Exp(sum / n)
}
