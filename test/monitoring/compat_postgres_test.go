package monitoring

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// dashboardsOfPostgres ask for what the usual dashboards of postgres_exporter ask for, 9628 of grafana.com and the
// project's own, as far as Plumb has it.
var dashboardsOfPostgres = []string{
	`pg_up`,
	`pg_settings_max_connections`,
	`pg_settings_max_connections - pg_settings_superuser_reserved_connections`,
	`pg_settings_shared_buffers_bytes`,
	`pg_settings_effective_cache_size_bytes`,
	`pg_settings_maintenance_work_mem_bytes`,
	`pg_settings_work_mem_bytes`,
	`pg_settings_max_wal_size_bytes`,
	`pg_settings_random_page_cost`,
	`pg_settings_seq_page_cost`,
	`pg_settings_max_worker_processes`,
	`pg_settings_max_parallel_workers`,
	`sum by (instance) (pg_stat_database_tup_fetched{datname=~"$datname"})`,
	`sum by (instance) (pg_stat_database_tup_inserted{datname=~"$datname"})`,
	`sum by (instance) (pg_stat_database_tup_updated{datname=~"$datname"})`,
	`pg_stat_database_tup_returned{datname=~"$datname"} != 0`,
	`pg_stat_database_tup_deleted{datname=~"$datname"} != 0`,
	`irate(pg_stat_database_xact_commit{datname=~"$datname"}[1m])`,
	`irate(pg_stat_database_xact_rollback{datname=~"$datname"}[1m])`,
	`irate(pg_stat_database_conflicts{datname=~"$datname"}[1m])`,
	`irate(pg_stat_database_deadlocks{datname=~"$datname"}[1m])`,
	`irate(pg_stat_database_temp_bytes{datname=~"$datname"}[1m])`,
	`pg_stat_database_numbackends{datname=~"$datname"}`,
	`pg_stat_database_blks_hit{datname=~"$datname"} / (pg_stat_database_blks_read{datname=~"$datname"} + pg_stat_database_blks_hit{datname=~"$datname"})`,
	`irate(pg_stat_bgwriter_buffers_clean_total[1m])`,
	`irate(pg_stat_bgwriter_buffers_checkpoint_total[1m])`,
	`irate(pg_stat_bgwriter_buffers_backend_fsync_total[1m])`,
	`irate(pg_stat_bgwriter_checkpoint_write_time_total[1m])`,
	`irate(pg_stat_bgwriter_checkpoint_sync_time_total[1m])`,
	`rate(pg_stat_bgwriter_checkpoints_timed_total[1m]) + rate(pg_stat_bgwriter_checkpoints_req_total[1m])`,
}

