package forecast

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/stats"
)

// Pools of four sizes, each with a binary log and without.
const pools = `experiment: pools
question: What does a larger pool bring?
base:
  volume: {kind: directory}
  server: {engine: mariadb}
  load: {kind: oltp, script: oltp_read_only, tables: 1, rows: 1000}
axes:
  - {name: pool, path: server.settings.innodb_buffer_pool_size, levels: [32M, 64M, 128M, 256M]}
  - {name: binlog, path: server.settings.log_bin, levels: ["off", "on"]}
compare: binlog
measure: {warmup: 1s, time: 5s}
blocks: {least: 1, most: 3}
`

// another gives another experiment of so many rows, with something else in its file.
func another(name string, rows int, old, as string) string {
	return strings.NewReplacer("experiment: pools", "experiment: "+name, "rows: 1000", fmt.Sprintf("rows: %d", rows), old, as).Replace(pools)
}

// ran keeps three trials of each arm of an experiment in a ledger, as a lab does; mark changes what is kept.
func ran(t *testing.T, where, text string, mark func(r *experiment.Record)) {
	t.Helper()
	l, err := ledger.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	x, err := experiment.Parse("test", []byte(text))
	if err == nil {
		err = l.Define(t.Context(), x, "v1")
	}
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for block := 1; block <= 3; block++ {
		for i, a := range x.Arms {
			rate := float64(100*(i+1)) * (1 + 0.01*float64(block-2))
			r := experiment.Record{Trial: experiment.Trial{Block: block, Position: i + 1, Arm: a.Name}, Experiment: x.Hash, ID: fmt.Sprint(x.Name, block, i), Attempt: 1, Plumb: "v1",
				Began: at, Ended: at.Add(10 * time.Second), Setup: a.Setup, Program: "MariaDB 10.11", Rate: stats.Estimate{Value: rate, N: 5}, Metric: rate}
			at = r.Ended
			if err := l.Begin(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if mark != nil {
				mark(&r)
			}
			if err := l.Finish(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestACurveOfALedger has a point for each arm that is asked for, with its interval over the blocks.
func TestACurveOfALedger(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger")
	ran(t, where, pools, func(r *experiment.Record) {
		if strings.HasPrefix(r.Arm, "64M") && r.Block == 3 { // which does not count, whatever it ran on
			r.Rate.Value, r.Metric, r.Program = 9e9, 9e9, "MariaDB 11.4"
			r.Mark(experiment.MarkThrottle, "the volume was slower than asked")
		}
	})
	got, err := measured{ledger: where, axis: "pool", with: []string{"on"}}.points(t.Context(), sizeColumn)
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, p := range got {
		rate := 200 * float64(i+1)
		if i == 1 { // without its third block
			rate *= 0.995
		}
		if p.x != float64(int(32)<<20<<i) || p.rate < rate*0.9999 || p.rate > rate*1.0001 || !(p.off > 0.01 && p.off < 0.1) {
			t.Errorf("%+v, want %g a second with %d MiB", p, rate, 32<<i)
		}
	}
}

// TestLedgersThatMakeNoCurve: what makes none is refused, and what is misspelt is not taken for nothing measured.
func TestLedgersThatMakeNoCurve(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger")
	ran(t, where, pools, nil)
	ran(t, where, another("delays", 1001, "blocks:", "metric: p99\nblocks:"), nil)
	ran(t, where, another("waves", 1002, "time: 5s", "time: 5s, unsteady: true"), nil)
	ran(t, where, another("failed", 1003, "most: 3", "most: 4"), func(r *experiment.Record) { r.Mark(experiment.MarkDisturbed, "others used the disk") })
	ran(t, where, another("upgraded", 1004, "most: 3", "most: 4"), func(r *experiment.Record) {
		if r.Block == 2 {
			r.Program = "MariaDB 11.4"
		}
	})
	ran(t, where, another("moved", 1006, "most: 3", "most: 4"), func(r *experiment.Record) {
		if r.Machine = []string{"Linux 6.12", "2 processors"}; r.Block == 3 {
			r.Machine = []string{"Linux 6.12", "8 processors"}
		}
	})
	arms := "arms:\n  - {name: small, set: {server.settings.innodb_buffer_pool_size: 32M}}\n  - {name: large, set: {server.settings.innodb_buffer_pool_size: 64M}}\n"
	ran(t, where, another("listed", 1005, pools[strings.Index(pools, "axes:"):strings.Index(pools, "measure:")], arms), nil)
	for line, want := range map[string][2]string{
		"--experiment pools --axis pool":              {"experiment pools has several arms with pool 32M", "--with names a level of the other axes: off, on"},
		"--experiment pools --axis pol --with on":     {"experiment pools has no axis pol", "--axis names pool or binlog"},
		"--experiment pools --axis pool --with 1":     {"experiment pools has no level 1 beside those on axis pool", "--with names one of these: off, on"},
		"--experiment pools --axis pool --with 32M":   {"experiment pools has no level 32M beside those on axis pool", "off, on"},
		"--experiment pools --axis binlog --with 32M": {"the levels of axis binlog of experiment pools are not sizes: off, on", "whose levels are sizes"},
		"--experiment listed --axis pool":             {"experiment listed has no axes", "--csv FILE"},
		"--experiment delays --axis pool --with on":   {"experiment delays compares p99, and a forecast needs rates", "metric: rate"},
		"--experiment waves --axis pool --with on":    {"experiment waves counts trials whose rate is not steady", "without measure.unsteady"},
		"--experiment failed --axis pool --with on":   {"experiment failed has no trial that counts in the requested arms", "plumb lab report"},
		"--experiment upgraded --axis pool --with on": {"experiment upgraded ran on different servers: MariaDB 10.11, MariaDB 11.4", "run it again on one version"},
		"--experiment moved --axis pool --with on":    {"experiment moved ran on different machines: Linux 6.12, 2 processors; Linux 6.12, 8 processors", "run it again on one"},
		"--experiment moons --axis pool":              {"none matches; there are ", "give a name"},
	} {
		if err := cacheOf(t, "--ledger "+where+" "+line); err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(hint.Of(err), want[1]) {
			t.Errorf("%s: %v, hint %q", line, err, hint.Of(err))
		}
	}
	if err := cacheOf(t, "--ledger "+where+" --experiment pools --axis pool --with on"); err != nil {
		t.Error(err)
	}
	if err := cacheOf(t, "--csv x.csv --axis pool"); hint.AsUsage(err) == nil || !strings.Contains(err.Error(), "none is named") {
		t.Errorf("an axis of a CSV file: %v", err)
	}
}

// TestServersOnAnAxis: of an experiment that compares versions, one of them makes a curve.
func TestServersOnAnAxis(t *testing.T) {
	where := filepath.Join(t.TempDir(), "ledger")
	ran(t, where, pools, func(r *experiment.Record) {
		if strings.HasSuffix(r.Arm, "on") {
			r.Program = "MariaDB 11.4"
		}
	})
	if err := cacheOf(t, "--ledger "+where+" --axis pool --with on"); err != nil {
		t.Error(err)
	}
}

// cacheOf forecasts a cache of 100M.
func cacheOf(t *testing.T, line string) error {
	t.Helper()
	var out bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &out)
	c := Command(&s, nil)
	c.SetArgs(slices.Concat([]string{"cache", "--at", "100M"}, strings.Fields(line)))
	c.SilenceErrors, c.SilenceUsage = true, true
	return c.ExecuteContext(t.Context())
}
