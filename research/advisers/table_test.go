package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/stats"
	"plumb/research/trials"
	"plumb/test/program"
)

// fill writes trials of a cell into a ledger: what each arm does, in
// transactions a second, with some noise from block to block.
func fill(t *testing.T, where string, x experiment.Experiment, blocks int, does func(arm string) float64, cpu float64) {
	t.Helper()
	store, err := ledger.Open(t.Context(), where)
	ok(t, err)
	defer store.Close()
	ok(t, store.Define(t.Context(), x, "test"))
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for block := 1; block <= blocks; block++ {
		for i, trial := range experiment.Order(x, block) {
			rate := does(trial.Arm) * (1 + 0.01*float64((block+i)%3-1))
			r := experiment.Record{Trial: trial, Experiment: x.Hash, ID: fmt.Sprintf("%s-%d-%d", x.Name, block, i), Attempt: 1,
				Began: began, Ended: began.Add(time.Minute), Rate: stats.Estimate{Value: rate, Low: rate, High: rate, N: 10}, Metric: rate,
				Costs: []experiment.Cost{{Layer: "server", Name: "CPU", Unit: "us/op", Value: cpu, From: "a test"},
					{Layer: "client", Name: "CPU", Unit: "us/op", Value: cpu / 4, From: "a test"}}}
			if rate == 0 {
				r.Mark(experiment.MarkFailed, "it did not come up")
			}
			ok(t, store.Begin(t.Context(), r))
			ok(t, store.Finish(t.Context(), r))
			began = began.Add(time.Minute)
		}
	}
}

// tried is a contest with fixed advice, whatever Plumb advises today.
func tried(t *testing.T, only string) contest {
	t.Helper()
	c := contest{Contest: trials.Contest{Experiments: t.TempDir(), Lab: trials.Lab{Ledger: filepath.Join(t.TempDir(), "ledger")}, Only: only}}
	ok(t, c.write(advised{"mariadb": {"innodb_buffer_pool_size": "512M"}, "postgres": {"shared_buffers": "256MB"}}))
	return c
}

// first gives the experiment of the first cell that is chosen.
func (c contest) first(t *testing.T) experiment.Experiment {
	t.Helper()
	all, err := c.chosen()
	ok(t, err)
	x, err := c.experiment(all[0])
	ok(t, err)
	return x
}

// says wants expressions in the table.
func (c contest) says(t *testing.T, expressions ...string) {
	t.Helper()
	text, err := c.table(t.Context())
	ok(t, err)
	program.Reads(t, text, expressions...)
}

func TestTable(t *testing.T) {
	c := tried(t, "mariadb-*-gp3")
	fill(t, c.Ledger, c.first(t), 6, func(arm string) float64 {
		return map[string]float64{byDefault: 100, byPlumb: 400, "MySQLTuner": 250, "innodb_dedicated_server": 150, "by hand": 200, unsafe + "by hand": 900}[arm]
	}, 1000)
	c.says(t, `^\| mariadb-rw-gp3 \| \d+ \(\d+ to \d+\) \| (3\.9\d|4|4\.0\d) \(.*\) \| 1\.[56]\d? \(1\..*\) MySQLTuner \| 3 \| none \| 25 % \(1000 \+ 250 µs each\) \|$`,
		`^\| mariadb-tpcc-gp3 \| not run \|`, `^1 of 2 cells were run\.`, `At least 2\.9 times the default: mariadb-rw-gp3\.`, `A sure loss: none\.`, `1 of the 1 cells`)
}

func TestTableOfALoss(t *testing.T) {
	c := tried(t, "mariadb-tpcc-p15")
	fill(t, c.Ledger, c.first(t), 3, func(arm string) float64 {
		return 100 + map[string]float64{"MySQLTuner": 30}[arm]
	}, 15_000)
	c.says(t, `mariadb-tpcc-p15 \|`, `\| MySQLTuner \|`, `bound by them`, `A sure loss: mariadb-tpcc-p15\.`, `0 of the 0 cells`)
}

func TestTableOfOneBlockAndOfNone(t *testing.T) {
	c := tried(t, "mariadb-rw-p15")
	c.says(t, `\| mariadb-rw-p15 \| not run \|`, `No cell has been run\.`)
	fill(t, c.Ledger, c.first(t), 1, func(string) float64 { return 50 }, 10)
	c.says(t, `\(1 so far\)`, `\(one block\)`, `\| none \|`)
}

// TestTableOfAnArmThatDoesNotRun: the others are compared all the same.
func TestTableOfAnArmThatDoesNotRun(t *testing.T) {
	c := tried(t, "mariadb-rw-p15")
	fill(t, c.Ledger, c.first(t), 3, func(arm string) float64 { return map[bool]float64{true: 50}[arm != "by hand"] }, 10)
	c.says(t, `\| 2, without by hand, which did not run \|`)
}

func TestTableOfOtherArms(t *testing.T) {
	c := tried(t, "mariadb-rw-p15")
	x := c.first(t)
	x.Hash = "00" + x.Hash[2:]
	fill(t, c.Ledger, x, 1, func(string) float64 { return 50 }, 10)
	c.says(t, `not run since its arms changed`)
}

func TestTableWherePlumbSaysWhatAnotherSays(t *testing.T) {
	c := tried(t, "mariadb-rw-p15")
	ok(t, c.write(advised{"mariadb": {"innodb_buffer_pool_size": "512M", "innodb_log_file_size": "1G"}}))
	fill(t, c.Ledger, c.first(t), 3, func(arm string) float64 { return 50 + float64(len(arm)) }, 10)
	c.says(t, `1: the same settings as innodb_dedicated_server`)
}

func TestLacks(t *testing.T) {
	for name, want := range map[string]struct {
		blocks      int
		more, begun bool
	}{"none": {0, true, false}, "one": {1, true, true}, "all": {3, false, true}} {
		t.Run(name, func(t *testing.T) {
			c := tried(t, "mariadb-rw-gp3")
			x := c.first(t)
			if want.blocks > 0 {
				fill(t, c.Ledger, x, want.blocks, func(string) float64 { return 50 }, 10)
			}
			more, begun, why, err := c.Lacks(t.Context(), x)
			ok(t, err)
			if more != want.more || begun != want.begun {
				t.Errorf("more %v, begun %v, %s", more, begun, why)
			}
		})
	}
}
