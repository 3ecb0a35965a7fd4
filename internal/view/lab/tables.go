package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// cell is a value of a table with its interval below it.
type cell struct{ Value, Range string }

func cellOf(e stats.Estimate, show func(float64) string) cell {
	if !units.MeasuredAtAll(e) {
		return cell{Value: "–"}
	}
	if !units.Ranged(e) {
		return cell{Value: show(e.Value)}
	}
	return cell{show(e.Value), lowToHigh(show(e.Low), show(e.High))}
}

// lowToHigh writes a unit that both ends have once.
func lowToHigh(low, high string) string {
	isSpace := func(r rune) bool { return r == ' ' || r == page.NoBreak }
	if i, j := strings.LastIndexFunc(low, isSpace), strings.LastIndexFunc(high, isSpace); i > 0 && j > 0 && low[i:] == high[j:] {
		low = low[:i]
	}
	return low + " to " + high
}

// ArmRow is a line of the table of results.
type ArmRow struct {
	Name, Key   string // Key: class of its colour
	Trials      int
	Metric      cell
	Against     cell
	Verdict     string
	Class       string // of the verdict
	P50         cell
	P95         cell
	P99         cell
	Variation   string
	Stalls      string
	Failed      string
	Baseline    bool
	Published   string
	PublishedBy string
}

// ArmRows are the rows of the table of results.
func ArmRows(r report.Report) (rows []ArmRow) {
	for i, a := range r.Arms {
		row := ArmRow{Name: a.Name, Key: armClass(i), Trials: a.Trials, Failed: a.Failed, Metric: cellOf(a.Metric, showMetric(r.Experiment.Metric)), Baseline: isBaseline(r, a.Name),
			P50: cellOf(a.Latency.P50, units.Spaced), P95: cellOf(a.Latency.P95, units.Spaced), P99: cellOf(a.Latency.P99, units.Spaced), Variation: "–", Stalls: "–"}
		if a.Trials > 0 {
			row.Variation, row.Stalls = percentOf(a.Variation), perThousand(a.Stalls)
		}
		if v := verdictOf(r, a.Name); v != nil && units.MeasuredAtAll(v.Effect) {
			row.Against = cell{units.Signed(v.Effect.Value), strings.Trim(units.DiffersRange(v.Effect), "()")}
			row.Verdict, row.Class = VerdictWords(*v), v.Word
		}
		if a.Published != nil {
			row.Published, row.PublishedBy = units.PerSecond(a.Published.Value)+" "+a.Published.Unit, a.Published.Note
		}
		rows = append(rows, row)
	}
	return rows
}

// CostTable has a line for each arm and a column for each cost, by layer.
type CostTable struct {
	Layers []layerSpan
	Heads  []costHead
	Rows   []costRow
	From   []string
}

type layerSpan struct {
	Name string
	Span int
}

type costHead struct{ Name, Per string }

type costRow struct {
	Name, Key string
	Cells     []cell
}

