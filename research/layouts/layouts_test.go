package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/catalog"
	"plumb/internal/engine/private"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/stack"
	"plumb/internal/stats"
	"plumb/research/trials"
	"plumb/test/program"
)

const (
	files = "../../experiments/layouts"
	tapes = "../../fixtures"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test for every cell, with its experiment as it is on disk.
func each(t *testing.T, f func(t *testing.T, c cell, x experiment.Experiment)) {
	t.Helper()
	for _, c := range append(cells(whole), cells(short)...) {
		t.Run(c.name(), func(t *testing.T) {
			x, err := trials.Read(contest{Contest: trials.Contest{Experiments: files}}.file(c))
			ok(t, err)
			f(t, c, x)
		})
	}
}

// TestFilesAreAsWritten: the arm of provision is what its rules say today, and go run -C research ./layouts -write has been run.
func TestFilesAreAsWritten(t *testing.T) {
	asked, err := newAsking(tapes)
	ok(t, err)
	want := map[string]bool{}
	for _, c := range append(cells(whole), cells(short)...) {
		ours, err := asked.made(t.Context(), c)
		ok(t, err)
		text, err := text(c, ours)
		ok(t, err)
		want[c.name()+".yaml"] = true
		got, err := os.ReadFile(contest{Contest: trials.Contest{Experiments: files}}.file(c))
		ok(t, err)
		if diff := cmp.Diff(string(text), string(got)); diff != "" {
			t.Errorf("%s is not what is written now: go run -C research ./layouts -write\n%s", c.name(), diff)
		}
	}
	there, err := filepath.Glob(files + "/*.yaml")
	ok(t, err)
	for _, file := range there {
		if !want[filepath.Base(file)] {
			t.Errorf("%s is no cell", file)
		}
	}
}

// TestArms: the crash-safe arms are the contest, and only those that say so may cost data.
func TestArms(t *testing.T) {
	cat := hosttest.Catalog(t)
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		var safe []string
		for _, a := range x.Arms {
			var risks []string
			knobs := cat.Knobs(experiment.KindOf(c.engine.name))
			for name, value := range a.Setup.Server.Settings {
				if f := knobs[name]; f != nil && f.Durability(stack.Text(value)) != catalog.Safe {
					risks = append(risks, name+" = "+value)
				}
			}
			if a.Setup.Volume.Properties["redundant_metadata"] != "" {
				risks = append(risks, "redundant_metadata")
			}
			if marked := strings.HasPrefix(a.Name, unsafe); marked != (len(risks) > 0) {
				t.Errorf("%s: %v", a.Name, risks)
			} else if !marked {
				safe = append(safe, a.Name)
			}
		}
		want := []string{byDefault, "documents A and E", "document D", "OpenZFS's page", byProvision, onExt4}
		if diff := cmp.Diff(want, safe); diff != "" {
			t.Error(diff)
		}
		for _, p := range x.Pairs {
			if p.Arm != byProvision || !slices.Contains(safe, p.Baseline) {
				t.Errorf("%v is compared", p)
			}
		}
		if len(x.Pairs) != len(safe)-1 {
			t.Errorf("%d comparisons of %d arms", len(x.Pairs), len(safe))
		}
	})
}

// TestServersTakeTheSettings asks the engines whether they would write them.
func TestServersTakeTheSettings(t *testing.T) {
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		e := map[string]lab.Engine{"mariadb": private.MySQL(), "postgres": private.PostgreSQL()}[c.engine.name]
		for _, a := range x.Arms {
			if _, err := e.Files(lab.Program{}, *a.Setup.Server, "/box/data", "/box/run"); err != nil {
				t.Errorf("%s: %v", a.Name, err)
			}
		}
	})
}

// TestVolumesHoldTheData: the lab refuses a volume that has no room for the data, a copy of them, and what a trial adds.
func TestVolumesHoldTheData(t *testing.T) {
	each(t, func(t *testing.T, _ cell, x experiment.Experiment) {
		for _, a := range x.Arms {
			if need := experiment.Bytes(experiment.DataBytes(a.Setup) * 5 / 2); a.Setup.Volume.Size < need {
				t.Errorf("%s: a volume of %s, and the lab asks for %s", a.Name, a.Setup.Volume.Size, need)
			}
		}
	})
}

