package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumb/internal/load/files"
	"plumb/internal/load/oltp"
)

// Each line changes one thing of a sound file and says what is then told.
var mistakes = []struct{ name, from, to, want string }{
	{"unknown_key", "budget: 15m", "bugdet: 15m", `x.yaml:19:1: an experiment has no key "bugdet"; did you mean budget?`},
	{"name", "experiment: sync-binlog", "experiment: Sync Binlog", `x.yaml:1:13: the name "Sync Binlog" must consist of a-z, 0-9 and -, at most 63 characters`},
	{"no_question", "question: How", "qestion: How", `x.yaml:1:1: an experiment needs the key "question"`},
	{"empty_question", "question: How much does sync_binlog = 1 cost on ext4 and on XFS?", `question: " "`, "question is empty"},
	{"base_key", "size: 4G, filesystem", "sise: 4G, filesystem", `x.yaml:7:24: a volume has no key "sise"; did you mean size?`},
	{"path_of_an_axis", "path: volume.filesystem", "path: volume.filesytem", `x.yaml:11:30: a volume has no key "filesytem"; did you mean filesystem?`},
	{"path_part", "path: server.settings", "path: sever.settings", `x.yaml:12:31: a set-up has no key "sever"; did you mean server?`},
	{"path_through_a_value", "path: volume.filesystem", "path: volume.kind.filesystem", "x.yaml:11:30: volume.kind.filesystem leads nowhere: a part of it before the last is not a mapping"},
	{"level", "levels: [ext4, xfs]", "levels: [ext4, xfs, xsf]", `x.yaml:11:69: volume.filesystem is one of ext4, xfs, btrfs, not "xsf"; did you mean xfs?`},
	{"level_twice", "[0, 1, 1000]", "[0, 1, 1]", `a level named "1" already exists`},
	{"axis_twice", "name: sync_binlog", "name: filesystem", `an axis named "filesystem" already exists`},
	{"path_twice", "path: volume.filesystem", "path: server.settings.sync_binlog", `server.settings.sync_binlog is set by the axis "filesystem" already`},
	{"level_without_path", "path: volume.filesystem, ", "", "a bare value needs the axis to have a path"},
	{"axes_and_arms", "metric: p99", "arms: [{name: a, set: {}}]", "an experiment has axes or arms, not both"},
	{"except_axis", "except: [{filesystem", "except: [{filesytem", `there is no axis "filesytem"; did you mean filesystem?`},
	{"except_level", "xfs, sync_binlog: 1000}", "xfs, sync_binlog: 100}", `a level of sync_binlog is one of 0, 1, 1000, not "100"; did you mean 1000?`},
	{"except_baseline", "xfs, sync_binlog: 1000}", "xfs, sync_binlog: 1}", `"xfs, 0" has no counterpart: the arm with sync_binlog 1 is left out`},
	{"compare", "compare: sync_binlog", "compare: sync_binlg", `there is no axis "sync_binlg"; did you mean sync_binlog?`},
	{"compare_pairs", "compare: sync_binlog\nbaseline: 1", `compare: [["xfs, 2", "xfs, 0"], ["xfs, 0", "xfs, 0"], [a]]`, `there is no arm "xfs, 2"; did you mean xfs, 0?`},
	{"baseline", "baseline: 1", "baseline: 2", `baseline is one of 0, 1, 1000, not "2"`},
	{"blocks", "least: 3, most: 6", "least: 7, most: 6", "blocks.least is 7, more than blocks.most, 6"},
	{"blocks_range", "most: 6", "most: 0", `blocks.most is a whole number of 1 to 1000, not "0"`},
	{"duration", "time: 20s", "time: 20", `x.yaml:17:29: measure.time is a time such as 20s, 500ms or 1m30s, not "20"`},
	{"duration_range", "time: 20s", "time: 20ms", "measure.time is 20ms: 1s to 24h are possible"},
	{"percent", "until: 5%", "until: 5", `until is a percentage between 0% and 100%, written 5%, not "5"`},
	{"metric", "metric: p99", "metric: p90", `metric is one of rate, mean, p50, p95, p99, not "p90"; did you mean p95?`},
	{"check", "[no-errors,", "[no-error,", `a check is one of no-errors, rows, consistency, not "no-error"; did you mean no-errors?`},
	{"check_insert", "script: oltp_write_only", "script: oltp_insert", `consistency cannot be checked in the arm "ext4, 0": oltp_insert changes how many rows there are`},
	{"published", `arm: "ext4, 1"`, `arm: "ext4 1"`, `x.yaml:4:19: there is no arm "ext4 1"; did you mean ext4, 1?`},
	{"published_value", "value: 5263", "value: many", `value is a number of 0 to 1e+15, not "many"`},
	{"size", "size: 4G", "size: 4 gigs", `volume.size: "4 gigs" is not a size: want something like 4G, 512M or 16K`},
	{"size_small", "size: 4G", "size: 4M", "volume.size is 4M: 64M to 1024T are possible"},
	{"kind", "kind: loop", "kind: loops", `volume.kind is one of directory, loop, zpool, dataset, not "loops"; did you mean loop?`},
	{"zpool", "kind: loop, ", "kind: zpool, ", `x.yaml:11:64: volume.filesystem has no meaning for a zpool (in the arm "xfs, 0")`},
	{"directory", "kind: loop, ", "kind: directory, ", `x.yaml:7:35: volume.size has no meaning for a directory (in the arm "ext4, 0")`},
	{"dataset_parent", "kind: loop, size: 4G, filesystem: ext4", "kind: dataset", "a dataset needs volume.parent"},
	{"dataset_name", "kind: loop, size: 4G, filesystem: ext4", "kind: dataset, parent: tank@today", `volume.parent is the name of a dataset such as tank/db, not "tank@today"`},
	{"dataset_profile", "kind: loop, size: 4G, filesystem: ext4", "kind: dataset, parent: tank, profile: gp3", "it cannot be limited"},
	{"dataset_size", "kind: loop, ", "kind: dataset, parent: tank, ", "volume.size has no meaning for a dataset"},
	{"logs", "kind: loop, ", "kind: loop, log_properties: {recordsize: 128K}, ", `volume.log_properties has no meaning for a loop device`},
	{"snapshot", "kind: loop, ", "kind: loop, clone: snapshot, ", "ext4 has no snapshots: copy, or auto"},
	{"profile", "kind: loop, ", "kind: loop, profile: gp9, ", `profile "gp9": no volume is called "gp9"`},
	{"layout", "kind: loop, size: 4G, filesystem: ext4", "kind: zpool, size: 4G, vdevs: 2", "2 vdevs need a volume.layout: stripe, mirror or raidz"},
	{"engine", "engine: mariadb", "engine: maria", `server.engine is one of mariadb, mysql, percona, postgres, not "maria"`},
	{"version", "engine: mariadb", "engine: mariadb, version: new", `server.version is a number such as 17, 10.11 or 8.0.36, not "new"`},
	{"decided", "log_bin: ON", "datadir: /tmp", "x.yaml:8:92: datadir is set by the lab: the server is a private one"},
	{"creation", "log_bin: ON", "innodb-page-size: 8K", "innodb-page-size is used when the data is created: put it under server.create"},
	{"two_spellings", "log_bin: ON", "sync-binlog: 1", "sync-binlog and sync_binlog are one setting"},
	{"empty_setting", "log_bin: ON", "log_bin:", "server.settings.log_bin is a text, not nothing"},
	{"line", "log_bin: ON", `log_bin: "ON\nx=1"`, "server.settings.log_bin is one line"},
	{"setting_name", "log_bin: ON", `"log bin": ON`, `"log bin" is not the name of a setting`},
	{"script", "script: oltp_write_only", "script: oltp_writes", `select_random_ranges, not "oltp_writes"`},
	{"foreign", "tables: 4", "warehouses: 4", "load.warehouses has no meaning for an oltp load"},
	{"fillfactor", "tables: 4", "tables: 4, fillfactor: 70", "tables of mariadb have no fillfactor"},
	{"files_and_server", "{kind: oltp, script: oltp_write_only, tables: 4, rows: 50_000, threads: 8}", "{kind: fsync}", "an fsync load needs no server: leave it out"},
	{"threads", "threads: 8", "threads: 0", `load.threads is a whole number of 1 to 10000, not "0"`},
	{"sysctl", "base:", "base:\n  host: {dirty_bytes: 1}", "dirty_bytes is not a sysctl of the machine: write vm.dirty_bytes"},
	{"beside", "base:", "base:\n  beside: {kind: copy}", `beside needs the key "size"`},
	{"abba_arms", "metric: p99", "design: abba", "design abba compares exactly two arms, and there are 5"},
}

func TestParseTellsMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			text := strings.Replace(syncBinlog, m.from, m.to, 1)
			if text == syncBinlog {
				t.Fatal("nothing was changed")
			}
			_, err := Parse("x.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), m.want) {
				t.Errorf("got %v\nwant %s", err, m.want)
			}
		})
	}
}

func TestParseTellsMistakesOfSmallFiles(t *testing.T) {
	for _, m := range []struct{ name, from, to, want string }{
		{"no_base", "base:\n", "bass:\n", `x.yaml:1:1: an experiment needs the key "base"`},
		{"no_load", "load: {kind: tpcc}", "host: {}", `x.yaml:4:3: a set-up needs the key "load"`},
		{"no_server", "  server: {engine: postgres}\n", "", `a server needs the key "engine"`},
		{"arm_twice", "name: unsafe", "name: default", `x.yaml:9:5: an arm named "default" already exists`},
		{"set_a_part", "set: {server.settings.fsync: off}", "set: {server.settings: {fsync: off}}", "x.yaml:9:43: set has whole paths with one value each: server.settings.… : value"},
		{"bare_arm", "{name: default, set: {}}", "default", "an arm is written {name: …, set: {path: value}}"},
		{"compare_no_axes", "question: What?", "question: What?\ncompare: fsync", "compare names an axis, and there are none"},
		{"except_no_axes", "question: What?", "question: What?\nexcept: []", "except leaves out combinations of axes, and there are no axes"},
		{"abba_one_sets", "question: What?", "question: What?\ndesign: abba", "design abba: only one arm sets fsync; give both a value"},
		{"abba_volume", "set: {server.settings.fsync: off}}", "set: {server.memory: 1G}}\ndesign: abba", "design abba is for arms that differ only in server.settings"},
		{"turns_profile", "question: What?\nbase:\n  volume: {kind: directory}", "question: What?\ndesign: interleaved\nbase:\n  volume: {kind: loop, size: 4G, filesystem: ext4, profile: gp3}", "design interleaved: arm default: a volume with a limit cannot exist twice at once; use blocks"},
		{"turns_host", "set: {server.settings.fsync: off}}", "set: {host.vm.dirty_ratio: 5}}\ndesign: interleaved", "design interleaved: arm unsafe: settings of the host are the same for all servers; use blocks"},
		{"baseline", "question: What?", "question: What?\nbaseline: defaults", `there is no arm "defaults"; did you mean default?`},
		{"used_logs", "engine: postgres}", "engine: postgres, used_logs: true}", "server.used_logs is for InnoDB's redo log: PostgreSQL fills its WAL with zeros when it creates it"},
		{"rows_of_tpcc", "question: What?", "question: What?\nchecks: [rows]", "orders are added; consistency tests TPC-C's conditions"},
	} {
		t.Run(m.name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(strings.Replace(small, m.from, m.to, 1)))
			if err == nil || !strings.Contains(err.Error(), m.want) {
				t.Errorf("got %v\nwant %s", err, m.want)
			}
		})
	}
}

