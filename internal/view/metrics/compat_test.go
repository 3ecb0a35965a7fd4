package metrics

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch"
	"plumb/knowledge"
)

func loadCompat(t testing.TB, exporters ...string) *Compat {
	t.Helper()
	c, err := LoadCompat(knowledge.FS, hosttest.Windows(t), exporters)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The numbers, units and types are those that node_exporter and mysqld_exporter give.
func TestNamesOfOthersHaveTheirNumbers(t *testing.T) {
	e, c := madeExporter(t, Options{Compat: loadCompat(t, "node", "mysqld"), MostSeries: 5000})
	b := series.Batch{Source: "more", Every: time.Second, At: c.at}
	b.Set(db, "commits", 5)
	b.Set(db, "selects", 7)
	b.Set(db, "uptime", 90)
	b.Set(disk, "busy_ms", 250)
	b.Set(stackRef("host", "host"), "swap_in_pages", 3)
	b.Set(stackRef("host", "host"), "cpu_user_ms", 1500)
	b.Set(stackRef("filesystem", "/data"), "size", 1000)
	b.Set(stackRef("filesystem", "/data"), "free", 300)
	e.Batch(b)
	page := pageOf(t, e)
	for _, want := range []string{
		"# TYPE mysql_global_status_commands_total counter\n",
		`mysql_global_status_commands_total{command="commit",server="mysql:3306"} 5` + "\n", // Com_commit
		`mysql_global_status_commands_total{command="select",server="mysql:3306"} 7` + "\n",
		"# TYPE mysql_global_status_questions untyped\n",
		`mysql_global_status_innodb_row_lock_time{server="mysql:3306"} 1500` + "\n", // ms, as the server counts
		"# TYPE mysql_global_status_uptime gauge\n",
		`mysql_global_status_uptime{server="mysql:3306"} 90` + "\n",
		`mysql_up{server="mysql:3306"} 1` + "\n",
		`node_disk_io_time_seconds_total{device="sda"} 0.25` + "\n",
		"# TYPE node_vmstat_pswpin untyped\nnode_vmstat_pswpin 3\n", // pages
		`node_cpu_seconds_total{cpu="all",mode="user"} 1.5` + "\n",
		`node_filesystem_size_bytes{mountpoint="/data"} 1000` + "\n",
		`node_filesystem_avail_bytes{mountpoint="/data"} 300` + "\n", // f_bavail
		`plumb_filesystem_size_bytes{filesystem="/data"} 1000` + "\n",
		"node_memory_MemTotal_bytes 1.073741824e+09\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, bad := range []string{"handlers_total", "node_filesystem_free_bytes", "plumb_mysql_commits", "plumb_block_busy"} {
		if strings.Contains(page, bad) {
			t.Errorf("%s is shown", bad)
		}
	}
	promtool(t, regexp.MustCompile(`(?m)^.*node_memory_.*\n`).ReplaceAllString(page, "")) // whose capitals promtool does not like
}

// A name that nothing gives a number to would be missed by nobody but its user.
func TestNamesOfOthersAreGiven(t *testing.T) {
	cat := hosttest.Windows(t)
	for id := range loadCompat(t, Exporters()...).byFact {
		if f := cat.Fact(id.Of.Kind, id.Name); id.Name != upFact && f.Every == 0 && f.OverTime != stack.State {
			t.Errorf("%s %s moves, and only pictures have it", id.Of.Kind, id.Name)
		}
	}
}

// Nothing is named twice, and the exporters that are offered are those whose names there are.
func TestNamesOfOthersAreOne(t *testing.T) {
	text, err := knowledge.FS.ReadFile(CompatFile)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`of: (\w+), fact: (\w+)`).FindAllString(string(text), -1) {
		if seen[m] {
			t.Errorf("%s has two names", m)
		}
		seen[m] = true
	}
	if n := len(loadCompat(t, Exporters()...).byFact); n != len(seen) || n < 100 {
		t.Errorf("%d names of %d are offered", n, len(seen))
	}
	if _, err := LoadCompat(knowledge.FS, hosttest.Windows(t), []string{"graphite"}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", Exporters())) {
		t.Errorf("an error that names them all: %v", err)
	}
}

// pg is a server of a version, which is not known where that is empty.
func pg(t *testing.T, version string, exporters ...string) string {
	t.Helper()
	e, c := madeExporter(t, Options{Compat: loadCompat(t, exporters...), MostSeries: 5000})
	server, s, o := stackRef("postgres", "5432"), madePicture(c.at), stack.Observation{}
	p := o.New("postgres", "5432")
	if version != "" {
		p.Set("version", stack.Text(version), "made")
	}
	p.Set("max_connections", stack.Int(100), "made")
	p.Set("shared_buffers", stack.Int(128<<20), "made")
	p.Set("random_page_cost", stack.Float(1.1), "made")
	s.Add("made", o)
	e.Picture(c.at, s)
	b := series.Batch{Source: "postgres", Every: time.Second, At: c.at}
	b.Set(server, "background_writes", 8)
	b.Set(server, "checkpoints_timed", 3)
	b.Set(server, "checkpoint_write_ms", 1500)
	b.Set(server, "client_writes", 6)
	for i, f := range []string{"connections", "commits", "block_read_ms", "temp_bytes"} {
		b.Set(series.Database(server, "sh/op"), f, float64(1000*i+7))
	}
	e.Batch(b)
	m := madeMoment(c.at)
	m.Servers = append(m.Servers, watch.Server{Ref: server, Up: true})
	e.Moment(m)
	return pageOf(t, e)
}

