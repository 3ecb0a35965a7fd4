// Command benchsearch measures the ways in which plumb rehearse --search can
// choose its trials, on made-up servers: how much of the best possible speed is
// missed after a number of trials. Every seed is another server; the methods get
// the same servers and pay for every trial alike. Nothing is run but arithmetic.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"plumb/internal/search"
	"plumb/internal/stats"
)

// bench is what is asked.
type bench struct {
	seeds   int
	budgets []int
	each    int // trials of a round
	workers int
}

// contestant is a way to choose trials.
type contestant struct {
	name string
	make func(space []search.Dimension, total int) search.Method
}

// contestants: the first is the one to beat. The second shows what repeating the
// best is worth, the third what only the choice by a surface is.
func contestants() []contestant {
	return []contestant{
		{"random", func(s []search.Dimension, n int) search.Method { return search.Random{Space: s, Total: n} }},
		{"random, best repeated", func(s []search.Dimension, n int) search.Method {
			return search.Random{Space: s, Total: n, Again: n / 4}
		}},
		{"random, chosen by surface", func(s []search.Dimension, n int) search.Method {
			return mixed{search.Random{Space: s, Total: n}, search.Bayes{Space: s, Total: n}}
		}},
		{"bayes", func(s []search.Dimension, n int) search.Method { return search.Bayes{Space: s, Total: n} }},
	}
}

// mixed asks as one method and chooses as another.
type mixed struct {
	search.Random
	by search.Bayes
}

// Top implements search.Method.
func (m mixed) Top(tried []search.Outcome, n int) []search.Point { return m.by.Top(tried, n) }

func main() {
	b := bench{}
	flag.IntVar(&b.seeds, "seeds", 500, "made-up servers of each family")
	flag.IntVar(&b.each, "round", 5, "trials of a round, which are chosen together")
	flag.IntVar(&b.workers, "workers", runtime.NumCPU(), "threads")
	budgets := flag.String("budgets", "20,40,60", "numbers of trials")
	only := flag.String("only", "", "a family")
	flag.Parse()
	for text := range strings.SplitSeq(*budgets, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 5 {
			fmt.Fprintf(os.Stderr, "benchsearch: %q is no number of trials\n", text)
			os.Exit(2)
		}
		b.budgets = append(b.budgets, n)
	}
	b.run(*only)
}

// run prints a table for each number of trials.
func (b bench) run(only string) {
	fmt.Printf("%d seeds a family, rounds of %d; missed of the best speed, mean in %%; ratio of what is missed to random's, 95 %% interval over seeds\n", b.seeds, b.each)
	for _, total := range b.budgets {
		fmt.Printf("\n%d trials\n%-10s", total, "")
		for _, c := range contestants() {
			fmt.Printf(" %25s", c.name)
		}
		fmt.Printf("  %s\n", "bayes by random · by the best random")
		var all [][]float64 // by contestant: what was missed, all families together
		for range contestants() {
			all = append(all, nil)
		}
		for _, f := range families() {
			if only != "" && f.name != only {
				continue
			}
			missed := b.family(f, total)
			b.row(f.name, missed)
			if f.name == "flat" {
				continue
			}
			for i := range all {
				all[i] = append(all[i], missed[i]...)
			}
		}
		b.row("together", all)
		b.curves(total, only)
	}
}

// row prints means and ratios of one family.
func (b bench) row(name string, missed [][]float64) {
	fmt.Printf("%-10s", name)
	best := 0
	for i, m := range missed {
		fmt.Printf(" %25.2f", 100*average(m))
		if i < 2 && average(m) < average(missed[best]) {
			best = i
		}
	}
	last := missed[len(missed)-1]
	if average(missed[0]) > 0 {
		fmt.Printf("  %s · %s", ratio(last, missed[0]), ratio(last, missed[best]))
	}
	near := 0
	for _, m := range last {
		if m < 0.05 {
			near++
		}
	}
	fmt.Printf("  within 5 %%: %d %%\n", 100*near/max(1, len(last)))
}

// ratio gives the ratio of two means with its interval.
func ratio(a, b []float64) string {
	if len(a) == 0 {
		return "–"
	}
	e := stats.Bootstrap(len(a), 1, func(times []int) []float64 {
		above, below := 0.0, 0.0
		for i, n := range times {
			above, below = above+float64(n)*a[i], below+float64(n)*b[i]
		}
		return []float64{above / below}
	})[0]
	return fmt.Sprintf("%.2f (%.2f to %.2f)", e.Value, e.Low, e.High)
}

func average(all []float64) (sum float64) {
	for _, v := range all {
		sum += v / float64(len(all))
	}
	return sum
}

