package lab

import (
	"cmp"
	"embed"
	"encoding/base64"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"time"

	"plumb/internal/lab/report"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// About is what a report of an experiment says of itself.
type About struct {
	Version string   // of the program that made the page
	Machine []string // on which it ran, one fact each: "2 processors", "Linux 6.12"
	Command string   // repeats the experiment; "" for plumb lab run with a file of its name
}

//go:embed html/*
var labPages embed.FS

// labPage is what the template is given.
type labPage struct {
	report.Report
	About                About
	Head                 string
	Meta                 []string
	Metric, Unit         string
	Forest               *forest
	Rows                 []ArmRow
	HasPublished         bool
	HasLatency           bool
	HasRisks             bool
	Hidden               string // stalls that response times do not show
	OtherMetric          bool   // than the rate
	Series               []Chart
	SeriesCaption        string
	Order                *Chart
	Percentiles          *Chart
	Histograms           []Chart
	Costs                *CostTable
	CurveCharts          []*Chart
	Reasons              []ReasonRow
	Sentences            []string // of the verdicts
	Dips                 []string // sentences, too
	How                  []string
	Common               []Setting
	Differ               []string
	Arms                 []armSetup
	Volumes              []volumeRow
	Settings             []settingRow
	Trials               []trialRow
	CSV                  htmltemplate.URL // of base64, made here
	CSVName, File, Notes string
	Programs             []string
	Steps                []string // commands that repeat it
}

// ReasonRow says of which trials something holds, and what.
type ReasonRow struct{ Where, Text string }

type armSetup struct {
	Name, Key string
	Values    []string // of the paths that differ
}

// HTML makes the page of one experiment.
func HTML(r report.Report, about About) ([]byte, error) {
	html, err := Web("report.html", "lab.css").HTML(labPageOf(r, about))
	if err != nil {
		return nil, fmt.Errorf("make the page of %s: %w", r.Experiment.Name, err)
	}
	return html, nil
}

// Web is a page with charts of the lab.
func Web(name string, styles ...string) page.Web {
	return page.Web{Files: labPages, Name: name, Styles: styles,
		Funcs: htmltemplate.FuncMap{"path": func(s Setting) string { return s.Path }, "value": func(s Setting) string { return s.Value }}}
}

func labPageOf(r report.Report, about About) *labPage {
	x := r.Experiment
	d := &labPage{Report: r, About: about, Head: cmp.Or(x.Question, x.Name), Meta: labMeta(r), Forest: forestOf(r), Sentences: VerdictSentences(r), Dips: dipSentences(r), Rows: ArmRows(r), HasLatency: hasLatency(r), OtherMetric: !higherIsBetter(x.Metric),
		Order: OrderChart(r), Costs: CostsOf(r), How: HowDone(r), Volumes: volumeRows(r), Settings: settingRows(r), Trials: trialRows(r),
		File: strings.TrimRight(string(x.Text), "\n"), Notes: strings.TrimSpace(x.Notes), Programs: ProgramsOf(r), CSVName: x.Name + ".csv"}
	d.Metric, d.Unit = metricUnit(x.Metric)
	d.Series, d.SeriesCaption = SeriesCharts(r)
	d.Percentiles, d.Histograms = LatencyCharts(r)
	for _, c := range r.Curves {
		if one := curveChart(c); one != nil {
			d.CurveCharts = append(d.CurveCharts, one)
		}
	}
	for _, a := range r.Arms {
		d.HasPublished = d.HasPublished || a.Published != nil
		d.HasRisks = d.HasRisks || len(a.Risks) > 0
	}
	if d.HasLatency {
		d.Hidden = hiddenStalls(r)
	}
	for _, g := range SameReasons(r.Invalid) {
		d.Reasons = append(d.Reasons, ReasonRow{Where: g.Where(), Text: g.Text})
	}
	s := setupsOf(x.Arms)
	d.Common, d.Differ = s.common, s.differ
	for i, a := range x.Arms {
		row := armSetup{Name: a.Name, Key: armClass(i)}
		for _, path := range s.differ {
			row.Values = append(row.Values, cmp.Or(s.of[i][path], "–"))
		}
		d.Arms = append(d.Arms, row)
	}
	d.Steps = []string{cmp.Or(about.Command, "plumb lab run "+x.Name+".yaml"), "plumb lab report " + x.Name + " --html " + x.Name + ".html"}
	d.CSV = htmltemplate.URL("data:text/csv;base64," + base64.StdEncoding.EncodeToString([]byte(CSV(r))))
	return d
}

// labMeta is the line of facts below the answer.
func labMeta(r report.Report) (facts []string) {
	if !r.Began.IsZero() {
		facts = append(facts, r.Began.UTC().Format("2 January 2006"))
	}
	valid := 0
	for _, rec := range r.Records {
		if rec.Valid() {
			valid++
		}
	}
	facts = append(facts, units.Count(len(r.Arms), "arm"), fmt.Sprintf("%s, of which %d count", units.Count(len(r.Records), "trial"), valid),
		blocksDone(r), units.Span(r.Took.Round(time.Second))+" of trials", LabEnd(r))
	return append(facts, ProgramsOf(r)...)
}

// LabEnd says how an experiment ended.
func LabEnd(r report.Report) string {
	if !r.Complete {
		return "not complete"
	}
	return cmp.Or(r.Stopped, "complete")
}
