package report

import (
	"strings"
	"testing"

	"plumb/internal/lab/experiment"
)

// syncBinlog is an experiment over two axes.
func syncBinlog() experiment.Experiment {
	x := experiment.Experiment{Name: "sync-binlog", Design: experiment.Blocks, Least: 3, Most: 8, Metric: "rate", Margin: 0.05,
		Axes: []experiment.Axis{
			{Name: "filesystem", Levels: []experiment.Level{{Name: "ext4"}, {Name: "xfs"}}},
			{Name: "sync_binlog", Levels: []experiment.Level{{Name: "0"}, {Name: "1"}, {Name: "1000"}}},
		}}
	for _, f := range x.Axes[0].Levels {
		for _, s := range x.Axes[1].Levels {
			x.Arms = append(x.Arms, experiment.Arm{Name: f.Name + ", " + s.Name, Levels: map[string]string{"filesystem": f.Name, "sync_binlog": s.Name}})
			if s.Name != "0" {
				x.Pairs = append(x.Pairs, experiment.Pair{Arm: f.Name + ", " + s.Name, Baseline: f.Name + ", 0"})
			}
		}
	}
	return x
}

// ratios gives records of a baseline of 1000 and an arm at these ratios.
func ratios(p experiment.Pair, ratios ...float64) (all []experiment.Record) {
	for i, r := range ratios {
		base := 1000 + 10*float64(i)
		all = append(all, record(experiment.Trial{Block: i + 1, Position: 1, Arm: p.Baseline}, base), record(experiment.Trial{Block: i + 1, Position: 2, Arm: p.Arm}, r*base))
	}
	return all
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		metric string
		ratios []float64
		want   string
	}{
		{"rate", []float64{0.60, 0.62, 0.64}, "sync_binlog = 1 on ext4 does 38 % less (33 to 43 %) than sync_binlog = 0: worse."},
		{"rate", []float64{1.2, 1.22, 1.21}, "sync_binlog = 1 on ext4 does 21 % more (19 to 24 %) than sync_binlog = 0: better."},
		{"rate", []float64{4, 4.1, 3.9}, "sync_binlog = 1 on ext4 does 4.0 times as much (3.8 to 4.3) as sync_binlog = 0: better."},
		{"p99", []float64{1.2, 1.22, 1.21}, "The p99 response time of sync_binlog = 1 on ext4 is 21 % longer (19 to 24 %) than that of sync_binlog = 0: worse."},
		{"mean", []float64{0.60, 0.62, 0.64}, "The mean response time of sync_binlog = 1 on ext4 is 38 % shorter (33 to 43 %) than that of sync_binlog = 0: better."},
		{"rate", []float64{1, 1.01, 1.02}, "sync_binlog = 1 against sync_binlog = 0 on ext4: no difference larger than 5 % (−1.5 to +3.5 %)."},
		{"rate", []float64{1.005, 1.02, 1.035}, "sync_binlog = 1 against sync_binlog = 0 on ext4: no difference larger than 5 % (−0.51 to +4.6 %, 90 % interval)."},
		{"p95", []float64{1, 1.01, 1.02}, "sync_binlog = 1 against sync_binlog = 0 on ext4, p95 response time: no difference larger than 5 % (−1.5 to +3.5 %)."},
		{"rate", []float64{0.95, 0.99, 1.01}, "sync_binlog = 1 against sync_binlog = 0 on ext4: undecided after 3 blocks: −1.7 % (−9.0 to +6.2 %); about 4 more blocks would decide it."},
		{"rate", []float64{0.95}, "sync_binlog = 1 against sync_binlog = 0 on ext4: undecided after one block: −5.0 %, and chance cannot be estimated yet; at least 2 more blocks are needed."},
		{"rate", nil, "sync_binlog = 1 against sync_binlog = 0 on ext4: no block has both yet; at least 3 more blocks are needed."},
	} {
		x := syncBinlog()
		x.Metric, x.Pairs = c.metric, x.Pairs[:1]
		if got := Make(x, ratios(x.Pairs[0], c.ratios...)).Verdicts[0].Sentence; got != c.want {
			t.Errorf("%s %v:\n got %s\nwant %s", c.metric, c.ratios, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	x := syncBinlog()
	if n := named(x, experiment.Pair{Arm: "xfs, 1", Baseline: "ext4, 1"}); n.arm != "xfs" || n.baseline != "ext4" || n.where != " with sync_binlog = 1" {
		t.Errorf("%+v", n)
	}
	if n := named(x, experiment.Pair{Arm: "xfs, 1", Baseline: "ext4, 0"}); n.arm != "xfs, sync_binlog = 1" || n.where != "" {
		t.Errorf("%+v", n)
	}
	if n := named(twoArms(), experiment.Pair{Arm: "b", Baseline: "a"}); n.arm != "b" || n.baseline != "a" || n.where != "" {
		t.Errorf("%+v", n)
	}
}

func TestAnswer(t *testing.T) {
	x := syncBinlog()
	records := append(ratios(x.Pairs[0], 0.60, 0.62, 0.64), ratios(x.Pairs[1], 1, 1.01, 1.02)...)
	records = append(records, ratios(x.Pairs[2], 0.7, 0.71, 0.72)...)
	records = append(records, ratios(x.Pairs[3], 0.9, 1, 1.1)...)
	r := Make(x, records)
	want := "So far: sync_binlog = 1 on ext4 does 38 % less (33 to 43 %) than sync_binlog = 0; sync_binlog = 1 on xfs does 29 % less (26 to 31 %) than sync_binlog = 0. " +
		"No difference larger than 5 %: sync_binlog = 1000 against sync_binlog = 0 on ext4. Undecided: sync_binlog = 1000 against sync_binlog = 0 on xfs."
	if r.Answer != want {
		t.Errorf("\n got %s\nwant %s", r.Answer, want)
	}
	x.Most = 3
	if r := Make(x, records); strings.HasPrefix(r.Answer, "So far") || !r.Complete {
		t.Errorf("%s", r.Answer)
	}
	if r := Make(x, nil); r.Answer != "After 0 of at most 3 blocks there is no result yet." {
		t.Errorf("%s", r.Answer)
	}
	one := twoArms()
	one.Pairs, one.Arms = nil, one.Arms[:1]
	if r := Make(one, values(twoArms(), [2]float64{1000, 1}, [2]float64{1010, 1}, [2]float64{1020, 1})); r.Answer != "So far: a does 1,010 operations a second (985 to 1,035)." {
		t.Errorf("%s", r.Answer)
	}
	if r := Make(one, nil); r.Answer != "After 0 of at most 8 blocks there is no result yet." {
		t.Errorf("%s", r.Answer)
	}
	bad := record(experiment.Trial{Block: 1, Arm: "a"}, 0)
	bad.Mark(experiment.MarkFailed, "refused")
	if r := Make(one, []experiment.Record{bad}); r.Answer != "No answer: no arm could run." {
		t.Errorf("%s", r.Answer)
	}
}

// A difference that is too likely by chance among many comparisons is not
// called one, and the sentence says why.
func TestSentenceOfManyComparisons(t *testing.T) {
	x := manyArms(6)
	x.Margin = 0.01
	var records []experiment.Record
	for i, p := range x.Pairs {
		all := ratios(p, 0.9, 1, 1.1, 1)
		if i == 0 {
			all = ratios(p, 1.06, 1.01, 1.05, 1.03)
		}
		for _, r := range all {
			if r.Arm != "arm0" || i == 0 {
				records = append(records, r)
			}
		}
	}
	v := Make(x, records).Verdicts[0]
	if v.Word != Undecided || v.Effect.Low < 0 || !strings.Contains(v.Sentence, "which is too likely by chance among 5 comparisons; about ") {
		t.Errorf("%+v", v)
	}
}
