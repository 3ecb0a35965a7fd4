package metrics

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
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
	all := loadCompat(t, "node", "mysqld").byFact
	for _, of := range []stack.Ref{{Kind: "host", Name: "memory_committed"}, {Kind: "mysql", Name: "open_tables"}, {Kind: "filesystem", Name: "inodes"}} {
		if _, is := all[series.ID{Of: stack.Ref{Kind: of.Kind}, Name: of.Name}]; is {
			t.Errorf("%s moves, and only pictures have it", of)
		}
	}
}

// What an alert rule asks for stays under our name.
func TestAlertsDoNotGoWithOurNames(t *testing.T) {
	rules, err := Alerts(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	e, c := madeExporter(t, Options{Compat: loadCompat(t, "node", "mysqld"), MostSeries: 5000})
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
