package rehearse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

const stageText = `experiment: rehearse-mysql-3306-all
question: What does all advice bring?
notes: "rules: mysql/buffer-pool-default"
base:
  volume: {kind: directory}
  server:
    engine: mariadb
    memory: 1G
    settings: {innodb_buffer_pool_size: 128M, sync_binlog: "1"}
  load: {kind: oltp, script: oltp_read_write, tables: 4, rows: 50000, threads: 8}
arms:
  - {name: as is, set: {}}
  - name: all advice
    set:
      server.settings.innodb_buffer_pool_size: 512M
      server.settings.innodb_flush_neighbors: "0"
compare: [[all advice, as is]]
blocks: {least: 3, most: 8}
measure: {warmup: 5s, time: 15s}
until: 5%
budget: 9m
margin: 5%
seed: 7
`

// searchable makes a proposal of an experiment file.
func searchable(t *testing.T, engine, text string) Proposal {
	t.Helper()
	x, err := experiment.Parse("all", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Proposal{Engine: engine, Scale: 1, Stages: []Stage{{Name: "all", Experiment: x, Text: []byte(text)}}}
}

func newSearch(t *testing.T, p Proposal, r report.Report, trials int) *Search {
	t.Helper()
	s, err := p.NewSearch([]report.Report{r}, hosttest.Catalog(t), trials)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNoValueIsLessDurable goes over every value that a search can try.
func TestNoValueIsLessDurable(t *testing.T) {
	cat := hosttest.Catalog(t)
	for _, engine := range []string{"mariadb", "mysql", "percona", "postgres"} {
		for _, kind := range []string{experiment.Directory, experiment.Zpool, experiment.Dataset} {
			arm := experiment.Arm{Name: AsIs, Setup: experiment.Setup{Volume: experiment.Volume{Kind: kind}, Server: &experiment.Server{Engine: engine, Memory: 64 << 30}}}
			dials, _ := dialsOf(engine, time.Hour, arm, report.Report{}, cat)
			if len(dials) < 4 {
				t.Errorf("%s on a %s has only %d settings to search", engine, kind, len(dials))
			}
			for _, d := range dials {
				f := cat.Fact(d.Kind, d.Name)
				if f == nil || f.Knob == nil {
					t.Errorf("%s: %s is no setting of the catalogue", engine, d.Name)
					continue
				}
				for _, v := range d.Values(200) {
					if class := f.Durability(d.Value(v)); class != catalog.Safe {
						t.Errorf("%s: %s = %s is %s", engine, d.Name, d.Text(v), class)
					}
					if again, ok := d.Read(d.Text(v)); !ok || again != v {
						t.Errorf("%s: %s = %g is written %s and read as %g", engine, d.Name, v, d.Text(v), again)
					}
					if f.Knob.Min != nil && v < *f.Knob.Min || f.Knob.Max != nil && v > *f.Knob.Max {
						t.Errorf("%s: %s = %s is beyond what the catalogue knows", engine, d.Name, d.Text(v))
					}
				}
			}
		}
	}
}

func names(dials []Tunable) (all []string) {
	for _, d := range dials {
		all = append(all, d.Name)
	}
	return all
}

func TestDialsFollowTheServer(t *testing.T) {
	said := func(program string, settings ...string) report.Report {
		rec := experiment.Record{Trial: experiment.Trial{Arm: AllAdvice}, Program: program, Effective: map[string]string{}}
		for _, s := range settings {
			rec.Effective[s] = "1000"
		}
		return report.Report{Records: []experiment.Record{rec}}
	}
	const common = "innodb_buffer_pool_size innodb_io_capacity innodb_max_dirty_pages_pct "
	postgres := strings.ReplaceAll(strings.ReplaceAll(stageText, "engine: mariadb", "engine: postgres"), "innodb_buffer_pool_size", "shared_buffers")
	postgres = strings.ReplaceAll(strings.ReplaceAll(postgres, "innodb_flush_neighbors", "bgwriter_lru_multiplier"), "sync_binlog", "full_page_writes")
	for name, c := range map[string]struct {
		engine, text string
		report       report.Report
		want         []string
	}{
		"MariaDB": {"mariadb", stageText, said("MariaDB 10.11.14", strings.Fields(common+"innodb_log_file_size")...),
			[]string{"innodb_buffer_pool_size", "innodb_log_file_size", "innodb_io_capacity", "innodb_max_dirty_pages_pct"}},
		"MySQL 8.4": {"mysql", strings.ReplaceAll(stageText, "mariadb", "mysql"), said("MySQL 8.4.2", strings.Fields(common+"innodb_log_file_size innodb_redo_log_capacity")...),
			[]string{"innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_io_capacity", "innodb_max_dirty_pages_pct"}},
		"MySQL 8.0.20, silent": {"mysql", strings.ReplaceAll(stageText, "mariadb", "mysql"), said("MySQL 8.0.20"),
			[]string{"innodb_buffer_pool_size", "innodb_log_file_size", "innodb_io_capacity", "innodb_max_dirty_pages_pct"}},
		"without a limit of memory": {"mariadb", strings.ReplaceAll(stageText, "    memory: 1G\n", ""), report.Report{},
			[]string{"innodb_log_file_size", "innodb_io_capacity", "innodb_max_dirty_pages_pct"}},
		"PostgreSQL": {"postgres", postgres, report.Report{}, []string{"shared_buffers", "max_wal_size", "wal_compression", "checkpoint_completion_target",
			"effective_io_concurrency", "wal_buffers", "bgwriter_lru_maxpages", "bgwriter_delay"}},
		"on ZFS": {"mariadb", strings.ReplaceAll(stageText, "{kind: directory}", "{kind: zpool, size: 4G}"), report.Report{},
			[]string{"innodb_buffer_pool_size", "innodb_log_file_size", "innodb_io_capacity", "innodb_max_dirty_pages_pct", "recordsize"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSearch(t, searchable(t, c.engine, c.text), c.report, 60)
			if diff := cmp.Diff(c.want, names(s.Dials)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFewTrialsSearchFewSettings(t *testing.T) {
	s := newSearch(t, searchable(t, "mariadb", stageText), report.Report{}, 10)
	if len(s.Dials) != 2 || len(s.Left) != 2 || !strings.Contains(s.Left[0], "too few") {
		t.Errorf("10 trials search %v, and say %v", names(s.Dials), s.Left)
	}
}

func TestRoundIsAnExperiment(t *testing.T) {
	s := newSearch(t, searchable(t, "mariadb", stageText), report.Report{}, 40)
	stage, err := s.Next(5)
	if err != nil {
		t.Fatal(err)
	}
	x := stage.Experiment
	if x.Name != "rehearse-mysql-3306-search-1" || x.Least != 1 || x.Most != 1 || x.Budget != 0 || x.Until != 0 || x.Notes != "" || x.Seed != 7 || x.Measure != 8*time.Second || x.Warmup != 4*time.Second {
		t.Errorf("the round is %+v", x)
	}
	if len(x.Arms) != 6 || x.Arms[0].Name != AsIs || len(x.Pairs) != 5 || x.Pairs[0].Baseline != AsIs {
		t.Fatalf("arms %v, pairs %v", x.Arms, x.Pairs)
	}
	first := x.Arms[1].Setup.Server.Settings
	want := map[string]string{"innodb_buffer_pool_size": "512M", "innodb_flush_neighbors": "0", "sync_binlog": "1"}
	for name, value := range want {
		if first[name] != value {
			t.Errorf("the first point has %s = %q, want %q: it is the advice", name, first[name], value)
		}
	}
	if n, _ := experiment.ParseBytes(first["innodb_io_capacity"]); first["innodb_io_capacity_max"] != fmt.Sprint(2*int64(n)) {
		t.Errorf("innodb_io_capacity %s has the most %s", first["innodb_io_capacity"], first["innodb_io_capacity_max"])
	}
	if got := x.Arms[0].Setup.Server.Settings["innodb_buffer_pool_size"]; got != "128M" {
		t.Errorf("as is has a pool of %s", got)
	}
}

// measured carries an experiment out on a made-up server, whose rate is best
// with a pool of 400M and more redo.
func measured(t *testing.T, x experiment.Experiment, refuses int64) report.Report {
	t.Helper()
	var all []experiment.Record
	for i, trial := range experiment.All(x) {
		at := slices.IndexFunc(x.Arms, func(a experiment.Arm) bool { return a.Name == trial.Arm })
		settings := x.Arms[at].Setup.Server.Settings
		pool, _ := experiment.ParseBytes(settings["innodb_buffer_pool_size"])
		redo, _ := experiment.ParseBytes(settings["innodb_log_file_size"])
		away := math.Log2(float64(pool) / (400 << 20))
		rate := 1000 * math.Exp(-0.2*away*away+0.1*math.Log2(float64(max(redo, 96<<20))/(96<<20))) * (1 + 0.01*math.Sin(float64(i*7)))
		rec := experiment.Record{Trial: trial, Experiment: x.Hash, Attempt: 1, Metric: rate, Setup: x.Arms[at].Setup}
		rec.Began = time.Unix(int64(100*i), 0)
		rec.Ended = rec.Began.Add(30 * time.Second)
		if int64(pool) > refuses {
			rec.Mark(experiment.MarkFailed, "killed for want of memory")
		}
		all = append(all, rec)
	}
	return report.Make(x, all)
}

func TestSearchFindsTheBestAndMeasuresItAnew(t *testing.T) {
	run := func(rounds int) *Search {
		s := newSearch(t, searchable(t, "mariadb", stageText), report.Report{}, 40)
		for range rounds {
			stage, err := s.Next(5)
			if err != nil {
				t.Fatal(err)
			}
			s.Take(measured(t, stage.Experiment, 600<<20))
		}
		s.Settle()
		return s
	}
	s := run(8)
	values, broken, spoilt := s.Counted()
	if values+broken != 40 || spoilt != 0 {
		t.Errorf("%d values, %d broken, %d spoilt", values, broken, spoilt)
	}
	if pool := s.Best[0] / (1 << 20); pool < 300 || pool > 550 {
		t.Errorf("the best pool is found to be %.0fM, and it is 400M", pool)
	}
	if redo := s.Best[1] / (1 << 20); redo < 600 {
		t.Errorf("the best redo log is found to be %.0fM, and more is better", redo)
	}
	if len(s.Curves) != 4 || s.Curves[0].Word != "matters" || s.Curves[2].Word != "makes no difference" {
		t.Errorf("the curves say %+v", s.Curves)
	}
	stage, err := s.Confirmation(3, 6)
	if err != nil {
		t.Fatal(err)
	}
	s.Confirm(measured(t, stage.Experiment, 600<<20))
	if len(s.Confirmed) != 2 || s.Confirmed[0].Baseline != AllAdvice || s.Confirmed[0].Word != report.Better || s.Confirmed[1].Baseline != AsIs {
		t.Errorf("measured anew: %+v", s.Confirmed)
	}
	again, err := run(3).Next(5)
	same, _ := run(3).Next(5)
	if err != nil || again.Experiment.Hash != same.Experiment.Hash {
		t.Errorf("a search that is gone on with asks for another round")
	}
}

func TestBrokenAdviceIsNotBuiltOn(t *testing.T) {
	p := searchable(t, "mariadb", stageText)
	r := report.Report{Arms: []report.ArmResult{{Name: AsIs}, {Name: AllAdvice, Failed: "the server does not start"}}}
	s := newSearch(t, p, r, 40)
	stage, err := s.Next(3)
	if err != nil {
		t.Fatal(err)
	}
	if _, set := stage.Experiment.Arms[1].Setup.Server.Settings["innodb_flush_neighbors"]; set {
		t.Error("points are tried on top of advice with which the server does not start")
	}
	s.Best = s.method.Ask(nil, 1, 1)[0]
	if stage, err = s.Confirmation(3, 6); err != nil || len(stage.Experiment.Arms) != 2 || len(stage.Experiment.Pairs) != 1 {
		t.Errorf("measured anew with arms %v: %v", stage.Experiment.Arms, err)
	}
}

func TestSpoiltTrialsHaveNoValue(t *testing.T) {
	s := newSearch(t, searchable(t, "mariadb", stageText), report.Report{}, 40)
	stage, err := s.Next(3)
	if err != nil {
		t.Fatal(err)
	}
	r := measured(t, stage.Experiment, 1<<40)
	for i := range r.Records {
		if r.Records[i].Arm == AsIs {
			r.Records[i].Mark(experiment.MarkDisturbed, "a backup ran")
		}
	}
	s.Take(r)
	if values, broken, spoilt := s.Counted(); values != 0 || broken != 0 || spoilt != 3 {
		t.Errorf("without the trial they are compared with, %d points have values, %d are broken, %d spoilt", values, broken, spoilt)
	}
	s.Settle()
	if s.Best != nil || s.AsAdvised() {
		t.Errorf("the best of nothing is %v", s.Best)
	}
}
