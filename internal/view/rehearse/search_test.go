package rehearse

import (
	"math"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/search"
	"plumb/internal/stats"
	"plumb/internal/view/page"
	"plumb/internal/view/viewtest"
)

// foundNumbers is a search as it could have gone.
func foundNumbers() rehearse.Search {
	dial := func(name string, t catalog.Type, low, high float64) rehearse.Tunable {
		return rehearse.Tunable{Dimension: search.Dimension{Name: name, Low: low, High: high, Start: math.NaN()}, Kind: "mysql", Type: t, Path: "server.settings." + name}
	}
	pool := dial("innodb_buffer_pool_size", catalog.Bytes, 104<<20, 768<<20)
	pool.Memory = true
	s := rehearse.Search{Method: "a surface is fitted", Dials: []rehearse.Tunable{pool, dial("innodb_io_capacity", catalog.Int, 100, 20000), dial("innodb_max_dirty_pages_pct", catalog.Percent, 10, 90)},
		Planned: 36, Margin: 0.05, Best: search.Point{680 << 20, 4000, 75}, Expected: stats.Estimate{Value: 1.52, Low: 1.4, High: 1.65, N: 33}, Ended: "--max-time is over", Took: 24 * time.Minute,
		Left: []string{"checkpoint_timeout: trials of 15s contain no timed checkpoint"}, Says: []string{"No value that is tried is less durable."}}
	for i := range 5 {
		s.Tried = append(s.Tried, search.Outcome{Point: search.Point{float64(104+100*i) * (1 << 20), 4000, 75}, Block: 1, Value: 0.5 + 0.1*float64(i)})
	}
	s.Tried = append(s.Tried, search.Outcome{Point: search.Point{768 << 20, 100, 10}, Block: 2, Value: math.NaN(), Failed: true}, search.Outcome{Point: search.Point{700 << 20, 100, 10}, Block: 2, Value: math.NaN()})
	response := func(values ...float64) (all []stats.Estimate) {
		for _, v := range values {
			all = append(all, stats.Estimate{Value: v, Low: 0.85*(1+v) - 1, High: 1.2*(1+v) - 1, N: 33})
		}
		return all
	}
	s.Curves = []search.Curve{
		{Dimension: 0, Values: []float64{104 << 20, 208 << 20, 392 << 20, 768 << 20}, Response: response(0.1, 0.7, 1.5, 1.3), Spread: stats.Estimate{Value: 1.27, Low: 1, High: 1.6, N: 33}, Best: 2, Word: search.Matters},
		{Dimension: 1, Values: []float64{100, 1400, 20000}, Response: response(1.2, 1.21, 1.2), Spread: stats.Estimate{Value: 0.01, Low: 0.002, High: 0.03, N: 33}, Best: 1, Word: search.NoMatter},
		{Dimension: 2, Values: []float64{10, 90}, Response: response(1.1, 1.3), Spread: stats.Estimate{Value: 0.1, Low: 0.02, High: 0.2, N: 33}, Best: 1, Word: search.NotDecided},
	}
	pair := func(baseline, word string, e stats.Estimate) report.Comparison {
		return report.Comparison{Pair: experiment.Pair{Arm: rehearse.BestFound, Baseline: baseline}, Word: word, Effect: e, Margin: 0.05}
	}
	s.Confirmed = []report.Comparison{pair(rehearse.AllAdvice, report.Better, stats.Estimate{Value: 0.083, Low: 0.05, High: 0.12, N: 4}),
		pair(rehearse.AsIs, report.Better, stats.Estimate{Value: 1.49, Low: 1.38, High: 1.6, N: 4})}
	return s
}

func TestSearchText(t *testing.T) {
	viewtest.Golden(t, "rehearse-search.txt", Search(foundNumbers(), 0.125, page.Screen{Width: 100}))
	viewtest.Golden(t, "rehearse-search-60.txt", Search(foundNumbers(), 1, page.Screen{Width: 60, ASCII: true}))
}

func TestSearchSaysWhetherItIsWorthIt(t *testing.T) {
	s := foundNumbers()
	for word, want := range map[string]string{report.Better: "is better than what is advised", report.Worse: "only by chance", report.Equivalent: "nothing to gain", report.Undecided: "undecided"} {
		s.Confirmed[0].Word = word
		if got := plainSpaces(searchSentence(s)); !strings.Contains(got, want) {
			t.Errorf("%s: %q does not say %q", word, got, want)
		}
	}
	s.Confirmed = nil
	if got := searchSentence(s); !strings.Contains(got, "not proven") {
		t.Errorf("without a new measurement: %q", got)
	}
	s.Best = nil
	if got := searchSentence(s); !strings.Contains(got, "No trial gave a value") {
		t.Errorf("of nothing: %q", got)
	}
	if got := SearchLine(s); !strings.Contains(got, "none with a value") {
		t.Errorf("of nothing, in a line: %q", got)
	}
}

// Whether the plan has the numbers is said on each page.
func TestSearchSaysWhetherThePlanHasIt(t *testing.T) {
	s := foundNumbers()
	for want, set := range map[string]func(){"": func() {}, "The plan of what is kept has these values.": func() { s.InPlan = true },
		"does not have these values: it was not measured again.": func() { s.InPlan, s.Why = false, "it was not measured again" }} {
		s.InPlan, s.Why = false, ""
		set()
		text := strings.Join(strings.Fields(Search(s, 1, page.Screen{Width: 100})), " ")
		if html := searchPage(&s, 1).Answer; !strings.Contains(text, want) || !strings.Contains(html, want) || (want == "") == strings.Contains(text+html, "The plan of what is kept") {
			t.Errorf("%q:\n%s\n%s", want, text, html)
		}
		if j := rehearseSearch(&s); j.InPlan != s.InPlan || j.NotInPlan != s.Why {
			t.Errorf("%+v", j)
		}
	}
}

func TestSearchDocumentLeavesOutWhatIsNotKnown(t *testing.T) {
	s := foundNumbers()
	j := rehearseSearch(&s)
	if j.Trials[0].Effect == nil || j.Trials[5].Effect != nil || !j.Trials[5].Failed || j.Trials[6].Effect != nil || j.Trials[6].Failed {
		t.Errorf("trials are %+v", j.Trials)
	}
	if j.Best["server.settings.innodb_buffer_pool_size"] != "680M" {
		t.Errorf("the best is %v", j.Best)
	}
	if rehearseSearch(nil) != nil {
		t.Error("no search has a document")
	}
}

func TestSearchPageDrawsEverySetting(t *testing.T) {
	s := foundNumbers()
	d := searchPage(&s, 0.125)
	if len(d.Charts) != len(s.Dials) || len(d.Best) != len(s.Dials) || len(d.Notes) != 2 {
		t.Fatalf("%d charts, %d values, notes %v", len(d.Charts), len(d.Best), d.Notes)
	}
	for _, c := range d.Charts {
		if len(c.X) < 2 || len(c.Y) < 2 || c.Alt == "" {
			t.Errorf("%s is drawn with %d and %d ticks", c.Title, len(c.X), len(c.Y))
		}
		dots := 0
		for _, l := range c.Lines {
			if strings.Contains(l.Path, "NaN") || strings.Contains(l.Path, "Inf") {
				t.Errorf("%s has the line %s", c.Title, l.Path)
			}
			if strings.HasPrefix(l.Class, "dot") {
				dots++
			}
		}
		if dots != 5 {
			t.Errorf("%s shows %d trials, and 5 have values", c.Title, dots)
		}
	}
	if searchPage(nil, 1) != nil {
		t.Error("no search has a section")
	}
}
