package lab

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

func TestLabPages(t *testing.T) {
	next := "plumb lab report sync-binlog --html report.html makes a page of it"
	viewtest.Golden(t, "lab.txt", Text(viewtest.SampleReport(8), page.Screen{Width: 100}, next))
	viewtest.Golden(t, "lab-80.txt", Text(viewtest.SampleReport(8), page.Screen{Width: 80}))
	viewtest.Golden(t, "lab-unfinished.txt", Text(viewtest.UnfinishedReport(), page.Screen{Width: 80}, "plumb lab run sync-binlog.yaml --resume goes on"))
}

func TestLabPagesFitTheScreen(t *testing.T) {
	for _, w := range []int{80, 100, 120} {
		s := page.Screen{Width: w}
		for name, text := range map[string]string{"done": Text(viewtest.SampleReport(8), s), "unfinished": Text(viewtest.UnfinishedReport(), s), "plan": Plan(samplePlan(), s)} {
			viewtest.Fits(t, name, text, w)
		}
	}
}

// An interval is never broken, however narrow the column that it would stand in.
func TestLabTextKeepsIntervalsWhole(t *testing.T) {
	r := viewtest.SampleReport(8)
	for i := range r.Verdicts {
		r.Verdicts[i].Effect = stats.Estimate{Value: 29, Low: 7.37, High: 72.1, N: 8}
	}
	for i := range r.Arms {
		r.Arms[i].Metric = stats.Estimate{Value: 12345.6, Low: 11111.1, High: 13333.3, N: 8}
	}
	for w := 60; w <= 120; w++ {
		text := Text(r, page.Screen{Width: w})
		if whole := "(49 to 65 %)"; !strings.Contains(text, whole) {
			t.Errorf("at %d columns the answer breaks %q", w, whole)
		}
		table, _, _ := strings.Cut(text, "response")
		if whole := "×30.0 (+737 % to ×73.1)"; !strings.Contains(table, whole) {
			t.Errorf("at %d columns %q is broken:\n%s", w, whole, table)
		}
		viewtest.Fits(t, "the table", table, w)
	}
}

func TestLabTextIsASCIIWhenAsked(t *testing.T) {
	viewtest.IsASCII(t, Text(viewtest.SampleReport(8), page.Screen{Width: 100, ASCII: true}))
}

func samplePlan() PlanInput {
	x := viewtest.SampleExperiment()
	in := PlanInput{Experiment: x, Layouts: 2, Least: 9 * time.Minute, Most: 24*time.Minute + 40*time.Second,
		Needs: []string{"disk: 9G below /var/tmp/lab: 2 × a volume of 4G", "memory: 1G for the server of a trial"}}
	for b := 1; b <= 3; b++ {
		for i := range x.Arms {
			in.Trials = append(in.Trials, experiment.Trial{Block: b, Position: i + 1, Arm: x.Arms[(i*2+b)%len(x.Arms)].Name, Seed: uint64(b)})
		}
	}
	return in
}

func TestLabPlan(t *testing.T) {
	viewtest.Golden(t, "lab-plan.txt", Plan(samplePlan(), page.Screen{Width: 100}))
}

func TestLabProgress(t *testing.T) {
	r := viewtest.SampleReport(2)
	r.Verdicts[0].Effect = stats.Estimate{Value: -0.31, Low: -0.40, High: -0.22, N: 2}
	trial := experiment.Trial{Block: 2, Position: 1, Arm: "ext4, 1"}
	for want, s := range map[string]lab.Progress{
		"block 2 of 8, trial 7 of 24 (ext4, 1): measuring 12 of 20 s · 4m left · so far −31 % (−40 to −22 %)": {Trial: trial, Number: 7, Total: 24, Doing: "measuring", Elapsed: 12 * time.Second, Of: 20 * time.Second, Left: 4 * time.Minute, Report: r},
		"block 2, trial 7 of 24 (ext4, 1): copying the data":                                                  {Trial: trial, Number: 7, Total: 24, Doing: "copying the data"},
		"ext4, 1: making the data, 31 s":                                                                      {Trial: experiment.Trial{Arm: "ext4, 1"}, Doing: "making the data", Elapsed: 31 * time.Second},
	} {
		if got := Progress(s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEffectsReadWell(t *testing.T) {
	for want, e := range map[string]stats.Estimate{
		"–":                          {},
		"+5.2 %":                     {Value: 0.052, N: 1},
		"−31 % (−40 to −22 %)":       {Value: -0.31, Low: -0.40, High: -0.22, N: 8},
		"+0.20 % (−0.31 to +0.71 %)": {Value: 0.002, Low: -0.0031, High: 0.0071, N: 8},
		"×12.3 (×11.0 to ×14.0)":     {Value: 11.3, Low: 10, High: 13, N: 8},
	} {
		if got := units.Differs(e); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLabExperiments(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 31, 0, 0, time.UTC)
	all := []ledger.Summary{{Name: "sync-binlog", Hash: "4f1d2c90aa7730e1", Trials: 40, Valid: 39, Last: at, Question: "How much does sync_binlog = 1 cost on ext4 and on XFS?"},
		{Name: "aa", Hash: "77"}}
	viewtest.Golden(t, "lab-experiments.txt", Experiments(all, page.Screen{Width: 80})+"---\n"+Experiments(nil, page.Screen{}))
}

func TestLabDocumentFitsItsSchema(t *testing.T) {
	schema := schema.Of("lab")
	for name, r := range map[string]report.Report{"done": viewtest.SampleReport(3), "unfinished": viewtest.UnfinishedReport(), "curves": curvesReport(t), "nothing": {}} {
		b, err := page.JSON(Document(r, "devel"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		viewtest.Validate(t, schema, b)
		if name == "unfinished" {
			viewtest.Golden(t, "lab.json", briefJSON(t, b))
		}
	}
}

// briefJSON leaves out of a document what is long: histograms and seconds.
func briefJSON(t *testing.T, b []byte) string {
	t.Helper()
	b = regexp.MustCompile(`"hdr_v2": "[^"]+"`).ReplaceAll(b, []byte(`"hdr_v2": "..."`))
	return string(regexp.MustCompile(`(?s)"series": \[\n.*?\n +\]`).ReplaceAll(b, []byte(`"series": []`)))
}