// TestMemoryIsAlike: server, its page cache and the ARC have the same memory in every arm, and the same settings of it.
func TestMemoryIsAlike(t *testing.T) {
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		for _, a := range x.Arms {
			memory, arc := a.Setup.Server.Memory, a.Setup.Volume.ARC
			if pool := a.Setup.Volume.Kind == experiment.Zpool; memory != c.size().memory || pool && arc != c.size().arc {
				t.Errorf("%s has %s, of which the ARC has %s", a.Name, memory, arc)
			}
			for name, value := range c.engine.base(c.cache()) {
				if got := a.Setup.Server.Settings[name]; got != value {
					t.Errorf("%s: %s is %s", a.Name, name, got)
				}
			}
		}
	})
}

// TestThreeBlocksFit: a cell is worth nothing with fewer. A trial copies its data, measures the limit, starts and stops a
// server; one layout is loaded, and its data are copied to the others.
func TestThreeBlocksFit(t *testing.T) {
	const beside, loading, copying = 50 * time.Second, 4 * time.Minute, time.Minute
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		took := time.Duration(x.Least*len(x.Arms))*(x.Fill+x.Warmup+x.Measure+beside) + loading + time.Duration(len(experiment.Layouts(x))-1)*copying
		if took > x.Budget || x.Least < 3 {
			t.Errorf("%d arms and %d blocks take %s of %s", len(x.Arms), x.Least, took, x.Budget)
		}
	})
}

// TestLogGoesBackToZFSsOwnValues: in the lab its dataset inherits what the data have, and on a host it does not.
func TestLogGoesBackToZFSsOwnValues(t *testing.T) {
	c := cell{engines()[0], "rw", implementations()[1], whole}
	v := c.pool(layout{Above: map[string]string{"atime": "off"}, Data: map[string]string{"recordsize": "16K", "logbias": "throughput", "primarycache": "metadata"},
		Log: map[string]string{"primarycache": "metadata"}})
	want := map[string]string{"atime": "off", "recordsize": "128K", "logbias": "latency", "primarycache": "metadata"}
	if diff := cmp.Diff(want, v.Logs); diff != "" {
		t.Error(diff)
	}
	if v := c.pool(layout{Data: map[string]string{"recordsize": "16K"}}); v.Logs != nil {
		t.Errorf("%v", v.Logs)
	}
}

func TestSmallLeavesTheOthersAlone(t *testing.T) {
	c := contest{Contest: trials.Contest{Job: trials.Job{Run: true}, Lab: trials.Lab{Ledger: filepath.Join(t.TempDir(), "ledger")}, Experiments: files}, tapes: tapes, form: small}.settled()
	ok(t, c.write(t.Context()))
	if c.Only != "*-fuse*" || strings.HasPrefix(c.Experiments, files) {
		t.Errorf("%+v", c)
	}
	chosen, err := c.chosen()
	ok(t, err)
	for _, cell := range chosen {
		x, err := trials.Read(c.file(cell))
		ok(t, err)
		if x.Least != 1 || !strings.HasSuffix(x.Name, "-small") {
			t.Errorf("%s has %d blocks", x.Name, x.Least)
		}
	}
	if len(chosen) != 4 {
		t.Errorf("%d cells", len(chosen))
	}
}

// tried is a contest with a ledger in which each arm does as much as is said.
func tried(t *testing.T, f form, blocks int, does func(arm string) float64) contest {
	t.Helper()
	c := contest{Contest: trials.Contest{Experiments: files, Lab: trials.Lab{Ledger: filepath.Join(t.TempDir(), "ledger")}, Only: "mariadb-*-fuse*"}, form: f}
	chosen, err := c.chosen()
	ok(t, err)
	x, err := trials.Read(c.file(chosen[0]))
	ok(t, err)
	store, err := ledger.Open(t.Context(), c.Ledger)
	ok(t, err)
	defer store.Close()
	ok(t, store.Define(t.Context(), x, "test"))
	began := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for block := 1; block <= blocks; block++ {
		for i, trial := range experiment.Order(x, block) {
			rate := does(trial.Arm) * (1 + 0.01*float64((block+i)%3-1))
			r := experiment.Record{Trial: trial, Experiment: x.Hash, ID: fmt.Sprintf("%s-%d-%d", x.Name, block, i), Attempt: 1,
				Began: began, Ended: began.Add(time.Minute), Rate: stats.Estimate{Value: rate, Low: rate, High: rate, N: 10}, Metric: rate,
				Costs: []experiment.Cost{{Layer: "device", Name: "requests", Unit: "1/op", Value: 180 / does(trial.Arm)},
					{Layer: "device", Name: "written", Unit: "B/op", Value: 40 << 10}, {Layer: "device", Name: "read", Unit: "B/op", Value: 10},
					{Layer: "space", Name: "used", Unit: "B", Value: 1 << 30}, {Layer: "machine", Name: "processors busy", Unit: "ratio", Value: 0.3}}}
			ok(t, store.Begin(t.Context(), r))
			ok(t, store.Finish(t.Context(), r))
			began = began.Add(time.Minute)
		}
	}
	return c
}