// Numbers, units, types and labels are those that postgres_exporter gives, of the versions of servers that it gives them of.
func TestNamesOfPostgresExporter(t *testing.T) {
	page := pg(t, "15.4", "postgres")
	for _, want := range []string{
		`pg_up{server="postgres:5432"} 1`,
		"# TYPE pg_settings_max_connections gauge",
		`pg_settings_max_connections{server="postgres:5432"} 100`,
		`pg_settings_shared_buffers_bytes{server="postgres:5432"} 1.34217728e+08`,
		`pg_settings_random_page_cost{server="postgres:5432"} 1.1`,
		`pg_stat_bgwriter_buffers_clean_total{server="postgres:5432"} 8`,
		`pg_stat_bgwriter_checkpoints_timed_total{server="postgres:5432"} 3`,
		"# TYPE pg_stat_bgwriter_checkpoint_write_time_total counter",
		`pg_stat_bgwriter_checkpoint_write_time_total{server="postgres:5432"} 1500`, // ms
		`pg_stat_bgwriter_buffers_backend_total{server="postgres:5432"} 6`,
		"# TYPE pg_stat_database_numbackends gauge",
		`pg_stat_database_numbackends{datname="sh/op",server="postgres:5432"} 7`,
		"# TYPE pg_stat_database_xact_commit counter",
		`pg_stat_database_xact_commit{datname="sh/op",server="postgres:5432"} 1007`,
		`pg_stat_database_blk_read_time{datname="sh/op",server="postgres:5432"} 2007`, // ms
		`pg_stat_database_temp_bytes{datname="sh/op",server="postgres:5432"} 3007`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if regexp.MustCompile(`plumb_(database|postgres)_`).MatchString(page) {
		t.Error("something has our name as well")
	}
	promtool(t, regexp.MustCompile(`(?m)^.*pg_stat_database_.*\n`).ReplaceAllString(page, "")) // counters without _total, which promtool does not like
}

// What a version of the server has no more there has our name, and so has all that depends on one that is not known.
func TestNamesOfSomeVersions(t *testing.T) {
	for version, want := range map[string][2]bool{"10.23": {true, true}, "15.4": {true, true}, "16.2": {true, false}, "17.0": {false, false}, "18.1": {false, false}, "": {false, false}} {
		page := pg(t, version, "postgres")
		for i, names := range [][2]string{{"pg_stat_bgwriter_checkpoints_timed_total", "plumb_postgres_checkpoints_timed_total"}, {"pg_stat_bgwriter_buffers_backend_total", "plumb_postgres_client_writes_total"}} {
			theirs, ours := strings.Contains(page, "\n"+names[0]+"{"), strings.Contains(page, "\n"+names[1]+"{")
			if theirs != want[i] || ours == theirs {
				t.Errorf("%q: %s is shown: %v, %s: %v", version, names[0], theirs, names[1], ours)
			}
		}
	}
}

// Databases, of which there can be many, are shown by postgres_exporter's names and by no others; and no panel asks for them.
func TestDatabasesHaveNoNameOfOurs(t *testing.T) {
	for _, exporters := range [][]string{nil, {"node", "mysqld"}} {
		if page := pg(t, "15.4", exporters...); strings.Contains(page, "sh/op") || !strings.Contains(page, "plumb_series_left_out 0\n") {
			t.Errorf("with names of %q a database is shown, or counted as left out", exporters)
		}
	}
	all := loadCompat(t, "postgres").byFact
	for name, f := range hosttest.Windows(t).Kinds[series.DatabaseKind].Facts {
		if _, named := all[series.ID{Of: stack.Ref{Kind: series.DatabaseKind}, Name: name}]; f.Every > 0 && !named {
			t.Errorf("%s has no name in postgres_exporter", name)
		}
	}
	if text, err := Dashboard(hosttest.Windows(t)); err != nil || strings.Contains(string(text), "plumb_database_") {
		t.Errorf("a panel about databases, or %v", err)
	}
}

// What an alert rule asks for stays under our name.
func TestAlertsDoNotGoWithOurNames(t *testing.T) {
	rules, err := Alerts(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	e, c := madeExporter(t, Options{Compat: loadCompat(t, Exporters()...), MostSeries: 5000})
	s, o := madePicture(c.at), stack.Observation{}
	o.New("postgres", "one").Set("version", stack.Text("15.4"), "made") // of which all names are
	s.Add("more", o)
	e.Picture(c.at, s)
	b := series.Batch{Source: "more", Every: time.Second, At: c.at}
	for id := range e.o.Compat.byFact {
		b.Set(stack.Ref{Kind: id.Of.Kind, Name: "one"}, id.Name, 1)
	}
	e.Batch(b)
	page := pageOf(t, e)
	for id, a := range e.o.Compat.byFact {
		ours, is := naming.ShapeOf(e.o.Catalog.Fact(id.Of.Kind, id.Name))
		if !is {
			continue // whether a server is up, which always has our name
		}
		asked := regexp.MustCompile(`\b` + ours.Name + `\b`).MatchString(rules)
		if shown := strings.Contains(page, "# TYPE "+ours.Name+" "); asked != shown || asked != a.both {
			t.Errorf("%s: an alert asks for it: %v, it is shown: %v", ours.Name, asked, shown)
		}
	}
}