// A mistake of the base is one mistake, however many arms share it, and a file
// that is all wrong does not fill the screen.
func TestParseTellsAMistakeOnceAndTwentyAtMost(t *testing.T) {
	_, err := Parse("x.yaml", []byte(strings.Replace(syncBinlog, "kind: loop", "kind: lop", 1)))
	if err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("got %v", err)
	}
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	_, err = Parse("x.yaml", []byte(syncBinlog+b.String()))
	if err == nil || strings.Count(err.Error(), "\n") != mostErrors-1 || !strings.HasSuffix(err.Error(), "(and 30 more mistakes)") {
		t.Errorf("got %v", err)
	}
}

// Nobody writes such files; a program may.
func TestParseIsBounded(t *testing.T) {
	many := func(item string) string { return "[" + strings.Repeat(item+", ", 8000) + "z]" }
	for name, text := range map[string]string{
		"length": "#" + strings.Repeat("x", mostText), "levels": "axes: [{name: a, path: b, levels: " + many("1") + "}]", "arms": "arms: " + many("{}"),
		"compare": small + "compare: " + many("1"), "checks": small + "checks: " + many("1"), "except": "axes: []\nexcept: " + many("{}"), "published": small + "published: " + many("{}"),
	} {
		_, err := Parse("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func TestWordsAreThoseOfTheLoads(t *testing.T) {
	for _, s := range scripts() {
		if !slices.Contains(oltp.Scripts(), s) {
			t.Errorf("there is no script %s", s)
		}
	}
	if len(oltp.Scripts()) != len(scripts())+1 {
		t.Errorf("oltp has %v", oltp.Scripts())
	}
	if !slices.Equal(slices.Sorted(slices.Values(files.Modes())), slices.Sorted(slices.Values(modes(FileIO)))) {
		t.Errorf("fileio has %v", files.Modes())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(syncBinlog)
	f.Add(small)
	for _, m := range mistakes {
		f.Add(strings.Replace(syncBinlog, m.from, m.to, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := Parse("x.yaml", []byte(text))
		if err != nil {
			return
		}
		if len(x.Arms) == 0 || x.Hash == "" || x.Least < 1 || x.Most < x.Least || len(Order(x, 1)) != len(x.Arms) || len(Layouts(x)) == 0 {
			t.Errorf("%+v", x)
		}
		again, err := Parse("x.yaml", []byte(text))
		if err != nil || again.Hash != x.Hash {
			t.Errorf("read again it is %s and was %s: %v", again.Hash, x.Hash, err)
		}
	})
}