// family gives what each contestant missed on each seed.
func (b bench) family(f family, total int) [][]float64 {
	missed := make([][]float64, len(contestants()))
	for i := range missed {
		missed[i] = make([]float64, b.seeds)
	}
	b.everySeed(func(seed int) {
		p, _ := b.problem(f, seed)
		for i, c := range contestants() {
			m := c.make(p.space, total)
			tried := b.spend(p, m, total, seed)
			missed[i][seed] = 1
			if top := m.Top(tried, 1); len(top) > 0 && !p.fails(top[0]) {
				missed[i][seed] = -math.Expm1(p.value(top[0]) - p.best)
			}
		}
	})
	return missed
}

// everySeed calls a function for every seed, on several threads.
func (b bench) everySeed(do func(seed int)) {
	var group sync.WaitGroup
	for w := range b.workers {
		group.Go(func() {
			for seed := w; seed < b.seeds; seed += b.workers {
				do(seed)
			}
		})
	}
	group.Wait()
}

// problem draws the server of a seed.
func (b bench) problem(f family, seed int) (problem, *rand.Rand) {
	r := rand.New(rand.NewPCG(uint64(seed), 17))
	p := f.draw(r)
	p.solve(r)
	return p, r
}

// spend has a method use up its trials. Noise is 2, 5 or 10 % of a trial, more than
// twice that in one trial of thirty; one in forty is spoilt.
func (b bench) spend(p problem, m search.Method, total, seed int) (tried []search.Outcome) {
	r := rand.New(rand.NewPCG(uint64(seed), 23))
	noise := []float64{0.02, 0.05, 0.1}[seed%3]
	for block := 0; len(tried) < total; block++ {
		reference := noise * r.NormFloat64()
		for _, u := range m.Ask(tried, min(b.each, total-len(tried)), uint64(seed)) {
			o := search.Outcome{Point: u, Block: block, Value: p.value(u) + noise*r.NormFloat64() - reference}
			if r.IntN(30) == 0 {
				o.Value += 2 * noise * r.NormFloat64()
			}
			if r.IntN(40) == 0 {
				o.Value = math.NaN()
			}
			if p.fails(u) {
				o.Failed, o.Value = true, math.NaN()
			}
			tried = append(tried, o)
		}
	}
	return tried
}

// trust counts how far response curves can be trusted.
type trust struct {
	held, values     int // intervals that hold the true mean, of all
	matters, wrongly int // curves that say so, and of them those that are wrong
	none, falsely    int // the same
	not              int // decided
}

// curves prints how often a curve's interval holds the true mean, and how often
// its word is wrong by a factor of two.
func (b bench) curves(total int, only string) {
	var t trust
	var lock sync.Mutex
	for _, f := range families() {
		if only != "" && f.name != only {
			continue
		}
		b.everySeed(func(seed int) {
			if seed%4 > 0 {
				return
			}
			p, _ := b.problem(f, seed)
			tried := b.spend(p, search.Bayes{Space: p.space, Total: total}, total, seed)
			for _, c := range search.Curves(p.space, tried, margin, 1) {
				held, spread := p.truth(tried, c)
				lock.Lock()
				t.count(c, held, spread)
				lock.Unlock()
			}
		})
	}
	fmt.Printf("curves: %.0f %% of the intervals hold the truth; \"matters\" said %d times, wrongly %d (it is under 2.5 %%); \"makes no difference\" %d times, wrongly %d (it is over 10 %%); not decided %d\n",
		100*float64(t.held)/float64(max(1, t.values)), t.matters, t.wrongly, t.none, t.falsely, t.not)
}

// margin is the difference below which a setting makes none.
const margin = 0.05

func (t *trust) count(c search.Curve, held int, spread float64) {
	t.held, t.values = t.held+held, t.values+len(c.Values)
	switch c.Word {
	case search.Matters:
		t.matters++
		if spread < math.Log1p(margin)/2 {
			t.wrongly++
		}
	case search.NoMatter:
		t.none++
		if spread > 2*math.Log1p(margin) {
			t.falsely++
		}
	default:
		t.not++
	}
}

// truth compares a curve with the true mean over the same trials.
func (p problem) truth(tried []search.Outcome, c search.Curve) (held int, spread float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for i, v := range c.Values {
		sum, n := 0.0, 0
		for _, o := range tried {
			if o.Failed || math.IsNaN(o.Value) {
				continue
			}
			u := slices.Clone(o.Point)
			u[c.Dimension] = v
			sum, n = sum+p.value(u), n+1
		}
		mean := sum / float64(max(1, n))
		low, high = min(low, mean), max(high, mean)
		if e := c.Response[i]; math.Expm1(mean) >= e.Low && math.Expm1(mean) <= e.High {
			held++
		}
	}
	return held, high - low
}
