package lab

import (
	"os"
	"strings"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/view/viewtest"
)

func sampleAbout() About {
	return About{Version: "devel", Machine: []string{"2 processors", "24 GiB of memory", "Linux 6.12"}, Command: "plumb lab run experiments/sync-binlog.yaml"}
}

func samplePage(t *testing.T, r report.Report) []byte {
	t.Helper()
	b, err := HTML(r, sampleAbout())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLabHTML looks at what must hold of every page. With PLUMB_LAB_SAMPLE it
// leaves the page of the sample there, to be looked at.
func TestLabHTML(t *testing.T) {
	for name, r := range map[string]report.Report{"done": viewtest.SampleReport(8), "unfinished": viewtest.UnfinishedReport(), "empty": {Experiment: viewtest.SampleExperiment()}, "nothing": {},
		"curves": curvesReport(t), "many": manyArms(), "hostile": hostileReport(),
		"judged": report.Make(viewtest.SampleExperiment(), viewtest.SampleRecords(5)), "switched": switchedReport()} {
		t.Run(name, func(t *testing.T) {
			page := samplePage(t, r)
			if dir := os.Getenv("PLUMB_LAB_SAMPLE"); dir != "" {
				if err := os.WriteFile(dir+"/lab-"+name+".html", page, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			viewtest.AloneAndWhole(t, page)
		})
	}
}

// hostileReport comes from a file and a server that want to get at the reader.
func hostileReport() report.Report {
	r := viewtest.SampleReport(2)
	x := &r.Experiment
	x.Name, x.Question, x.Source, x.Notes, x.Hash = viewtest.HostileText, viewtest.HostileText, viewtest.HostileText, viewtest.HostileText, viewtest.HostileText
	x.Text = []byte(viewtest.HostileText)
	r.Answer, r.Stopped, r.Verdicts[0].Sentence, r.Arms[0].Failed = viewtest.HostileText, viewtest.HostileText, viewtest.HostileText, viewtest.HostileText
	r.Arms[1].Name, r.Verdicts[0].Arm = viewtest.HostileText, viewtest.HostileText
	for i := range r.Records {
		r.Records[i].Program, r.Records[i].Volume.Options = viewtest.HostileText, viewtest.HostileText
		if i == 0 {
			r.Records[i].Mark(viewtest.HostileText, viewtest.HostileText)
		}
	}
	r.Invalid = append(r.Invalid, report.Invalid{Marks: []experiment.Mark{{Kind: viewtest.HostileText, Text: viewtest.HostileText}}})
	return r
}

func TestLabHTMLEscapesWhatItShows(t *testing.T) {
	page := string(samplePage(t, hostileReport()))
	for _, bad := range []string{"<script", "<img", `" onload`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(page, "alert(1)"); n < 10 {
		t.Errorf("the texts are shown %d times only", n)
	}
}

// curvesReport has throughput by threads, too.
func curvesReport(t *testing.T) report.Report {
	r := viewtest.SampleReport(3)
	for _, name := range []string{"ext4", "xfs"} {
		c := report.Curve{Name: name}
		for _, n := range []int{1, 2, 4, 8, 16, 32} {
			c.Points = append(c.Points, stats.Point{Threads: n, Rate: 900 * float64(n) / (1 + 0.06*float64(n-1)), Error: 0.03})
		}
		fit, err := stats.FitCapacity(c.Points)
		if err != nil {
			t.Fatal(err)
		}
		c.Capacity = fit
		r.Curves = append(r.Curves, c)
	}
	r.Curves = append(r.Curves, report.Curve{Name: "btrfs", Doubt: "too few concurrencies measured"})
	return r
}

// manyArms has more arms than there are colours, and long names.
func manyArms() report.Report {
	r := viewtest.SampleReport(4)
	for _, name := range []string{"recordsize=16K, compression=lz4, doublewrite off", "b", "c", "d", "e", "f"} {
		a, arm := r.Arms[1], r.Experiment.Arms[1]
		a.Name, arm.Name = name, name
		for i := range r.Records[:20] {
			if rec := r.Records[i]; rec.Arm == "ext4, 1" {
				rec.Arm = name
				r.Records = append(r.Records, rec)
			}
		}
		r.Arms, r.Experiment.Arms = append(r.Arms, a), append(r.Experiment.Arms, arm)
		v := r.Verdicts[0]
		v.Arm, v.Effect = name, stats.Estimate{Value: 2.4, Low: 1.1, High: 14, N: 4}
		v.Word, v.Sentence = report.Better, ""
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

func TestRatioAxisHasLabelsWithRoom(t *testing.T) {
	for _, e := range []stats.Estimate{
		{Value: 0.001, Low: -0.002, High: 0.004, N: 8}, {Value: -0.31, Low: -0.4, High: -0.22, N: 8}, {Value: 0.8, Low: 0.2, High: 3, N: 8},
		{Value: 20, Low: 10, High: 44, N: 8}, {Value: -0.99, Low: -0.999, High: -0.9, N: 8}, {Value: 900, Low: 800, High: 1000, N: 9},
	} {
		s := RatioScale([]report.Comparison{{Effect: e, Margin: 0.05}})
		ticks := s.Ticks()
		if len(ticks) < 2 || len(ticks) > 12 {
			t.Errorf("%v: %d labels", e, len(ticks))
		}
		for i, tick := range ticks {
			if tick.At < 0 || tick.At > 100 || i > 0 && tick.At-ticks[i-1].At < 6 {
				t.Errorf("%v: label %s at %g", e, tick.Text, tick.At)
			}
		}
	}
}

func TestThinKeepsStalls(t *testing.T) {
	var all []Point
	for i := range 5000 {
		all = append(all, Point{float64(i), 100})
	}
	all[2345].Y = 0
	got := thin(all, 200)
	low := 100.0
	for _, p := range got {
		low = min(low, p.Y)
	}
	if len(got) > 400 || low != 0 {
		t.Errorf("%d points, the lowest %g", len(got), low)
	}
}

func TestLabCSV(t *testing.T) {
	viewtest.Golden(t, "lab.csv", CSV(viewtest.SampleReport(2)))
	if got := inert("=1+1"); got != "'=1+1" {
		t.Errorf("a formula stays one: %s", got)
	}
	if got := inert("-1.5"); got != "-1.5" {
		t.Errorf("a number became %s", got)
	}
}

// switchedReport is of one server that was switched between two arms, whose
// seconds stand in the records of both.
func switchedReport() report.Report {
	x := viewtest.SampleExperiment()
	x.Design, x.Arms, x.Pairs, x.Axes, x.Published = experiment.ABBA, x.Arms[:2], x.Pairs[:1], nil, nil
	var records []experiment.Record
	for _, r := range viewtest.SampleRecords(4) {
		if r.Arm != x.Arms[0].Name && r.Arm != x.Arms[1].Name {
			continue
		}
		second := r.Series
		for _, s := range second {
			s.At += 100
			r.Series = append(r.Series, s)
		}
		for i := range r.Series {
			r.Series[i].Arm = r.Arm
		}
		records = append(records, r)
	}
	return report.Make(x, records)
}
