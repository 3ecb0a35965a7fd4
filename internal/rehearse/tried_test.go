package rehearse

import (
	"slices"
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stats"
)

func TestTriedFindsTheArmsOfARule(t *testing.T) {
	x := experiment.Experiment{Notes: "A rehearsal of mysql:3306.\n" + rulesNote("mysql:3306 pool 6G", []string{"mysql/pool", "cross/pool"}) + "\n" +
		rulesNote("gone", []string{"mysql/pool"}) + "\nrules of nothing\nrules: mysql/pool, mysql/binlog\n"}
	for _, name := range []string{AsIs, AllAdvice, "mysql:3306 pool 6G"} {
		x.Arms = append(x.Arms, experiment.Arm{Name: name})
	}
	for rule, want := range map[string][]string{"mysql/pool": {"mysql:3306 pool 6G", AllAdvice}, "cross/pool": {"mysql:3306 pool 6G"}, "mysql/binlog": {AllAdvice}, "mysql/poo": nil, "": nil} {
		if got := Tried(x, rule); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

func TestBroughtFindsWhatAStepIsComparedWith(t *testing.T) {
	verdict := func(arm, baseline string, value float64) report.Comparison {
		return report.Comparison{Pair: experiment.Pair{Arm: arm, Baseline: baseline}, Word: report.Better, Effect: stats.Estimate{Value: value, N: 4}}
	}
	r := report.Report{Verdicts: []report.Comparison{verdict("pool", AsIs, 0.5), verdict(AllAdvice, "without binlog", 0.2)}}
	for arm, want := range map[string]float64{"pool": 0.5, "without binlog": 0.2, AllAdvice: 0, "none": 0} {
		got, word, ok := Brought(r, arm)
		if got.Value != want || ok != (want > 0) || ok && word != report.Better {
			t.Errorf("%s: %v %q %v, want %v", arm, got.Value, word, ok, want)
		}
	}
}
