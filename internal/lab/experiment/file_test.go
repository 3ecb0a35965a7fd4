package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const syncBinlog = `experiment: sync-binlog
question: How much does sync_binlog = 1 cost on ext4 and on XFS?
source: seed:binlog-02
published: [{arm: "ext4, 1", value: 5263, unit: tps, note: "28 cores"}]
notes: why ours differ
base:
  volume: {kind: loop, size: 4G, filesystem: ext4}
  server: {engine: mariadb, memory: 1G, settings: {innodb_buffer_pool_size: 256M, log_bin: ON, random_factor: 0.90, x: off}}
  load: {kind: oltp, script: oltp_write_only, tables: 4, rows: 50_000, threads: 8}
axes:
  - {name: filesystem, path: volume.filesystem, levels: [ext4, xfs]}
  - {name: sync_binlog, path: server.settings.sync_binlog, levels: [0, 1, 1000]}
except: [{filesystem: xfs, sync_binlog: 1000}]
compare: sync_binlog
baseline: 1
blocks: {least: 3, most: 6}
measure: {warmup: 5s, time: 20s, unsteady: true}
until: 5%
budget: 15m
metric: p99
margin: ± 3 %
checks: [no-errors, consistency]
seed: 1
`

func parsed(t *testing.T, text string) Experiment {
	t.Helper()
	x, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestParseSpellsArmsOut(t *testing.T) {
	x := parsed(t, syncBinlog)
	var names []string
	for _, a := range x.Arms {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"ext4, 0", "ext4, 1", "ext4, 1000", "xfs, 0", "xfs, 1"}, names); diff != "" {
		t.Error(diff)
	}
	want := []Pair{{"ext4, 0", "ext4, 1"}, {"ext4, 1000", "ext4, 1"}, {"xfs, 0", "xfs, 1"}}
	if diff := cmp.Diff(want, x.Pairs); diff != "" {
		t.Error(diff)
	}
	last := x.Arms[4]
	settings := map[string]string{"innodb_buffer_pool_size": "256M", "log_bin": "ON", "random_factor": "0.90", "x": "off", "sync_binlog": "1"}
	if diff := cmp.Diff(settings, last.Setup.Server.Settings); diff != "" {
		t.Error(diff)
	}
	if last.Setup.Volume.Filesystem != "xfs" || last.Setup.Volume.Size != 4<<30 || last.Setup.Load.Rows != 50000 || last.Levels["filesystem"] != "xfs" {
		t.Errorf("%+v", last)
	}
	if x.Until != 0.05 || x.Margin != 0.03 || x.Measure.String() != "20s" || x.Budget.String() != "15m0s" || !x.Unsteady || x.Least != 3 || x.Most != 6 || x.Seed != 1 {
		t.Errorf("%+v", x)
	}
}

const small = `experiment: small
question: What?
base:
  volume: {kind: directory}
  server: {engine: postgres}
  load: {kind: tpcc}
arms:
  - {name: default, set: {}}
  - {name: unsafe, set: {server.settings.fsync: off}}
`

func TestParseFillsDefaults(t *testing.T) {
	x := parsed(t, small)
	if x.Design != Blocks || x.Least != 3 || x.Most != 8 || x.Warmup.String() != "5s" || x.Measure.String() != "20s" || x.Metric != "rate" || x.Margin != 0.05 || x.Until != 0 {
		t.Errorf("%+v", x)
	}
	if x.Seed != 3625583231146380 {
		t.Errorf("seed of a name: %d", x.Seed)
	}
	if diff := cmp.Diff([]Pair{{"unsafe", "default"}}, x.Pairs); diff != "" {
		t.Error(diff)
	}
}

func TestParseUntilDecided(t *testing.T) {
	if x := parsed(t, small+"until: decided\n"); !x.Decided || x.Until != 0 {
		t.Errorf("%+v", x)
	}
}

func TestParseTakesOneSetupAlone(t *testing.T) {
	x := parsed(t, strings.Split(small, "arms:")[0])
	if len(x.Arms) != 1 || x.Arms[0].Name != "base" || len(x.Pairs) != 0 {
		t.Errorf("%+v", x)
	}
}

// What is said of an experiment does not decide its trials, and how long it
// goes on neither; everything else does.
func TestHashIsOfWhatDecidesTheTrials(t *testing.T) {
	was := parsed(t, syncBinlog).Hash
	for _, same := range [][2]string{
		{"How much does", "# a comment\n  How expensive is"}, {"value: 5263", "value: 1"}, {"why ours differ", "because"}, {"most: 6", "most: 60"},
		{"least: 3", "least: 1"}, {"until: 5%", "until: 1%"}, {"until: 5%", "until: decided"}, {"budget: 15m", "budget: 3h"}, {"margin: ± 3 %", "margin: 1%"}, {"baseline: 1\n", ""},
		{"rows: 50_000", "rows: 50000"}, {"size: 4G", "size: 4096M"}, {"[no-errors, consistency]", "[consistency, no-errors]"},
	} {
		if got := parsed(t, strings.Replace(syncBinlog, same[0], same[1], 1)).Hash; got != was {
			t.Errorf("%q for %q changes the hash", same[1], same[0])
		}
	}
	for _, other := range [][2]string{
		{"experiment: sync-binlog", "experiment: other"}, {"size: 4G", "size: 5G"}, {"seed: 1", "seed: 2"}, {"log_bin: ON", "log_bin: OFF"}, {"time: 20s", "time: 30s"},
		{"metric: p99", "metric: rate"}, {"[ext4, xfs]", "[ext4, btrfs, xfs]"}, {", unsteady: true", ""}, {"except:", "#except:"}, {"checks:", "#checks:"},
	} {
		if got := parsed(t, strings.Replace(syncBinlog, other[0], other[1], 1)).Hash; got == was {
			t.Errorf("%q for %q leaves the hash", other[1], other[0])
		}
	}
}
