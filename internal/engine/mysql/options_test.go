package mysql

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// A line that was written after the server started is only said to prevent the next start if this version does not pass over it.
func TestLinesOfSettingsThatAreGone(t *testing.T) {
	const file = "/etc/mysql/my.cnf"
	started := hosttest.Map{}.About().Taken.Add(-time.Hour)
	for name, c := range map[string]struct {
		flavor, version, line string
		since                 time.Duration // of the start, when the file was written
		fatal, ignored        string
	}{
		"MariaDB passes over it":  {"mariadb", "10.11.14", "innodb_buffer_pool_instances = 8", time.Minute, "", "innodb_buffer_pool_instances"},
		"MariaDB does not":        {"mariadb", "11.8.3", "innodb_change_buffer_max_size = 10", time.Minute, "innodb_change_buffer_max_size", ""},
		"it started with it":      {"mariadb", "11.8.3", "innodb_change_buffer_max_size = 10", -time.Minute, "", "innodb_change_buffer_max_size"},
		"MySQL does not":          {"mysql", "8.4.6", "expire_logs_days = 3", time.Minute, "expire_logs_days", ""},
		"loose":                   {"mysql", "8.4.6", "loose_expire_logs_days = 3", time.Minute, "", "expire_logs_days"},
		"an option, not a switch": {"mysql", "8.4.6", "skip-host-cache", time.Minute, "skip_host_cache", ""},
		"it still has that":       {"mysql", "8.0.36", "skip-host-cache", time.Minute, "", ""},
		"MariaDB has it too":      {"mariadb", "11.8.3", "skip-host-cache", time.Minute, "", ""},
		"only SET changes it":     {"mariadb", "10.11.14", "tx_isolation = READ-COMMITTED", time.Minute, "tx_isolation", ""},
		"and if it is there":      {"mariadb", "10.11.14", "loose_tx_isolation = READ-COMMITTED", time.Minute, "", ""},
		"so it was not read":      {"mariadb", "10.11.14", "tx_isolation = READ-COMMITTED", -time.Minute, "", ""},
		"nobody changes it":       {"mariadb", "10.11.14", "large_page_size = 2M", time.Minute, "large_page_size", ""},
		"MySQL's, the same":       {"mysql", "8.4.6", "large_page_size = 2M", time.Minute, "large_page_size", ""},
		"its option stands apart": {"mariadb", "11.8.3", "transaction_isolation = READ-COMMITTED", time.Minute, "", ""},
		"as that of a negation":   {"mariadb", "10.11.14", "skip-external-locking", time.Minute, "", ""},
		"a switch, negated":       {"mysql", "8.4.6", "skip-ssl", time.Minute, "ssl", ""},
	} {
		seen := running("77", []string{"/usr/sbin/mysqld"}, nil)
		lines, bad, _ := parseOptions([]byte("[mysqld]\n" + c.line + "\n"))
		if bad != 0 || len(lines) != 1 {
			t.Fatalf("%s: %v", name, lines)
		}
		var obs stack.Observation
		l := &look{Probe: NewProbe(hosttest.Catalog(t), nil), ctx: t.Context(), h: hosttest.Map{}, obs: &obs, t: obs.New("mysql", "3306"),
			status: map[string]string{"uptime": "3600"}, variables: map[string]string{"tx_isolation": "REPEATABLE-READ", "transaction_isolation": "REPEATABLE-READ", "large_page_size": "0", "skip_external_locking": "ON"},
			in: &instance{process: seen.Things[0], flavor: c.flavor, version: c.version, groups: []string{"mysqld"},
				options: optionFiles{files: []optionFile{{path: file, lines: lines, modified: started.Add(c.since)}}}}}
		l.settings()
		for fact, want := range map[string]string{"removed_options": c.fatal, "ignored_options": c.ignored} {
			v, ok := l.t.Facts[fact]
			got, _ := v.Value.List()
			if !ok || (len(got) > 0) != (want != "") || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want+" ("+file+":2)")) {
				t.Errorf("%s: %s is %q, want %q", name, fact, got, want)
			}
		}
	}
}