// worked is a server that has done something of everything in a database.
func worked(t *testing.T, database string) *sandbox.Server {
	t.Helper()
	server, err := sandbox.ForTest(t, "").Postgres(sandbox.PostgresOptions{Settings: "track_io_timing = on\nwork_mem = 64kB\nshared_buffers = 1MB"})
	sandbox.Need(t, err)
	sandbox.Need(t, server.Exec("CREATE DATABASE "+database))
	db, err := sql.Open("pgx", fmt.Sprintf("host=%s port=%d user=%s dbname=%s", server.Socket, server.Port, server.User, database))
	sandbox.Need(t, err)
	defer db.Close()
	for _, q := range slices.Concat([]string{
		"CREATE TABLE t AS SELECT i, repeat('x', 300) AS v FROM generate_series(1, 20000) i", "CREATE INDEX ON t (i)", "UPDATE t SET v = 'y' WHERE i < 5000", "DELETE FROM t WHERE i > 18000",
		"SELECT count(*) FROM (SELECT v || i FROM t ORDER BY 1) s", "CHECKPOINT",
	}, slices.Repeat([]string{"SELECT * FROM t WHERE i = 7"}, 1000), slices.Repeat([]string{"BEGIN; ROLLBACK"}, 300)) {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	return server
}

// What a real postgres_exporter gives of a server has the same names, types and numbers here, and dashboards find both.
func TestNumbersOfPostgresExporter(t *testing.T) {
	bin, p := programs(t), program.ForTest(t)
	shop := fmt.Sprintf("shop%d", os.Getpid()) // no other server here has that
	server := worked(t, shop)
	dsn := fmt.Sprintf("postgres://postgres@/postgres?host=%s&port=%d", server.Socket, server.Port)
	at := fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	t.Setenv("DATA_SOURCE_NAME", dsn+"&sslmode=disable")
	start(t, bin+"/prometheus-postgres-exporter", "--web.listen-address="+at)
	_, said := watching(t, p, "metrics", "--dsn", dsn, "--compat", "postgres", "--max-series", "5000", "--listen", "127.0.0.1:0")
	ours := listening(t, said)
	var page string
	var mine, their map[string]float64
	var types, theirTypes map[string]dto.MetricType
	differing := func() (differ []string) { // what nobody moves now
		page = got(ours)
		mine, types = numbersOf(t, ofServerWith(page, shop), "pg_")
		their, theirTypes = numbersOf(t, got("http://"+at+"/metrics"), "pg_")
		for name, n := range mine {
			if still := strings.Contains(name, "datname="+shop) || !strings.Contains(name, "datname="); still && n != their[name] {
				differ = append(differ, fmt.Sprintf("%s: %v, and %v there", name, n, their[name]))
			}
		}
		return differ
	}
	defer func() {
		if t.Failed() {
			t.Logf("at last %q", differing())
		}
	}()
	eventually(t, "both have counted all that was done", 2*time.Minute, func() bool {
		same := len(differing()) == 0
		_, io := types["pg_stat_bgwriter_buffers_clean_total"]
		return same && io && mine["pg_stat_database_xact_commit datname="+shop] > 1000
	})
	for name, kind := range types {
		if theirTypes[name] != kind {
			t.Errorf("%s is a %s, and a %s there", name, kind, theirTypes[name])
		}
	}
	sameNumbers(t, mine, their)
	for _, name := range []string{"xact_rollback", "blks_read", "blks_hit", "tup_returned", "tup_fetched", "tup_inserted", "tup_updated", "tup_deleted", "temp_files", "temp_bytes", "blk_read_time", "blk_write_time"} {
		if mine["pg_stat_database_"+name+" datname="+shop] == 0 {
			t.Errorf("%s is 0, which anything is", name)
		}
	}
	if len(types) < 28 {
		t.Errorf("%d names are compared: %v", len(types), mine)
	}
	promtoolTakes(t, bin, page)
	findBoth(t, theirTypes, shop, prometheus(t, bin, "", map[string]string{"plumb": strings.TrimSuffix(strings.TrimPrefix(ours, "http://"), "/metrics"), "exporter": at}))
}

// ofServerWith leaves out of a page what is about servers that do not have a database: whatever else runs on this machine.
func ofServerWith(page, database string) string {
	server := regexp.MustCompile(`datname="` + database + `",(server="[^"]*")`).FindStringSubmatch(page)
	if server == nil {
		return ""
	}
	return regexp.MustCompile(`(?m)^pg_.*\n`).ReplaceAllStringFunc(page, func(line string) string {
		if strings.Contains(line, server[1]) {
			return line
		}
		return ""
	})
}

// promtoolTakes a page, but for the counters that have no _total in postgres_exporter either.
func promtoolTakes(t *testing.T, bin, page string) {
	t.Helper()
	c := exec.Command(bin+"/promtool", "check", "metrics")
	c.Stdin = strings.NewReader(page)
	out, _ := c.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "pg_stat_database_") || !strings.Contains(line, `should have "_total" suffix`) { // which they do not have there
			t.Errorf("promtool check metrics: %s", line)
		}
	}
}

// findBoth asks what dashboards ask, but for what the exporter has no more of newer servers.
func findBoth(t *testing.T, there map[string]dto.MetricType, datname string, e engine) {
	t.Helper()
	asked := 0
	for _, expr := range dashboardsOfPostgres {
		if slices.ContainsFunc(regexp.MustCompile(`pg_\w+`).FindAllString(expr, -1), func(name string) bool { _, is := there[name]; return !is }) {
			continue
		}
		asked++
		expr = strings.ReplaceAll(expr, "$datname", datname)
		eventually(t, expr+" gives data of both", time.Minute, func() bool {
			found := instances(e.query(t, expr))
			return strings.Contains(found, "plumb") && strings.Contains(found, "exporter")
		})
	}
	if asked < 25 {
		t.Errorf("only %d of %d expressions are about what there is", asked, len(dashboardsOfPostgres))
	}
}
