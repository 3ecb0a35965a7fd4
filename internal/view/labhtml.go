package view

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	htmltemplate "html/template"
	"strings"
	"time"

	"plumb/internal/lab/report"
)

// LabAbout is what a report of an experiment says of itself.
type LabAbout struct {
	Version string   // of the program that made the page
	Machine []string // on which it ran, one fact each: "2 processors", "Linux 6.12"
	Command string   // repeats the experiment; "" for plumb lab run with a file of its name
}

//go:embed lab/*
var labPages embed.FS

// labPage is what the template is given.
type labPage struct {
	report.Report
	About                LabAbout
	Head                 string
	Style                htmltemplate.CSS // ours, as embedded
	Meta                 []string
	Metric, Unit         string
	Forest               *forest
	Rows                 []armRow
	HasPublished         bool
	HasLatency           bool
	HasRisks             bool
	Hidden               string // stalls that response times do not show
	OtherMetric          bool   // than the rate
	Series               []chart
	SeriesCaption        string
	Order                *chart
	Percentiles          *chart
	Histograms           []chart
	Costs                *costTable
	CurveCharts          []*chart
	Reasons              []reasonRow
	Sentences            []string // of the verdicts
	How                  []string
	Common               []setting
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

type reasonRow struct{ Where, Text string }

type armSetup struct {
	Name, Key string
	Values    []string // of the paths that differ
}

// LabHTML makes one page that needs nothing else: no network, no script. It is
// read on a screen or a telephone, light or dark, and printed.
func LabHTML(r report.Report, about LabAbout) ([]byte, error) {
	t, err := htmltemplate.New("report.html").Funcs(htmltemplate.FuncMap{"path": func(s setting) string { return s.path }, "value": func(s setting) string { return s.value }, "tie": tie,
		"long": func(name string) bool { return width(name) > 24 }}).
		ParseFS(labPages, "lab/*.html")
	if err != nil {
		return nil, fmt.Errorf("read the page's template: %w", err)
	}
	style, err := labPages.ReadFile("lab/style.css")
	if err != nil {
		return nil, fmt.Errorf("read the page's style: %w", err)
	}
	d := labPageOf(r, about)
	d.Style = htmltemplate.CSS(style)
	var out bytes.Buffer
	if err := t.Execute(&out, d); err != nil {
		return nil, fmt.Errorf("make the page of %s: %w", r.Experiment.Name, err)
	}
	return out.Bytes(), nil
}

func labPageOf(r report.Report, about LabAbout) *labPage {
	x := r.Experiment
	d := &labPage{Report: r, About: about, Head: cmpText(x.Question, x.Name), Meta: labMeta(r), Forest: forestOf(r), Sentences: verdictSentences(r), Rows: armRows(r), HasLatency: hasLatency(r), OtherMetric: !higherIsBetter(x.Metric),
		Order: orderChart(r), Costs: costsOf(r), How: howDone(r), Volumes: volumeRows(r), Settings: settingRows(r), Trials: trialRows(r),
		File: strings.TrimRight(string(x.Text), "\n"), Notes: strings.TrimSpace(x.Notes), Programs: programsOf(r), CSVName: x.Name + ".csv"}
	d.Metric, d.Unit = metricUnit(x.Metric)
	d.Series, d.SeriesCaption = seriesCharts(r)
	d.Percentiles, d.Histograms = latencyCharts(r)
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
	for _, g := range sameReasons(r.Invalid) {
		d.Reasons = append(d.Reasons, reasonRow{Where: g.where(), Text: g.text})
	}
	s := setupsOf(x.Arms)
	d.Common, d.Differ = s.common, s.differ
	for i, a := range x.Arms {
		row := armSetup{Name: a.Name, Key: armClass(i)}
		for _, path := range s.differ {
			row.Values = append(row.Values, cmpText(s.of[i][path], "–"))
		}
		d.Arms = append(d.Arms, row)
	}
	d.Steps = []string{cmpText(about.Command, "plumb lab run "+x.Name+".yaml"), "plumb lab report " + x.Name + " --html " + x.Name + ".html"}
	d.CSV = htmltemplate.URL("data:text/csv;base64," + base64.StdEncoding.EncodeToString([]byte(LabCSV(r))))
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
	facts = append(facts, count(len(r.Arms), "arm"), fmt.Sprintf("%s, of which %d count", count(len(r.Records), "trial"), valid),
		blocksDone(r), span(r.Took.Round(time.Second))+" of trials", strings.TrimSpace(labEnd(r)))
	return append(facts, programsOf(r)...)
}

func labEnd(r report.Report) string {
	if !r.Complete {
		return "not complete"
	}
	return cmpText(r.Stopped, "complete")
}
