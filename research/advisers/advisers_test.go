package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"plumb/internal/catalog"
	"plumb/internal/engine/private"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
	"plumb/research/trials"
)

const files = "../../experiments/advisers"

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test for every cell, with its experiment as it is on disk.
func each(t *testing.T, f func(t *testing.T, c cell, x experiment.Experiment)) {
	t.Helper()
	for _, c := range cells() {
		t.Run(c.name(), func(t *testing.T) {
			x, err := contest{Contest: trials.Contest{Experiments: files}}.experiment(c)
			ok(t, err)
			f(t, c, x)
		})
	}
}

// TestFilesAreAsWritten: go run -C research ./advisers -write has been run.
func TestFilesAreAsWritten(t *testing.T) {
	ours, err := readPlumb()
	ok(t, err)
	want := map[string]bool{}
	for _, c := range cells() {
		want[c.name()+".yaml"] = true
		got, err := os.ReadFile(contest{Contest: trials.Contest{Experiments: files}}.file(c))
		ok(t, err)
		if diff := cmp.Diff(string(text(c, ours)), string(got)); diff != "" {
			t.Errorf("%s is not what is written now: go run -C research ./advisers -write\n%s", c.name(), diff)
		}
	}
	there, err := filepath.Glob(files + "/*.yaml")
	ok(t, err)
	for _, file := range there {
		if !want[filepath.Base(file)] {
			t.Errorf("%s belongs to no cell", file)
		}
	}
}

func TestExperimentsAreSound(t *testing.T) {
	schema := compiled(t)
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		takes := experiment.Estimate(x)
		t.Logf("%d arms, %s to %s", len(x.Arms), takes.Least.Round(time.Minute), takes.Most.Round(time.Minute))
		if x.Name != c.name() || takes.Short {
			t.Errorf("%s: a budget of %s, and it takes %+v", x.Name, x.Budget, takes)
		}
		if len(experiment.Layouts(x)) != 1 {
			t.Error("the arms do not begin from the same data")
		}
		ok(t, fits(schema, x.Text))
	})
}

// TestData: they are what the contest says, within a tenth, by what was measured.
func TestData(t *testing.T) {
	for _, e := range engines() {
		for what, got := range map[string]int64{"rw": tables * rows * e.rowBytes, "tpcc": int64(e.warehouses) * e.houseBytes} {
			if got < data*9/10 || got > data*11/10 {
				t.Errorf("%s-%s: %d MiB", e.name, what, got>>20)
			}
		}
	}
}

// TestPairs: plumb against every other arm, but never one that a crash may harm.
func TestPairs(t *testing.T) {
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		var want []string
		for _, a := range x.Arms {
			if !slices.Contains(namesOf(a.Name), byPlumb) && !strings.HasPrefix(a.Name, unsafe) {
				want = append(want, a.Name)
			}
		}
		var got []string
		for _, p := range x.Pairs {
			if !slices.Contains(namesOf(p.Arm), byPlumb) {
				t.Errorf("%s is compared", p.Arm)
			}
			got = append(got, p.Baseline)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestArmsAreCrashSafe asks the catalogue of every setting.
func TestArmsAreCrashSafe(t *testing.T) {
	cat := hosttest.Catalog(t)
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		knobs := cat.Knobs(map[string]string{"mariadb": "mysql", "postgres": "postgres"}[c.engine.name])
		for _, a := range x.Arms {
			var risks []string
			for name, value := range a.Setup.Server.Settings {
				if f := knobs[name]; f != nil && f.Durability(stack.Text(value)) != catalog.Safe {
					risks = append(risks, name+" = "+value)
				}
			}
			if marked := strings.HasPrefix(a.Name, unsafe); marked != (len(risks) > 0) {
				t.Errorf("%s: %v", a.Name, risks)
			}
		}
	})
}

// TestServersTakeTheSettings asks the engines whether they would write them.
func TestServersTakeTheSettings(t *testing.T) {
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		e := private.MySQL()
		if c.engine.flavour == "" {
			e = private.PostgreSQL()
		}
		for _, a := range x.Arms {
			if _, err := e.Files(lab.Program{}, *a.Setup.Server, "/box/data", "/box/run"); err != nil {
				t.Errorf("%s: %v", a.Name, err)
			}
		}
	})
}

// TestHostArms: only the files that say so change the machine.
func TestHostArms(t *testing.T) {
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		n := 0
		for _, a := range x.Arms {
			if len(a.Setup.Host) > 0 {
				n++
			}
		}
		if says := bytes.Contains(x.Text, []byte("--allow-host")); says != (n > 0) || n > 0 != c.volume.host {
			t.Errorf("%d arms change the machine", n)
		}
	})
}

func TestAdvisersThatSayTheSameShareAnArm(t *testing.T) {
	c := cell{engines()[0], "rw", volumes()[2]}
	ours := advised{"mariadb": {"innodb_buffer_pool_size": "512M", "innodb_log_file_size": "1G"}}
	all, _ := arms(c, ours)
	var names []string
	for _, a := range all {
		names = append(names, a.name())
	}
	if diff := cmp.Diff([]string{"default", "plumb = innodb_dedicated_server", "MySQLTuner", "by hand"}, names); diff != "" {
		t.Error(diff)
	}
	all, _ = arms(c, advised{})
	if got := all[0].name(); got != "default = plumb" {
		t.Errorf("without advice plumb is %s", got)
	}
	if got := len(pairs(all)); got != 3 {
		t.Errorf("%d pairs", got)
	}
	_, err := experiment.Parse("x", text(c, advised{}))
	ok(t, err)
}

func TestMostParticularAdviceCounts(t *testing.T) {
	a := advised{"mariadb": {"a": "1"}, "mariadb-tpcc": {"a": "2"}, "mariadb-tpcc-gp3": {"a": "3"}}
	for name, want := range map[string]string{"mariadb-rw-gp3": "1", "mariadb-tpcc-p15": "2", "mariadb-tpcc-gp3": "3", "postgres-rw-gp3": ""} {
		for _, c := range cells() {
			if c.name() == name && a.of(c)["a"] != want {
				t.Errorf("%s: %q", name, a.of(c)["a"])
			}
		}
	}
}

// TestThreeBlocksFit: a cell is worth nothing with fewer.
func TestThreeBlocksFit(t *testing.T) {
	each(t, func(t *testing.T, c cell, x experiment.Experiment) {
		if took := time.Duration(x.Least*len(x.Arms)) * (x.Fill + x.Warmup + x.Measure + beside); took > x.Budget {
			t.Errorf("%d arms and %d blocks take %s", len(x.Arms), x.Least, took)
		}
	})
}

func TestOnly(t *testing.T) {
	for pattern, want := range map[string]int{"": 16, "mariadb-*": 8, "*-rw-gp3": 2, "postgres-tpcc-native": 1} {
		got, err := contest{Contest: trials.Contest{Only: pattern}}.chosen()
		ok(t, err)
		if len(got) != want {
			t.Errorf("%q: %d cells", pattern, len(got))
		}
	}
	for _, pattern := range []string{"oracle", "["} {
		if _, err := (contest{Contest: trials.Contest{Only: pattern}}).chosen(); err == nil {
			t.Errorf("%q fits", pattern)
		}
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(experiment.Schema()))
	ok(t, err)
	c := jsonschema.NewCompiler()
	ok(t, c.AddResource("experiment", doc))
	s, err := c.Compile("experiment")
	ok(t, err)
	return s
}

// fits validates a file as an editor does.
func fits(s *jsonschema.Schema, text []byte) error {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return err
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}
