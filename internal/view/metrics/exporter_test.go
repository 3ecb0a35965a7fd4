package metrics

import (
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"plumb/internal/advise"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch"
)

// parsed reads a page as those do who scrape it.
func parsed(t testing.TB, page string) map[string]float64 {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	all, err := p.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatalf("%v in\n%s", err, page)
	}
	out := map[string]float64{}
	for name, f := range all {
		for _, m := range f.Metric {
			key := name
			for _, l := range m.Label {
				key += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			if _, twice := out[key]; twice {
				t.Errorf("%s is listed twice", key)
			}
			out[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

func TestWhatIsShown(t *testing.T) {
	e, _ := madeExporter(t, Options{Statements: 1})
	got := parsed(t, pageOf(t, e))
	for key, want := range map[string]float64{
		"plumb_block_reads_total device=sda":                                                      1000,
		"plumb_block_read_seconds_total device=sda":                                               2.5,
		"plumb_block_in_flight device=sda":                                                        3,
		"plumb_block_read_response_seconds device=sda":                                            800e-6,
		"plumb_mysql_questions_total server=mysql:3306":                                           77,
		"plumb_mysql_row_lock_seconds_total server=mysql:3306":                                    1.5,
		"plumb_mysql_checkpoint_age_ratio server=mysql:3306":                                      .5,
		"plumb_process_cpu_user_seconds_total server=mysql:3306":                                  9,
		"plumb_bottleneck server=mysql:3306 verdict=lock/blocked":                                 1,
		"plumb_bottleneck server=mysql:3306 verdict=device/saturated":                             0,
		"plumb_bottleneck_unknown server=mysql:3306":                                              1,
		"plumb_bottleneck_share_low_ratio server=mysql:3306 verdict=lock/blocked":                 .4,
		"plumb_finding harm=danger rule=mysql/sync-binlog-off server=mysql:3306 thing=mysql:3306": 1,
		"plumb_finding harm=danger rule=mysql/sync-binlog-off server=mysql:3306 thing=block:sda":  1,
		"plumb_point_age_seconds label=proven point=20261125T000000-1234 server=mysql:3306":       10800,
		"plumb_newest_point_age_seconds server=mysql:3306":                                        3600,
		"plumb_newest_proven_point_age_seconds server=mysql:3306":                                 10800,
		"plumb_points server=mysql:3306":                                                          2,
		"plumb_points_failing server=mysql:3306":                                                  1,
		"plumb_source_up source=block":                                                            1,
		"plumb_statement_calls_total database=shop server=mysql:3306 statement=long":              3,
		"plumb_series_left_out":                                                                   0,
		"plumb_readings_unnamed":                                                                  0,
	} {
		if v, ok := got[key]; !ok || math.Abs(v-want) > 1e-9 {
			t.Errorf("%s is %v (there: %v), want %v", key, v, ok, want)
		}
	}
	for _, not := range []string{"verdict=log/flush", "statement=cheap", "reads_rate", "812"} {
		if page := pageOf(t, e); strings.Contains(page, not) {
			t.Errorf("%q is shown", not)
		}
	}
}

// A point whose snapshots are gone is none: neither its age nor its proof is shown, and a server of which none is left has 0.
func TestLostPointsAreNotShown(t *testing.T) {
	e, _ := madeExporter(t, Options{})
	all := e.points
	e.Kept(all, map[string]bool{all[0].ID: true})
	got := parsed(t, pageOf(t, e))
	if got["plumb_points server=mysql:3306"] != 1 || got["plumb_newest_point_age_seconds server=mysql:3306"] != 3600 {
		t.Errorf("with one left: %v", got)
	}
	if page := pageOf(t, e); strings.Contains(page, "plumb_newest_proven_point_age_seconds") || strings.Contains(page, all[0].ID) {
		t.Error("what was proven of a point that is gone is shown")
	}
	e.Kept(all, map[string]bool{all[0].ID: true, all[1].ID: true})
	if n, ok := parsed(t, pageOf(t, e))["plumb_points server=mysql:3306"]; !ok || n != 0 || strings.Contains(pageOf(t, e), "plumb_newest_point_age_seconds") {
		t.Errorf("with none left: %v, there: %v", n, ok)
	}
}

// What is late has no series: neither an old value nor a zero.
func TestLateValuesVanish(t *testing.T) {
	e, c := madeExporter(t, Options{})
	c.pass(3 * time.Second)
	if got := parsed(t, pageOf(t, e)); got["plumb_block_reads_total device=sda"] != 1000 {
		t.Error("it vanished within three periods")
	}
	e.Batch(series.Batch{Source: "block", Every: time.Second, At: c.at, Gaps: []series.Gap{{Why: "late"}}})
	c.pass(time.Second)
	got := parsed(t, pageOf(t, e))
	for _, key := range []string{"plumb_block_reads_total device=sda", "plumb_mysql_questions_total server=mysql:3306"} {
		if v, ok := got[key]; ok {
			t.Errorf("%s is still %v", key, v)
		}
	}
	if v, ok := got["plumb_source_up source=block"]; !ok || v != 0 || got["plumb_source_late_total source=block"] != 1 || got["plumb_source_last_success_timestamp_seconds source=block"] == 0 {
		t.Errorf("what is said of the source: %v", got)
	}
	c.pass(time.Minute)
	if page := pageOf(t, e); strings.Contains(page, "plumb_bottleneck") || !strings.Contains(page, "plumb_finding{") {
		t.Error("verdicts stay for a minute, or findings do not")
	}
	c.pass(32 * time.Minute)
	if page := pageOf(t, e); strings.Contains(page, "plumb_finding") || strings.Contains(page, "plumb_device_info") || strings.Contains(page, "plumb_point") {
		t.Error("findings, devices or points of half an hour ago are shown")
	}
	c.pass(time.Hour)
	if page := pageOf(t, e); strings.Contains(page, "plumb_source_up") {
		t.Error("a source that is gone is not forgotten")
	}
}

// A source that answers what it lacks is not late: nobody is woken because a
// server has no performance schema.
func TestSourceThatLacksSomething(t *testing.T) {
	e, c := madeExporter(t, Options{})
	for range 5 {
		c.pass(time.Second)
		e.Batch(series.Batch{Source: "block", Every: time.Second, At: c.at, Gaps: []series.Gap{{Of: db, Why: "the performance schema is off"}}})
	}
	got := parsed(t, pageOf(t, e))
	if got["plumb_source_up source=block"] != 1 || got["plumb_source_gaps source=block"] != 1 || got["plumb_source_late_total source=block"] != 0 {
		t.Errorf("got %v", got)
	}
	if v, ok := got["plumb_block_reads_total device=sda"]; ok {
		t.Errorf("what it no longer gives is still %v", v)
	}
}

// A server that is down has no verdicts.
func TestServerThatIsDown(t *testing.T) {
	e, c := madeExporter(t, Options{})
	e.Moment(watch.Moment{At: c.at, Servers: []watch.Server{{Ref: db}}})
	page := pageOf(t, e)
	if got := parsed(t, page); got["plumb_server_up server=mysql:3306"] != 0 || strings.Contains(page, "plumb_bottleneck") {
		t.Errorf("got %s", page)
	}
}

// One that Plumb has never logged in to may well answer others: whether it is up is
// not known until it has answered once.
func TestServerThatNeverAnswered(t *testing.T) {
	e, c := madeExporter(t, Options{Compat: loadCompat(t, "mysqld")})
	other := stack.Ref{Kind: "mysql", Name: "3307-911"}
	for _, step := range []struct {
		up   bool
		want string
	}{{false, ""}, {true, "1"}, {false, "0"}} {
		c.pass(time.Second)
		m := madeMoment(c.at)
		m.Servers = append(m.Servers, watch.Server{Ref: other, Product: "mariadb", Title: "MariaDB", Up: step.up})
		e.Moment(m)
		got := parsed(t, pageOf(t, e))
		if got["plumb_server_info product=mariadb server=mysql:3307-911 title=MariaDB"] != 1 {
			t.Fatalf("it is not seen: %v", got)
		}
		for _, name := range []string{"plumb_server_up", "mysql_up"} {
			v, is := got[name+" server=mysql:3307-911"]
			if shown := fmt.Sprint(v); is != (step.want != "") || is && shown != step.want {
				t.Errorf("%s is %s, %v; want %q", name, shown, is, step.want)
			}
		}
	}
}

// One whose process ended is down for a day, and does not vanish: an alert about
// a 0 would never fire. One that would have another name next time, or that Plumb
// made, is not missed.
func TestServerThatEnded(t *testing.T) {
	e, c := madeExporter(t, Options{Compat: loadCompat(t, "mysqld")})
	up := func() (all []string) {
		t.Helper()
		for key, v := range parsed(t, pageOf(t, e)) {
			if strings.HasPrefix(key, "plumb_server_up ") || strings.HasPrefix(key, "mysql_up ") {
				all = append(all, fmt.Sprintf("%s is %v", key, v))
			}
		}
		slices.Sort(all)
		return all
	}
	refs := []stack.Ref{db, {Kind: "mysql", Name: "3307-911"}, {Kind: "mysql", Name: "3306@6f1d2c3b4a59"}, {Kind: "mysql", Name: "3308"}}
	s, o := madePicture(c.at), stack.Observation{}
	for i, ref := range refs[1:] {
		p, args := o.New("process", fmt.Sprint(911+i)), []string{"mysqld"}
		if ref.Name == "3308" {
			args = append(args, "--defaults-file=/var/lib/plumb-copies/drill/run/my.cnf")
		}
		p.Set("args", stack.List(args), "made")
		o.New(ref.Kind, ref.Name).Link("process", p.Ref)
	}
	s.Add("more", o)
	m := madeMoment(c.at)
	for _, ref := range refs[1:] {
		m.Servers = append(m.Servers, watch.Server{Ref: ref, Up: true})
	}
	e.Picture(c.at, s)
	e.Moment(m)
	if got := up(); len(got) != 2*len(refs) {
		t.Fatalf("got %q", got)
	}
	gone := func() []string {
		e.Picture(c.at, &stack.Stack{TakenAt: c.at})
		e.Moment(watch.Moment{At: c.at})
		return up()
	}
	want := []string{"mysql_up server=mysql:3306 is 0", "plumb_server_up server=mysql:3306 is 0"}
	c.pass(time.Minute)
	if got := gone(); !slices.Equal(got, want) {
		t.Errorf("after a minute: %q", got)
	}
	if page := pageOf(t, e); strings.Contains(page, "plumb_bottleneck") || !strings.Contains(page, `plumb_server_info{product="mariadb"`) {
		t.Error("it has verdicts, or no name")
	}
	c.pass(23 * time.Hour)
	if got := gone(); !slices.Equal(got, want) {
		t.Errorf("after 23 hours: %q", got)
	}
	c.pass(time.Hour)
	if got := gone(); len(got) != 0 {
		t.Errorf("after a day: %q", got)
	}
	feed(e, c.at)
	if got := up(); !slices.Equal(got, []string{"mysql_up server=mysql:3306 is 1", "plumb_server_up server=mysql:3306 is 1"}) {
		t.Errorf("started again: %q", got)
	}
}

// What a server that ended was read by is not late: it is no more. One that stands
// still with the rest, or says that it is late, stays.
func TestSourcesOfServerThatEnded(t *testing.T) {
	e, c := madeExporter(t, Options{})
	late := func() {
		e.Batch(series.Batch{Source: "block", Every: time.Second, At: c.at, Gaps: []series.Gap{{Why: "late"}}})
	}
	up := func(name string) (v float64, is bool) {
		v, is = parsed(t, pageOf(t, e))["plumb_source_up source="+name]
		return v, is
	}
	for range 40 {
		c.pass(time.Second)
		late()
	}
	if v, is := up("mysql:3306 status"); !is || v != 0 {
		t.Errorf("before a picture without the server: %v, %v", v, is)
	}
	e.Picture(c.at, &stack.Stack{TakenAt: c.at})
	c.pass(time.Second)
	late()
	if v, is := up("mysql:3306 status"); is {
		t.Errorf("after it: %v", v)
	}
	if v, is := up("block"); !is || v != 0 {
		t.Errorf("a source that says it is late: %v, %v", v, is)
	}
}

// Names that strangers chose do not break the page, are bounded, and stay two.
func TestHostileNames(t *testing.T) {
	e, c := madeExporter(t, Options{MostSeries: 5000})
	names := []string{"a\"} 1\nplumb_fake 7", "\xff\xfe", "\xff\xfd", "b\\", "\x1b[31mred", strings.Repeat("x", 5000) + "1", strings.Repeat("x", 5000) + "2", "", "\u202ereversed"}
	b := series.Batch{Source: "evil\n# TYPE", Every: time.Second, At: c.at}
	for i, n := range names {
		b.Set(stack.Ref{Kind: "block", Name: n}, "reads", float64(i))
		b.Set(stack.Ref{Kind: "mysql", Name: n}, "questions", float64(i))
		b.Set(stack.Ref{Kind: "cgroup_device", Name: n}, "reads", float64(i))
	}
	e.Batch(b)
	e.Checked([]advise.Finding{{Rule: &rule.Rule{ID: "own/\n"}, Cases: []advise.Case{{Things: []stack.Ref{{Kind: "dataset", Name: names[0]}}}}}})
	page := pageOf(t, e)
	got, n := parsed(t, page), 0
	for key := range got {
		if strings.HasPrefix(key, "plumb_fake") {
			t.Error("a name made a metric")
		}
		if strings.HasPrefix(key, "plumb_block_reads_total") {
			n++
		}
	}
	if n != len(names)+1 {
		t.Errorf("%d devices are shown, want %d", n, len(names)+1)
	}
	for line := range strings.Lines(page) {
		if len(line) > 1000 || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x00\x1b\r\u202e") {
			t.Errorf("a line of %d bytes, or one that drives a terminal: %.80q", len(line), line)
		}
	}
}

// However many things a host has, the series stay within the bound, servers and
// what they lie on are there, and what is left out is counted.
func TestSeriesAreBounded(t *testing.T) {
	e, c := madeExporter(t, Options{MostSeries: 200})
	b := series.Batch{Source: "many", Every: time.Second, At: c.at}
	for i := range 500 {
		b.Set(stack.Ref{Kind: "block", Name: fmt.Sprintf("dm-%d", i)}, "reads", 1)
		b.Set(stack.Ref{Kind: "block", Name: fmt.Sprintf("dm-%d", i)}, "writes", 1)
	}
	e.Batch(b)
	page := pageOf(t, e)
	got := parsed(t, page)
	if len(got) > 202 || len(got) < 190 || got["plumb_series_left_out"] < 800 || got["plumb_block_reads_total device=sda"] != 1000 {
		t.Errorf("%d series, %v left out", len(got), got["plumb_series_left_out"])
	}
	if page != pageOf(t, e) {
		t.Error("two scrapes of one moment differ")
	}
}

// There is no room for any number of sources, and whoever looks is told of those that are left out.
func TestSourcesAreBounded(t *testing.T) {
	e, c := madeExporter(t, Options{})
	const more = 1000
	want := float64(len(e.sources) + more - mostSources)
	again := func() {
		for i := range more {
			e.Batch(series.Batch{Source: fmt.Sprint("source", i), Every: time.Second, At: c.at})
		}
	}
	again()
	again()
	page := pageOf(t, e)
	if got := parsed(t, page)["plumb_sources_left_out"]; len(e.sources) != mostSources || got != want {
		t.Errorf("%d sources are kept, %v left out, want %v", len(e.sources), got, want)
	}
	line, _ := Plugin(strings.NewReader(page), c.at, Limits{Critical: .5, Late: time.Minute})
	if says := fmt.Sprintf("the state of %v sources is not exported", want); !strings.Contains(line, says) {
		t.Errorf("the plugin does not say %q: %s", says, line)
	}
	c.pass(forgotten + time.Second)
	if got, ok := parsed(t, pageOf(t, e))["plumb_sources_left_out"]; !ok || got != 0 {
		t.Errorf("of those that are heard of no more, %v are left out", got)
	}
}

// Every fact that can be sampled has a name of its own that promtool likes.
func TestNamesOfTheCatalogue(t *testing.T) {
	cat, had, n := hosttest.Windows(t), map[string]string{}, 0
	var page strings.Builder
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			s, ok := naming.ShapeOf(f)
			if !ok || !sampled(k, f) {
				continue
			}
			if other, twice := had[s.Name]; twice {
				t.Errorf("%s and %s %s are both %s", other, k.Name, f.Name, s.Name)
			}
			had[s.Name] = k.Name + " " + f.Name
			n++
			kind := "gauge"
			if s.Counter {
				kind = "counter"
			}
			fmt.Fprintf(&page, "# HELP %s %s\n# TYPE %s %s\n%s 1\n", s.Name, strings.ReplaceAll(s.Help, "\\", "\\\\"), s.Name, kind, s.Name)
		}
	}
	if n < 200 {
		t.Errorf("only %d facts", n)
	}
	e, _ := madeExporter(t, Options{Statements: 5})
	promtool(t, page.String())
	promtool(t, pageOf(t, e))
}

// promtool has a page checked, where it is installed.
func promtool(t *testing.T, page string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: the page is not checked by it (test/watchmetrics does, with PLUMB_REAL)")
		return
	}
	c := exec.Command(path, "check", "metrics")
	c.Stdin = strings.NewReader(page)
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func BenchmarkScrape(b *testing.B) {
	e, c := madeExporter(b, Options{})
	batch := series.Batch{Source: "many", Every: time.Second, At: c.at}
	for i := range 250 {
		batch.Set(stack.Ref{Kind: "block", Name: fmt.Sprintf("dm-%d", i)}, "reads", 1)
		batch.Set(stack.Ref{Kind: "block", Name: fmt.Sprintf("dm-%d", i)}, "writes", 1)
	}
	e.Batch(batch)
	for b.Loop() {
		if _, err := e.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