// CostsOf makes the table of what an operation costs; nil where nothing was counted.
func CostsOf(r report.Report) *CostTable {
	var columns []report.CostResult
	for _, a := range r.Arms {
		for _, c := range a.Costs {
			if !slices.ContainsFunc(columns, c.Same) {
				columns = append(columns, c)
			}
		}
	}
	if len(columns) == 0 {
		return nil
	}
	layers := []string{"client", "server", "filesystem", "device", "space", "machine"}
	slices.SortStableFunc(columns, func(a, b report.CostResult) int {
		return slices.Index(layers, a.Layer) - slices.Index(layers, b.Layer)
	})
	t := &CostTable{}
	for _, c := range columns {
		if n := len(t.Layers); n > 0 && t.Layers[n-1].Name == c.Layer {
			t.Layers[n-1].Span++
		} else {
			t.Layers = append(t.Layers, layerSpan{c.Layer, 1})
		}
		name, per := costTitle(c)
		t.Heads = append(t.Heads, costHead{name, per})
		if from := c.Layer + " " + c.Name + ": " + c.From; c.From != "" {
			t.From = append(t.From, from)
		}
	}
	for i, a := range r.Arms {
		if a.Trials == 0 {
			continue
		}
		row := costRow{Name: a.Name, Key: armClass(i)}
		for _, c := range columns {
			row.Cells = append(row.Cells, costCell(a, c))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func costCell(a report.ArmResult, c report.CostResult) cell {
	for _, own := range a.Costs {
		if own.Same(c) {
			return cellOf(own.Estimate, CostNumber(c.Unit))
		}
	}
	return cell{Value: "–"}
}

// trialRow is one trial in the list of all.
type trialRow struct {
	Block, Position, Attempt int
	Arm, Key, Began, Seed    string
	Metric, Rate, P99        string
	Why                      string // it does not count
	Remarks                  string
}

func trialRows(r report.Report) (rows []trialRow) {
	index := armIndex(r)
	for _, rec := range r.Records {
		row := trialRow{Block: rec.Block, Position: rec.Position, Attempt: rec.Attempt, Arm: rec.Arm, Key: armClass(index[rec.Arm]), Began: rec.Began.UTC().Format("15:04:05"),
			Seed: page.SeedText(rec.Seed), Metric: "–", Rate: valueRange(rec.Rate, units.PerSecond), P99: "–"}
		if rec.Metric > 0 && units.IsReal(rec.Metric) {
			row.Metric = showMetric(r.Experiment.Metric)(rec.Metric)
		}
		if l := trialLatency(rec).Summary(); l.N > 0 {
			row.P99 = units.Spaced(page.Ms(l.P99))
		}
		if !rec.Valid() {
			row.Why = marksText(rec.Marks)
		}
		if len(rec.Remarks) > 0 {
			row.Remarks = marksText(rec.Remarks)
		}
		rows = append(rows, row)
	}
	return rows
}

// volumeRow is what the volumes of some arms turned out to be.
type volumeRow struct {
	Names  []string
	Facts  []Setting
	Limits []limitRow
}

type limitRow struct{ What, Asked, Measured string }

// volumeRows puts arms whose volumes are alike together.
func volumeRows(r report.Report) (rows []volumeRow) {
	for _, a := range r.Arms {
		k := slices.IndexFunc(r.Records, func(rec experiment.Record) bool { return rec.Arm == a.Name && rec.Volume.Path != "" })
		if k < 0 {
			continue
		}
		facts := volumeFacts(r.Records[k])
		if i := slices.IndexFunc(rows, func(row volumeRow) bool { return slices.Equal(row.Facts, facts) }); i >= 0 {
			rows[i].Names = append(rows[i].Names, a.Name)
			continue
		}
		rows = append(rows, volumeRow{Names: []string{a.Name}, Facts: facts})
	}
	for i := range rows {
		rows[i].Limits = limitsOf(r, rows[i].Names)
	}
	return rows
}

func volumeFacts(rec experiment.Record) (facts []Setting) {
	v, asked := rec.Volume, rec.Setup.Volume
	for _, f := range []Setting{{"kind", asked.Kind}, {"filesystem", v.Filesystem}, {"mount options", v.Options}, {"profile", asked.Profile}, {"data of a trial", v.Cloned}, {"server", rec.Program}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	for _, name := range sortedNames(v.Properties) {
		facts = append(facts, Setting{name, v.Properties[name]})
	}
	return facts
}

// limitsOf gives what was measured of each limit over all trials of arms.
func limitsOf(r report.Report, names []string) (rows []limitRow) {
	type key struct {
		what  string
		asked float64
	}
	var order []key
	low, high := map[key]float64{}, map[key]float64{}
	for _, rec := range r.Records {
		if !slices.Contains(names, rec.Arm) || !rec.Valid() {
			continue
		}
		for _, l := range rec.Volume.Limits {
			k := key{l.What, l.Asked}
			if _, seen := low[k]; !seen {
				order = append(order, k)
				low[k], high[k] = l.Measured, l.Measured
			}
			low[k], high[k] = min(low[k], l.Measured), max(high[k], l.Measured)
		}
	}
	for _, k := range order {
		measured := units.PerSecond(low[k])
		if to := units.PerSecond(high[k]); to != measured {
			measured += " to " + to
		}
		rows = append(rows, limitRow{k.what, units.PerSecond(k.asked), measured})
	}
	return rows
}

// settingRow is a setting of the servers as it was asked for and as it was
// in force.
type settingRow struct{ Arm, Name, Asked, Running string }

func settingRows(r report.Report) (rows []settingRow) {
	type key struct{ name, asked, running string }
	var order []key
	who := map[key][]string{}
	for _, a := range r.Experiment.Arms {
		if a.Setup.Server == nil {
			continue
		}
		running := effectiveOf(r, a.Name)
		for _, name := range sortedNames(a.Setup.Server.Settings) {
			k := key{name, a.Setup.Server.Settings[name], cmp.Or(running[name], "not read")}
			if who[k] == nil {
				order = append(order, k)
			}
			who[k] = append(who[k], a.Name)
		}
	}
	slices.SortStableFunc(order, func(a, b key) int { return strings.Compare(a.name, b.name) })
	for _, k := range order {
		arm := strings.Join(who[k], " · ")
		if len(who[k]) == len(r.Experiment.Arms) {
			arm = "all"
		}
		rows = append(rows, settingRow{arm, k.name, k.asked, k.running})
	}
	return rows
}

func effectiveOf(r report.Report, arm string) map[string]string {
	for _, rec := range r.Records {
		if rec.Arm == arm && len(rec.Effective) > 0 {
			return rec.Effective
		}
	}
	return nil
}

// ProgramsOf lists the servers that ran, each once.
func ProgramsOf(r report.Report) (names []string) {
	for _, rec := range r.Records {
		if rec.Program != "" && !slices.Contains(names, rec.Program) {
			names = append(names, rec.Program)
		}
	}
	return names
}

// HowDone says how the experiment was carried out and how it was judged.
func HowDone(r report.Report) (lines []string) {
	x := r.Experiment
	lines = append(lines, "Design: "+DesignText(x)+".")
	each := "Each trial: " + units.Span(x.Measure) + " measured"
	if x.Fill > 0 {
		lines = append(lines, "Before each trial the load runs for "+units.Span(x.Fill)+" without the volume's limit, so that caches are as full as they will be.")
	}
	if x.Warmup > 0 {
		each += " after " + units.Span(x.Warmup) + " of warm-up that are run and left out"
	}
	if x.Design == experiment.Blocks {
		each += ", on a fresh copy of the data with nothing of it in the page cache"
	}
	lines = append(lines, each+".", fmt.Sprintf("Order and load come from the seed %d; all arms of a block get the same operations.", x.Seed))
	steady := "A trial whose rate was not steady, whose generator was the limit, or in which something failed is kept and marked, but never included in an average."
	if x.Unsteady {
		steady = "Trials whose rate is not steady count here, because they are the question. A trial that failed, or was limited by the generator, is kept and marked, but never included in an average."
	}
	lines = append(lines, steady)
	if len(x.Checks) > 0 {
		lines = append(lines, "After each trial it was checked: "+page.Join(x.Checks)+".")
	}
	lines = append(lines,
		"Trials are counted, not seconds, because the seconds of one trial depend on one another. Arms are compared within blocks, so that drifts over hours cancel out. Intervals would contain the true value in 95 of 100 such experiments, and chance is judged for all comparisons together (Holm).",
		"Percentiles are those of all operations of an arm, from merged histograms; their intervals come from resampling whole trials. With few trials, every interval rests on few numbers, and always on this one machine.")
	if r.Noise.N > 1 && units.IsReal(r.Noise.Value) {
		lines = append(lines, fmt.Sprintf("Between blocks the ratio of two arms varied by %s %% (standard deviation).", units.PercentDigits(r.Noise.Value)))
	}
	return append(lines, labNotes(r)...)
}