func (c contest) says(t *testing.T, expressions ...string) {
	t.Helper()
	text, err := c.table(t.Context())
	ok(t, err)
	program.Reads(t, text, expressions...)
}

func TestTable(t *testing.T) {
	tried(t, whole, 3, func(arm string) float64 {
		return map[string]float64{byDefault: 50, byProvision: 100, onExt4: 110, "document D": 130}[arm] + map[bool]float64{true: 40}[arm == "OpenZFS's page" || arm == "documents A and E" || strings.HasPrefix(arm, unsafe)]
	}).says(t, `^\*\*mariadb-rw-fuse\*\*$`, `^\| plumb provision \| \d+ \(\d.*\) \| (2|1\.9\d|2\.0\d) \(.*\) \| 0\.\d+ \(.*\) \| 40K(i?B)? \| 1G(i?B)? \| 9\d %|`,
		`^\*\*mariadb-tpcc-fuse\*\*: not run\.`, `^1 of 2 cells were run\.`, `A sure loss of provision to another layout on ZFS: mariadb-rw-fuse to document D\.`,
		`Less than 0\.85 of ext4: none\.`, `At least 1\.5 times ZFS's defaults: 1 of 1 \(mariadb-rw-fuse\)\.`, `leaves the disk more than a fifth of its time: none\.`)
}

func TestTableOfALossToExt4(t *testing.T) {
	tried(t, whole, 3, func(arm string) float64 { return map[bool]float64{true: 200, false: 100}[arm == onExt4] }).
		says(t, `Less than 0\.85 of ext4: mariadb-rw-fuse 0\.[45]`, `A sure loss of provision to another layout on ZFS: none\.`, `At least 1\.5 times ZFS's defaults: 0 of 1 \(none\)\.`)
}

func TestKeep(t *testing.T) {
	c := tried(t, whole, 3, func(arm string) float64 { return 100 + float64(len(arm)) })
	want, err := c.table(t.Context())
	ok(t, err)
	dir := t.TempDir()
	for _, cell := range cells(whole) {
		text, err := os.ReadFile(c.file(cell))
		ok(t, err)
		ok(t, os.WriteFile(filepath.Join(dir, cell.name()+".yaml"), text, 0o644))
	}
	c.Experiments = dir
	ok(t, c.each(t.Context(), c.keep))
	c.Ledger, c.IsKept = "", true
	got, err := c.table(t.Context())
	ok(t, err)
	if got != want {
		t.Errorf("the ledger's:\n%s\nof what is kept:\n%s", want, got)
	}
}

// TestPublishedTable: the contest's page shows what is kept, whole and in short, and nothing else. Where its lines are
// broken does not count.
func TestPublishedTable(t *testing.T) {
	page, err := os.ReadFile(files + "/README.md")
	ok(t, err)
	for _, f := range []form{whole, short} {
		table, err := contest{Contest: trials.Contest{Experiments: files, IsKept: true}, form: f}.table(t.Context())
		ok(t, err)
		if !strings.Contains(words(string(page)), words(table)) {
			t.Errorf("%s/README.md has other tables than go run -C research ./layouts -table -kept %s:\n%s", files, f, table)
		}
	}
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestShortSaysSo: its table says how much less was measured, and it is kept as the whole one is.
func TestShortSaysSo(t *testing.T) {
	c := tried(t, short, 3, func(arm string) float64 { return 100 + float64(len(arm)) })
	c.says(t, `^\*\*mariadb-rw-fuse-short\*\*, in short: blocks of 25s in place of 1m$`, `^1 of 2 cells were run\.`)
	if text, err := c.table(t.Context()); err != nil || strings.Contains(text, unsafe) {
		t.Errorf("%v: what is not crash-safe is in it:\n%s", err, text)
	}
}

func TestJobs(t *testing.T) {
	for name, c := range map[string]struct {
		contest contest
		want    string
	}{
		"nothing":       {want: `^nothing to do`},
		"run of kept":   {contest{Contest: trials.Contest{IsKept: true, Job: trials.Job{Run: true}}}, `^-kept is for -table alone`},
		"small is kept": {contest{Contest: trials.Contest{Job: trials.Job{Keep: true}}, form: small}, `^-small is not kept`},
		"no such cell":  {contest{Contest: trials.Contest{Only: "oracle", Job: trials.Job{Table: true}}}, `fits no cell`},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.contest.do(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			program.Reads(t, err.Error(), c.want)
		})
	}
}
