package lab

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Column is one column of LabCSV. A value that is not known is empty.
type Column struct{ Name, Text string }

// csvColumns describes the columns that every table of trials has. After them
// come one column axis_NAME for each axis with the trial's level, and one
// column LAYER_NAME_UNIT for each cost, such as server_fsyncs_per_op,
// server_cpu_us_per_op, device_written_b_per_op and space_used_b.
func csvColumns() []Column {
	return []Column{
		{"experiment", "name"},
		{"hash", "of what decides the trials"},
		{"id", "of the trial in the ledger"},
		{"block", "from 1"},
		{"position", "in the block, from 1"},
		{"attempt", "from 1: a trial that was cut off is repeated"},
		{"arm", "name"},
		{"seed", "of the load"},
		{"began", "RFC 3339, UTC"},
		{"ended", "RFC 3339, UTC"},
		{"valid", "true when the trial counts"},
		{"marks", "kinds of the reasons why it does not count, with spaces between them"},
		{"metric", "what is compared: rate, mean, p50, p95 or p99"},
		{"value", "of the metric: operations a second, or milliseconds"},
		{"rate", "operations a second"},
		{"rate_low", "lower end of its 95 % interval within the trial"},
		{"rate_high", "upper end"},
		{"done", "operations that succeeded"},
		{"failed", "operations"},
		{"retried", "operations"},
		{"mean_ms", "of the response time"},
		{"p50_ms", "of the response time"},
		{"p95_ms", "of the response time"},
		{"p99_ms", "of the response time"},
		{"max_ms", "of the response time"},
		{"program", "product and version of the server"},
	}
}

// CSV writes one line for each trial, in the order in which they ran.
func CSV(r report.Report) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	var head []string
	for _, c := range csvColumns() {
		head = append(head, c.Name)
	}
	for _, a := range r.Experiment.Axes {
		head = append(head, "axis_"+a.Name)
	}
	costs := costColumns(r)
	head = append(head, costs...)
	_ = w.Write(head) // to memory: cannot fail
	for _, rec := range r.Records {
		row := trialCells(r, rec)
		row = append(row, levelCells(r.Experiment, rec.Arm)...)
		for _, c := range costs {
			row = append(row, costOf(rec, c))
		}
		for i, v := range row {
			row[i] = inert(v)
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.String()
}

// inert keeps a spreadsheet from taking a text for a formula.
func inert(v string) string {
	if v != "" && strings.ContainsRune("=+-@\t\r", rune(v[0])) {
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return "'" + v
		}
	}
	return v
}

func trialCells(r report.Report, rec experiment.Record) []string {
	var kinds []string
	for _, m := range rec.Marks {
		kinds = append(kinds, m.Kind)
	}
	done, failed, retried := tally(rec)
	row := []string{r.Experiment.Name, rec.Experiment, rec.ID, strconv.Itoa(rec.Block), strconv.Itoa(rec.Position), strconv.Itoa(rec.Attempt), rec.Arm, page.SeedText(rec.Seed),
		timeCell(rec.Began), timeCell(rec.Ended), strconv.FormatBool(rec.Valid()), strings.Join(kinds, " "), r.Experiment.Metric}
	known := rec.Metric > 0
	row = append(row, numberCell(rec.Metric, known), numberCell(rec.Rate.Value, units.MeasuredAtAll(rec.Rate)), numberCell(rec.Rate.Low, units.Ranged(rec.Rate)), numberCell(rec.Rate.High, units.Ranged(rec.Rate)))
	for _, n := range []int64{done, failed, retried} {
		row = append(row, numberCell(float64(n), len(rec.Ops) > 0))
	}
	s := trialLatency(rec).Summary()
	for _, d := range []time.Duration{s.Mean, s.P50, s.P95, s.P99, s.Max} {
		row = append(row, numberCell(page.Ms(d), s.N > 0))
	}
	return append(row, rec.Program)
}

func tally(rec experiment.Record) (done, failed, retried int64) {
	for _, o := range rec.Ops {
		done, failed, retried = done+o.Done, failed+o.Failed, retried+o.Retried
	}
	return done, failed, retried
}

func numberCell(v float64, known bool) string {
	if !known || !units.IsReal(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 8, 64)
}

func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func levelCells(x experiment.Experiment, arm string) (cells []string) {
	i := slices.IndexFunc(x.Arms, func(a experiment.Arm) bool { return a.Name == arm })
	for _, axis := range x.Axes {
		level := ""
		if i >= 0 {
			level = x.Arms[i].Levels[axis.Name]
		}
		cells = append(cells, level)
	}
	return cells
}

// costColumns names the costs of all trials, each once, in the order in which
// they first come.
func costColumns(r report.Report) (names []string) {
	for _, rec := range r.Records {
		for _, c := range rec.Costs {
			if n := costColumn(c); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func costColumn(c experiment.Cost) string {
	name := fmt.Sprintf("%s %s %s", c.Layer, c.Name, c.Unit)
	switch c.Unit {
	case "ratio":
		name = c.Layer + " " + c.Name
	case "1/op":
		name = c.Layer + " " + c.Name + " per op"
	}
	return strings.ToLower(strings.NewReplacer(" ", "_", "/", "_per_").Replace(name))
}

func costOf(rec experiment.Record, column string) string {
	for _, c := range rec.Costs {
		if costColumn(c) == column {
			return numberCell(c.Value, true)
		}
	}
	return ""
}
